"""`python -m benchmarks train`: target tokens per second in training, against the peers.

All contenders have the same batches, model sizes, loss, dropout, optimizer and number of threads.
Each runs in its own process; they take turns, round by round, and the median of the rounds' ratios
counts, since a machine is not equally fast at all times.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from benchmarks.train.contender import Contender, ContenderError, Lap
from benchmarks.train.task import Sizes, Task
from regard.bench.row import Row
from regard.errors import InputError

ROUNDS, STEPS, WARMUP = 3, 30, 5
TOLERANCE = 1e-4  # of the losses of the same model
NO_AMX = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}  # some CPUs report AMX but refuse it

Start = Callable[[Task, Path], list[Contender]]


@dataclass(frozen=True)
class Race:
    """A row to be measured: regard against the best variant of a peer."""

    name: str
    bar: float
    start: Start = field(repr=False)  # the peer's variants, warmed up
    task: Callable[[], Task] = field(repr=False)

    def __call__(self) -> Row:
        """Measure median speeds of ours and of the best variant, and the median ratio of rounds."""
        task = self.task()
        _warn_if_busy(task.threads)
        with tempfile.TemporaryDirectory(prefix="regard-bench-") as name, ExitStack() as open_:
            folder = Path(name)
            task.write(folder / "task.json")
            ours = open_.enter_context(_regard(folder))
            peers = [open_.enter_context(peer) for peer in self.start(task, folder)]
            laps = _laps(task, [ours, *peers])
        return _row(self, laps[0], laps[1:])


def measurements(
    repeats: int = ROUNDS,
    *,
    steps: int = STEPS,
    data: Sequence[str] | None = None,
    joeynmt_env: str | None = None,
    task: Task | None = None,
) -> Iterator[Race]:
    """All rows of the benchmark; `task` replaces the standard one."""

    @cache
    def checked_task() -> Task:
        chosen = replace(task, rounds=repeats) if task else _task(repeats, steps, data)
        _check_same_model(chosen)
        return chosen

    def joeynmt(task: Task, folder: Path) -> list[Contender]:
        return [_joeynmt(task, folder, Path(joeynmt_env) if joeynmt_env else None)]

    sizes = (task or Task()).sizes
    what = f"Transformer {sizes.layers}+{sizes.layers}, dim {sizes.dim}: target tokens/s"
    yield Race(f"{what} over those of a torch.nn.Transformer loop", 1.5, _torch, checked_task)
    yield Race(f"{what} over those of JoeyNMT 2.3", 3.0, joeynmt, checked_task)


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
    _log(f"{rounds} rounds of {steps} steps with {tokens:,} target tokens in all, each")
    return task


def _check_same_model(task: Task) -> None:
    ours, peer = losses(task)
    if abs(ours - peer) > TOLERANCE:
        raise RuntimeError(
            f"with the same weights regard's loss is {ours:.6f}, that of torch.nn.Transformer "
            f"{peer:.6f}: it is not the same model."
        )
    _log(f"same weights, same loss: {ours:.6f} and {peer:.6f} (torch.nn.Transformer)")


def _laps(task: Task, contenders: Sequence[Contender]) -> list[list[Lap]]:
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
            _log(
                f"round {number + 1}  {contender.name}: {lap.speed:,.0f} tokens/s, "
                f"loss {lap.loss:.3f}"
            )
    return laps


def _row(race: Race, ours: list[Lap], peers: list[list[Lap]]) -> Row:
    best = max(peers, key=_median_speed)
    ratio = statistics.median(a.speed / b.speed for a, b in zip(ours, best, strict=True))
    return Row(race.name, _median_speed(ours), _median_speed(best), ratio, ">=", race.bar)


def _median_speed(laps: list[Lap]) -> float:
    return statistics.median(lap.speed for lap in laps)


def _regard(folder: Path) -> Contender:
    command = [sys.executable, "-m", "benchmarks.train.regard_contender", str(folder / "task.json")]
    return _warmed(Contender("regard", command, folder / "regard.log"))


def _torch(task: Task, folder: Path) -> list[Contender]:
    """In fp32, and in bf16 if available."""
    peers = [_torch_in("fp32", folder)]
    try:
        try:
            peers.append(_torch_in("bf16", folder))
        except ContenderError as error:
            _log(f"{error}; once more without AMX")
            peers.append(_torch_in("bf16", folder, NO_AMX))
    except ContenderError as error:
        _log(f"{error}; bf16 is not available here")
    return peers


def _torch_in(precision: str, folder: Path, environment: dict[str, str] | None = None) -> Contender:
    module, task = "benchmarks.train.torch_contender", str(folder / "task.json")
    command = [sys.executable, "-m", module, task, precision]
    name = f"torch.nn.Transformer, {precision}"
    return _warmed(Contender(name, command, folder / f"torch-{precision}.log", environment))


def _joeynmt(task: Task, folder: Path, home: Path | None) -> Contender:
    import yaml

    from benchmarks.train import joeynmt_contender
    from benchmarks.train.joeynmt_environment import joeynmt_python

    python = joeynmt_python(home)
    (folder / "joeynmt").mkdir()
    config = folder / "joeynmt" / "config.yaml"
    settings = joeynmt_contender.configuration(task, config.parent)
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    # the repository comes last on its path, so that every package is the environment's own
    root = str(Path(joeynmt_contender.__file__).parents[2])
    code = (
        f"import sys; sys.path.append({root!r}); "
        "from benchmarks.train.joeynmt_contender import main; "
        f"main({str(folder / 'task.json')!r}, {str(config)!r})"
    )
    try:
        return _warmed(Contender("JoeyNMT 2.3", [str(python), "-c", code], folder / "joeynmt.log"))
    except ContenderError as error:
        raise InputError(
            f"{error}; if its environment is broken, remove it and try again."
        ) from None


def _warmed(contender: Contender) -> Contender:
    """Wait for the contender's warm-up; end its process if that fails."""
    try:
        about = contender.warm()
    except BaseException as error:
        contender.__exit__(type(error), error, None)
        raise
    _log(f"{contender.name} is warm ({about['settings']}; {about['parameters']:,} parameters)")
    return contender


def _warn_if_busy(threads: int) -> None:
    """Warn, since torch's threads wait for each other in every operation."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > threads / 2:
        _log(f"this machine is busy (load {load:.1f}): measure again when it is not")


def _log(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)
