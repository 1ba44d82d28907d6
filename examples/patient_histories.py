"""Patient histories: events as tokens, a classifier over them, and the events that decided.

The histories are made up, so that the cause is known: whoever got `warfarin` and then `aspirin`
bled; whoever had `fibrillation` and no `warfarin` had a stroke; all other events are noise. The
classifier sees only histories and outcomes. With your own: a file with an outcome, a tab and the
events of a patient on each line, oldest first.

    python examples/patient_histories.py [--steps 400]
"""

import argparse
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import regard

NOISE = [
    "checkup",
    "vaccine",
    "fracture",
    "cough",
    "migraine",
    "statin",
    "insulin",
    "xray",
    "bloodtest",
    "allergy",
    "rash",
    "antibiotic",
    "physiotherapy",
    "hypertension",
    "ibuprofen",
    "surgery",
    "anemia",
    "asthma",
    "gout",
    "biopsy",
]
CAUSES = {"bleeding": {"warfarin", "aspirin"}, "stroke": {"fibrillation"}}


def outcome(events: Sequence[str]) -> str:
    """What happens to a patient with these events."""
    if "warfarin" in events and "aspirin" in events[events.index("warfarin") :]:
        return "bleeding"
    if "fibrillation" in events and "warfarin" not in events:
        return "stroke"
    return "well"


def history(draw: random.Random) -> list[str]:
    """Draw the events of one patient, oldest first."""
    events = draw.choices(NOISE, k=draw.randint(6, 16))
    for event in ("fibrillation", "warfarin", "aspirin"):
        if draw.random() < 0.5:
            events.insert(draw.randint(0, len(events)), event)
    return events


def main(steps: int = 400, patients: int = 3000, test: int = 200) -> dict[str, float]:
    """Train on most patients; count right outcomes and found causes in the others."""
    draw = random.Random(0)
    histories = [history(draw) for _ in range(patients + test)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "histories.tsv")
        lines = [f"{outcome(events)}\t{' '.join(events)}\n" for events in histories[:patients]]
        file.write_text("".join(lines), encoding="utf-8")
        model = regard.train(
            file,
            out=Path(folder, "model"),
            preset="tiny",
            progress=False,
            model={"kind": "classifier", "dim": 32, "num_heads": 2, "ff": 64},
            text={"unit": "word"},
            training={"steps": steps, "epochs": None, "tensorboard": False},
        )
        unseen = histories[patients:]
        results = model.classify([" ".join(events) for events in unseen], why="occlusion")
    right = found = caused = 0
    for events, result in zip(unseen, results, strict=True):
        right += result.label == outcome(events)
        if (causes := CAUSES.get(outcome(events))) and result.label == outcome(events):
            caused += 1
            word, _ = result.peak
            found += word.name in causes
    for result in results[:6]:
        strongest = sorted(result.words, key=lambda word: -abs(word.weight))[:3]
        why = ", ".join(f"{word.name} {word.weight:+.0%}" for word in strongest)
        print(f"{result.label:<9} {result.probability:4.0%}  because of {why}")
    print(f"outcomes right: {right / test:.1%} of {test} unseen patients")
    print(f"the event that weighs most is a cause: {found / max(caused, 1):.1%} of {caused}")
    return {"right": right / test, "found": found / max(caused, 1)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=400, help="updates of the classifier (400)")
    main(**vars(parser.parse_args()))
