"""`python -m benchmarks train`: target tokens per second in training, against the peers.

All contenders have the same batches, model sizes, loss, dropout and optimizer. Each runs in its own
process, a peer in its best setting: the one that is fastest in a first round. Then they take turns,
round by round, and the median of the rounds' ratios counts, since a machine is not equally fast at
all times. The limit is the time of the bare matrix products of the same batches (`limit_race`).
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from benchmarks.train import peers
from benchmarks.train.contender import Lap
from benchmarks.train.limit_race import LimitRace, log, warn_if_busy
from benchmarks.train.task import Sizes, Task
from regard.bench.row import Row

ROUNDS, STEPS, WARMUP = 3, 30, 5
TOLERANCE = 1e-4  # of the losses of the same model


@dataclass(frozen=True)
class Race:
    """A row to be measured: regard against the best variant of a peer."""

    name: str
    bar: float
    peer: peers.Peer = field(repr=False)
    task: Callable[[], Task] = field(repr=False)

    def __call__(self) -> Row:
        """Measure median speeds of ours and of the best variant, and the median ratio of rounds."""
        task = self.task()
        warn_if_busy(task.threads)
        with tempfile.TemporaryDirectory(prefix="regard-bench-") as name, ExitStack() as open_:
            folder = Path(name)
            qualified = replace(task, rounds=task.rounds + 1)  # with the lap that selects
            best = _fastest(self.peer(qualified, folder))
            open_.enter_context(best)
            ours, _ = _first_lap(lambda: peers.regard(qualified, folder))
            open_.enter_context(ours)
            laps = _laps(task, [ours, best])
        return _row(self, *laps)


def measurements(
    repeats: int = ROUNDS,
    *,
    steps: int = STEPS,
    data: Sequence[str] | None = None,
    joeynmt_env: str | None = None,
    task: Task | None = None,
) -> Iterator[Race | LimitRace]:
    """All rows of the benchmark; `task` replaces the standard one."""

    @cache
    def checked_task() -> Task:
        chosen = replace(task, rounds=repeats) if task else _task(repeats, steps, data)
        _check_same_model(chosen)
        return chosen

    joeynmt = peers.joeynmt(Path(joeynmt_env) if joeynmt_env else None)
    sizes = (task or Task()).sizes
    what = f"Transformer {sizes.layers}+{sizes.layers}, dim {sizes.dim}: target tokens/s"
    yield LimitRace(f"{what} over the limit of its matrix products", 0.85, checked_task)
    yield Race(f"{what} over those of a torch.nn.Transformer loop", 1.9, peers.torch, checked_task)
    yield Race(f"{what} over those of JoeyNMT 2.3", 2.5, joeynmt, checked_task)


def losses(task: Task) -> tuple[float, float]:
    """The first batch's loss by regard and by the torch peer, with the same weights, no dropout."""
    import torch

    from benchmarks.train.regard_contender import settings
    from benchmarks.train.torch_contender import TorchTransformer, loss_of, padded
    from regard.models.batch import batch_of
    from regard.tasks import build
    from regard.tasks.text.loss import label_loss

    pairs, vocab = task.warmup[0], task.sizes.vocab
    torch.manual_seed(task.seed)
    peer = TorchTransformer(task).eval()
    ours = build(settings(task).model, vocab, vocab).eval()
    ours.load_state_dict(peer.regard_state())
    batch = batch_of(pairs.sources, pairs.targets)
    with torch.no_grad():
        total = label_loss(ours.features(batch), ours.output, batch.labels, task.smoothing)
        theirs = loss_of(peer, padded(pairs), task.smoothing)
    return float(total) / pairs.tokens, float(theirs)


def _task(rounds: int, steps: int, data: Sequence[str] | None) -> Task:
    from benchmarks.train.batches import first_batches, random_sentences, tokenize_files
    from regard.cores import cores

    vocab = Sizes().vocab
    if data:
        sources, targets, vocab = tokenize_files(data, vocab)
    else:
        sources, targets = random_sentences(vocab)
    made = first_batches(sources, targets, WARMUP + steps)
    task = Task(
        sizes=Sizes(vocab=vocab),
        warmup=made[:WARMUP],
        timed=made[WARMUP:],
        rounds=rounds,
        threads=cores(),
    )
    tokens = sum(pairs.tokens for pairs in task.timed)
    log(f"{rounds} rounds of {steps} steps with {tokens:,} target tokens in all, each")
    return task


def _check_same_model(task: Task) -> None:
    ours, peer = losses(task)
    if abs(ours - peer) > TOLERANCE:
        raise RuntimeError(
            f"with the same weights regard's loss is {ours:.6f}, that of torch.nn.Transformer "
            f"{peer:.6f}: it is not the same model."
        )
    log(f"same weights, same loss: {ours:.6f} and {peer:.6f} (torch.nn.Transformer)")


def _fastest(variants: Iterable[peers.Start]) -> peers.AnyContender:
    """The variant that is fastest in one round; the others are ended."""
    best: tuple[peers.AnyContender, Lap] | None = None
    for start in variants:
        contender, lap = _first_lap(start)
        if best is not None and lap.speed <= best[1].speed:
            contender.__exit__(None, None, None)
            continue
        if best is not None:
            best[0].__exit__(None, None, None)
        best = contender, lap
    assert best is not None
    return best[0]


def _first_lap(start: peers.Start) -> tuple[peers.AnyContender, Lap]:
    """A contender after its warm-up and one round."""
    contender = start()
    about = peers.warmed(contender)
    lap = contender.lap()
    log(
        f"{contender.name}: {lap.speed:,.0f} tokens/s at first ({about['settings']}; "
        f"{about['parameters']:,} parameters)"
    )
    return contender, lap


def _laps(task: Task, contenders: Sequence[peers.AnyContender]) -> list[list[Lap]]:
    """The rounds of every contender, in turn."""
    expected = sum(pairs.tokens for pairs in task.timed)
    laps: list[list[Lap]] = [[] for _ in contenders]
    for number in range(task.rounds):
        for contender, taken in zip(contenders, laps, strict=True):
            lap = contender.lap()
            if lap.tokens != expected:
                raise RuntimeError(
                    f"{contender.name} trained on {lap.tokens} tokens, not {expected}."
                )
            taken.append(lap)
            log(
                f"round {number + 1}  {contender.name}: {lap.speed:,.0f} tokens/s, "
                f"loss {lap.loss:.3f}"
            )
    return laps


def _row(race: Race, ours: list[Lap], best: list[Lap]) -> Row:
    ratios = [a.speed / b.speed for a, b in zip(ours, best, strict=True)]
    mine, theirs = (statistics.median(lap.speed for lap in laps) for laps in (ours, best))
    spread = min(ratios), max(ratios)
    return Row(race.name, mine, theirs, statistics.median(ratios), ">=", race.bar, spread)
