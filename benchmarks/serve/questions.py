"""Sentences of the built-in grammar with a model's answers, and whose answer one is.

Every client has sentences that no other asks for, and no two have the same answer: an answer that
went to the wrong client shows.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.regard_command import run_regard
from regard.config import SearchOptions
from regard.errors import InputError

EACH = 5  # sentences of a client's own
Question = tuple[int, str, str]
"""Its number, its text, and the answer of the model to it alone."""


@dataclass(frozen=True)
class Questions:
    """What is asked, of which language and into which; `search` is how it is answered."""

    source: str
    target: str
    all: Sequence[Question]
    search: SearchOptions

    def dealt(self, clients: int) -> list[list[Question]]:
        """Each client's own."""
        return [list(self.all[n::clients]) for n in range(clients)]


def ask_alone(model: Path, clients: int, each: int = EACH) -> Questions:
    """Sentences and the model's answer to each, translated by itself in fp32."""
    import torch

    from regard.corpus.grammar import sample
    from regard.tasks import load
    from regard.tasks.translation.translator import Translator

    translator = load(model)
    if not isinstance(translator, Translator) or translator.run.source_language != "en":
        raise InputError(f"{model}: the sentences of `bench serve` are English; the model must "
                         "translate from en.")  # fmt: skip
    torch.set_num_threads(1)  # one sentence is too small to be shared by cores
    wanted, seen = clients * each, dict[str, str]()
    for pair in sample("test", 3 * wanted, seed=1):
        answer = translator.translate(pair.source, alignment=False).text
        if answer and answer not in seen:
            seen[answer] = pair.source
        if len(seen) == wanted:
            break
    if len(seen) < 2 * clients:
        raise InputError(
            f"{model}: of {3 * wanted} sentences only {len(seen)} have a translation of their "
            f"own, too few to tell {clients} clients apart; train it better, or ask with fewer."
        )
    found = [(number, text, answer) for number, (answer, text) in enumerate(seen.items())]
    run = translator.run
    return Questions(run.source_language, run.target_language, found, run.decoding)


def whose(number: int, answer: str, questions: Questions) -> str:
    """ "own" if a wrong answer is the question's own in other words, "another" if another's.

    It belongs to the question whose expected answer has most words in common with it; where that
    is undecided, it is another's.
    """
    shares = [_alike(answer, expected) for _, _, expected in questions.all]
    own = shares[number]
    others = max((share for n, share in enumerate(shares) if n != number), default=0.0)
    return "own" if own > others else "another"


def _alike(one: str, other: str) -> float:
    """Words in common, of all words; of writing without spaces, letters.

    >>> _alike("le chat dort", "le chien dort")
    0.5
    """
    first, second = set(_words(one)), set(_words(other))
    return len(first & second) / max(1, len(first | second))


def _words(text: str) -> list[str]:
    return re.findall(r"[⺀-鿿]|[^\W⺀-鿿]+", text.lower())


def demo_model() -> Path:
    """The model of `regard demo`, trained by the command on first use and kept."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "regard" / "bench" / "demo"
    if not (folder / "model" / "metrics.json").is_file():
        print(
            f"  training the model of `regard demo` in {folder} (some minutes, once) …",
            file=sys.stderr, flush=True,
        )  # fmt: skip
        run_regard("demo", "--out", folder)
    return folder / "model"
