"""Ring attention over local processes, held against full attention in one.

`python -m regard.bench.ring FOLDER ASKED RANK` is one of the processes; it writes what it found.
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
NEAR = 1e-5


@dataclass(frozen=True)
class Found:
    """What the processes of a ring found.

    differences  the largest from full attention: forward, and in gradients
    seconds      forward and backward at each length, of the slowest process
    megabytes    peak of a process at each length, without what it took before
    """

    differences: dict[str, float]
    seconds: list[float]
    megabytes: list[float]


def rows(found: Mapping[int, Found]) -> list[Row]:
    """The largest differences, by the number of processes."""
    return [
        Row(f"ring over {ranks} ranks, n {LENGTH}: largest difference, {what}", difference, None,
            None, "<=", NEAR)
        for ranks, one in found.items()
        for what, difference in one.differences.items()
    ]  # fmt: skip


def over(ranks: int, lengths: Sequence[int] = (), causal: bool = False) -> Found:
    """Run a ring of so many processes."""
    with tempfile.TemporaryDirectory() as folder:
        asked = json.dumps({"ranks": ranks, "lengths": list(lengths), "causal": causal})
        command = [sys.executable, "-m", "regard.bench.ring", folder, asked]
        started = [
            subprocess.Popen([*command, str(rank)], stderr=subprocess.PIPE) for rank in range(ranks)
        ]
        for one in started:
            _, said = one.communicate()
            if one.returncode:
                last = said.decode().strip().splitlines()[-1:]
                raise InputError(f"a process of the ring failed: {' '.join(last)}")
        parts = [
            Found(**json.loads((Path(folder) / f"{rank}.json").read_text()))
            for rank in range(ranks)
        ]
    return Found(
        {what: max(one.differences[what] for one in parts) for what in parts[0].differences},
        [max(column) for column in zip(*(one.seconds for one in parts), strict=True)],
        [max(column) for column in zip(*(one.megabytes for one in parts), strict=True)],
    )


def be_rank(rank: int, folder: Path, ranks: int, lengths: Sequence[int], causal: bool) -> None:
    """One process of the ring."""
    torch.set_num_threads(1)
    meeting = f"file://{folder / 'meeting'}"
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=ranks)
    before = own_peak_megabytes()
    taken, peaks = [], []
    for length in lengths:
        taken.append(_timed(length // ranks, causal))
        peaks.append(max(1.0, own_peak_megabytes() - before))
    found = Found(_compared(), taken, peaks)
    (folder / f"{rank}.json").write_text(json.dumps(asdict(found)))
    dist.destroy_process_group()


def _timed(shard: int, causal: bool) -> float:
    """Seconds of forward and backward with `shard` words in each process."""
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


def _compared() -> dict[str, float]:
    """This process's shard by the ring against full attention over the whole, causal and not."""
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
        found = [part, *torch.autograd.grad(part, shards, own_shard(grad, -2))]
        for number, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
            difference = float((ours - own_shard(theirs, -2)).abs().max())
            what = "gradient" if number else "forward"
            worst[what] = max(worst[what], difference)
    return worst


if __name__ == "__main__":
    be_rank(int(sys.argv[3]), Path(sys.argv[1]), **json.loads(sys.argv[2]))
