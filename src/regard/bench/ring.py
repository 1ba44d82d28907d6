"""Ring attention over local processes, compared with full attention in one.

`python -m regard.bench.ring FOLDER OPTIONS RANK` is one of the processes; it writes its figures.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.distributed as dist

from regard.attention import Mask, ScaledDot, attend
from regard.attention.mechanisms.ring import own_shard, ring_attention
from regard.bench.clock import own_peak_megabytes
from regard.bench.row import Row
from regard.errors import InputError

LENGTH, HEADS, WIDTH = 1024, 8, 64
TOLERANCE = 1e-5


@dataclass(frozen=True)
class RingFigures:
    """Figures of a ring.

    differences  largest differences from full attention: forward, and of gradients
    seconds      forward and backward at each length, of the slowest process
    megabytes    peak of a process at each length, less its peak before
    """

    differences: dict[str, float]
    seconds: list[float]
    megabytes: list[float]


def rows(rings: Mapping[int, RingFigures]) -> list[Row]:
    """The largest differences, by the number of processes."""
    return [
        Row(
            f"ring over {ranks} ranks, n {LENGTH}: largest difference, {what}",
            difference,
            None,
            None,
            "<=",
            TOLERANCE,
        )
        for ranks, figures in rings.items()
        for what, difference in figures.differences.items()
    ]


def run_ring(ranks: int, lengths: Sequence[int] = (), causal: bool = False) -> RingFigures:
    """Run a ring of `ranks` processes."""
    with tempfile.TemporaryDirectory() as folder:
        options = json.dumps({"ranks": ranks, "lengths": list(lengths), "causal": causal})
        command = [sys.executable, "-m", "regard.bench.ring", folder, options]
        processes = [
            subprocess.Popen([*command, str(rank)], stderr=subprocess.PIPE) for rank in range(ranks)
        ]
        for process in processes:
            _, errors = process.communicate()
            if process.returncode:
                last = errors.decode().strip().splitlines()[-1:]
                raise InputError(f"a process of the ring failed: {' '.join(last)}")
        parts = [
            RingFigures(**json.loads((Path(folder) / f"{rank}.json").read_text()))
            for rank in range(ranks)
        ]
    return RingFigures(
        {what: max(part.differences[what] for part in parts) for what in parts[0].differences},
        [max(column) for column in zip(*(part.seconds for part in parts), strict=True)],
        [max(column) for column in zip(*(part.megabytes for part in parts), strict=True)],
    )


def run_rank(rank: int, folder: Path, ranks: int, lengths: Sequence[int], causal: bool) -> None:
    """Run one process of the ring."""
    torch.set_num_threads(1)
    rendezvous = f"file://{folder / 'rendezvous'}"
    dist.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=ranks)
    before = own_peak_megabytes()
    seconds, peaks = [], []
    for length in lengths:
        seconds.append(_time(length // ranks, causal))
        peaks.append(max(1.0, own_peak_megabytes() - before))
    figures = RingFigures(_compare(), seconds, peaks)
    (folder / f"{rank}.json").write_text(json.dumps(asdict(figures)))
    dist.destroy_process_group()


def _time(shard: int, causal: bool) -> float:
    """Seconds of forward and backward with `shard` tokens in each process."""
    torch.manual_seed(dist.get_rank())
    shards = [torch.randn(1, HEADS, shard, WIDTH, requires_grad=True) for _ in range(3)]
    taken = []
    for _ in range(2):  # the first warms up
        dist.barrier()
        start = time.perf_counter()
        context = ring_attention(*shards, causal=causal)
        torch.autograd.grad(context, shards, torch.ones_like(context))
        taken.append(time.perf_counter() - start)
    return taken[-1]


def _compare() -> dict[str, float]:
    """Differences of this process's shard from full attention, causal and not."""
    torch.manual_seed(0)
    whole = [torch.randn(2, HEADS, LENGTH, WIDTH, requires_grad=True) for _ in range(3)]
    grad = torch.randn(2, HEADS, LENGTH, WIDTH)
    worst = {"forward": 0.0, "gradient": 0.0}
    for causal in (False, True):
        mask = Mask.causal() if causal else None
        context = attend(*whole, score=ScaledDot(), mask=mask, engine="blockwise").context
        expected = [context, *torch.autograd.grad(context, whole, grad)]
        shards = [own_shard(x.detach(), -2).requires_grad_() for x in whole]
        part = ring_attention(*shards, causal=causal)
        computed = [part, *torch.autograd.grad(part, shards, own_shard(grad, -2))]
        for number, (ours, theirs) in enumerate(zip(computed, expected, strict=True)):
            difference = float((ours - own_shard(theirs, -2)).abs().max())
            what = "gradient" if number else "forward"
            worst[what] = max(worst[what], difference)
    return worst


if __name__ == "__main__":
    run_rank(int(sys.argv[3]), Path(sys.argv[1]), **json.loads(sys.argv[2]))
