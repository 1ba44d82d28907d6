"""Ring attention over local processes, held against full attention in one.

`python -m regard.bench.ring RANK RANKS FOLDER` is one of the processes; it writes what it found.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist

from regard.attention import Mask, ScaledDot, attend
from regard.attention.mechanisms.ring import own_shard, ring_attention
from regard.bench.row import Row
from regard.errors import InputError

LENGTH, HEADS, WIDTH = 1024, 8, 64
NEAR = 1e-5


def rows() -> list[Row]:
    """The largest differences over 2 and over 4 processes."""
    made = []
    for ranks in (2, 4):
        for what, difference in differences(ranks).items():
            name = (
                f"ring over {ranks} ranks, n {LENGTH}, causal and not: largest difference, {what}"
            )
            made.append(Row(name, difference, None, None, "<=", NEAR))
    return made


def differences(ranks: int) -> dict[str, float]:
    """Over all processes: the largest difference from full attention, forward and in gradients."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "regard.bench.ring"]
        started = [
            subprocess.Popen([*command, str(rank), str(ranks), folder], stderr=subprocess.PIPE)
            for rank in range(ranks)
        ]
        for one in started:
            _, said = one.communicate()
            if one.returncode:
                last = said.decode().strip().splitlines()[-1:]
                raise InputError(f"a process of the ring failed: {' '.join(last)}")
        found = [json.loads((Path(folder) / f"{rank}.json").read_text()) for rank in range(ranks)]
    return {what: max(one[what] for one in found) for what in found[0]}


def be_rank(rank: int, ranks: int, folder: Path) -> None:
    """One process: its shard by the ring, and the same of full attention over the whole."""
    torch.set_num_threads(1)
    meeting = f"file://{folder / 'meeting'}"
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=ranks)
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
    (folder / f"{rank}.json").write_text(json.dumps(worst))
    dist.destroy_process_group()


if __name__ == "__main__":
    be_rank(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
