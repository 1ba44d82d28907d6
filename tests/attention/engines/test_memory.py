"""Memory that grows with the length, not its square: peak of a new process, in megabytes."""

import pytest

from processes import run as run_process

MEASURED = """
import torch
from regard.attention import *
from regard.bench.clock import own_peak_megabytes as peak
torch.set_num_threads(1)
{prepare}
{warm}
before = peak()
{run}
print(peak() - before)
"""


def megabytes(prepare, run, warm=""):
    code = MEASURED.format(prepare=prepare, run=run, warm=warm)
    code = code.replace("import *", "import Additive, Mask, ScaledDot, attend, record")
    done = run_process(code=code)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def test_additive_forward_and_backward():
    """One copy of (Q, K, H) would be 1 GB, the scores alone 16 MB."""
    prepare = """
score = Additive(16, 16, 64)
q, k, v = (torch.randn(1, 2048, 16, requires_grad=True) for _ in range(3))
"""
    run = "attend(q, k, v, score=score, mask=Mask.causal()).context.sum().backward()"
    warm = "attend(q[:, :9], k, v, score=score).context.sum().backward()"
    assert megabytes(prepare, run, warm) < 60


@pytest.mark.parametrize("score", ["Additive(16, 16, 64)", "ScaledDot(softcap=5.0)"])
def test_recording_some_rows(score):
    """The whole map would be 64 MB, and Additive's tanh 4 GB."""
    prepare = f"score = {score}; x = torch.randn(1, 1, 4096, 16); torch.set_grad_enabled(False)"
    run = """
with record(rows=[0, 4095]) as recording:
    attend(x, x, x, score=score, mask=Mask.window(4, 4), engine="blockwise")
assert recording[0].weights.shape == (1, 1, 2, 4096)
"""
    warm = "attend(x[:, :, :64], x, x, score=score)"
    assert megabytes(prepare, run, warm) < 60


def test_a_long_window_with_a_gradient():
    """The scores of 32,768 words would be 4 GB."""
    prepare = "x = torch.randn(1, 1, 32768, 8, requires_grad=True)"
    run = "attend(x, x, x, score=ScaledDot(), mask=Mask.window(8, 8)).context.sum().backward()"
    assert megabytes(prepare, run) < 150
