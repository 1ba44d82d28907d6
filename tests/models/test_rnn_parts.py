"""The parts of the recurrent model against torch's own layers and against finite differences."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.attention import Additive, Mask, attend
from regard.config import RnnSettings
from regard.models.rnn.cell import CELLS
from regard.models.rnn.encoder import RnnEncoder, gather_steps, reversed_order
from regard.models.rnn.loop import LoopTensors, aligned_steps, cell_step
from regard.models.rnn.scan import Recurrence, scan

F64 = torch.float64
TORCH = {"rnn": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}
T, B, S, WIDTH, DIM = 5, 3, 4, 6, 4
every_cell = pytest.mark.parametrize("cell", CELLS)


def load(layer, theirs, number=0):
    """Give our layer the parameters of a layer of torch's."""
    names = [f"l{number}", f"l{number}_reverse"][: layer.weight_ih.shape[0]]
    with torch.no_grad():
        for way, name in enumerate(names):
            layer.weight_ih[way] = getattr(theirs, f"weight_ih_{name}").T
            layer.weight_hh[way] = getattr(theirs, f"weight_hh_{name}").T
            layer.bias_ih[way] = getattr(theirs, f"bias_ih_{name}")
            layer.bias_hh[way] = getattr(theirs, f"bias_hh_{name}")


@every_cell
def test_recurrence_is_torchs(cell):
    theirs = TORCH[cell](WIDTH, DIM).double()
    ours = Recurrence(CELLS[cell], WIDTH, DIM).double()
    load(ours, theirs)
    x = torch.randn(T, B, WIDTH, dtype=F64, requires_grad=True)
    state = tuple(torch.randn(1, B, DIM, dtype=F64) for _ in range(CELLS[cell].num_states))
    expected, _ = theirs(x, state if cell == "lstm" else state[0])
    states = ours(ours.input_gates(x[None]), state)
    torch.testing.assert_close(states[0][:, 0], expected)
    probe = torch.randn(T, B, DIM, dtype=F64)
    wanted = [x, theirs.weight_ih_l0, theirs.weight_hh_l0, theirs.bias_ih_l0, theirs.bias_hh_l0]
    result = [x, ours.weight_ih, ours.weight_hh, ours.bias_ih, ours.bias_hh]
    theirs_grads = torch.autograd.grad((expected * probe).sum(), wanted)
    ours_grads = torch.autograd.grad((states[0][:, 0] * probe).sum(), result)
    torch.testing.assert_close(ours_grads[0], theirs_grads[0])
    for a, b in zip(ours_grads[1:], theirs_grads[1:], strict=True):
        torch.testing.assert_close(a[0], b.T if b.ndim == 2 else b)


@every_cell
def test_scan_gradients_of_every_state(cell):
    kind = CELLS[cell]
    width = kind.num_gates * DIM
    state = [torch.randn(2, B, DIM, dtype=F64, requires_grad=True) for _ in range(kind.num_states)]
    x = torch.randn(2, T, B, width, dtype=F64, requires_grad=True)
    weight = torch.randn(2, DIM, width, dtype=F64, requires_grad=True)
    bias = torch.randn(2, width, dtype=F64, requires_grad=True)
    assert gradcheck(lambda x, w, b, *s: scan(kind, x, w, b, s), (x, weight, bias, *state))
    with torch.no_grad():
        again = scan(kind, x, weight, bias, tuple(state))
    for a, b in zip(again, scan(kind, x, weight, bias, tuple(state)), strict=True):
        assert torch.equal(a, b)


@every_cell
@pytest.mark.parametrize("bidirectional", [True, False])
def test_encoder_is_torchs_over_packed_sentences(cell, bidirectional):
    settings = RnnSettings(
        cell=cell, embedding=WIDTH, dim=2 * DIM, num_encoder_layers=2, bidirectional=bidirectional
    )
    ways = 1 + bidirectional
    theirs = TORCH[cell](WIDTH, 2 * DIM // ways, 2, bidirectional=bidirectional).double()
    ours = RnnEncoder(settings).double().eval()
    for number, layer in enumerate(ours.layers):
        load(layer, theirs, number)
    x, lengths = torch.randn(T, B, WIDTH, dtype=F64), torch.tensor([2, 5, 1])
    packed, final = theirs(pack_padded_sequence(x, lengths, enforce_sorted=False))
    expected, _ = pad_packed_sequence(packed)
    reading = ours(x, lengths)
    for row, length in enumerate(lengths.tolist()):
        torch.testing.assert_close(reading.states[row, :length], expected[:length, row])
    for result, want in zip(reading.final, final if cell == "lstm" else (final,), strict=True):
        torch.testing.assert_close(result, want.transpose(0, 1).flatten(1))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_turning_around_twice_is_nothing(lengths):
    steps = max(lengths)
    x = torch.randn(steps, len(lengths), 2)
    positions = reversed_order(steps, torch.tensor(lengths))
    turned = gather_steps(x, positions)
    for row, length in enumerate(lengths):
        assert torch.equal(turned[:length, row], x[:length, row].flip(0))
        assert torch.equal(turned[length:, row], x[length:, row])
    assert torch.equal(gather_steps(turned, positions), x)


def loop_parts(cell):
    """Everything the loop needs, and a score that holds the same parameters."""
    width, kind = CELLS[cell].num_gates * DIM, CELLS[cell]
    score = Additive(DIM, WIDTH, 5).double()
    shapes = [(T, B, width), (WIDTH, width), (DIM, width), (width,)]
    free = [torch.randn(*shape, dtype=F64, requires_grad=True) for shape in shapes]
    values = torch.randn(B, S, WIDTH, dtype=F64, requires_grad=True)
    keys = torch.randn(B, S, 5, dtype=F64, requires_grad=True)
    lengths = torch.tensor([4, 2, 1])
    padding = torch.arange(S) >= lengths[:, None]
    state = tuple(
        torch.randn(B, DIM, dtype=F64, requires_grad=True) for _ in range(kind.num_states)
    )
    parts = LoopTensors(*free, score.query_proj.weight, score.v, keys, values, padding)
    return parts, state, score, lengths


@every_cell
def test_the_loop_is_attend_and_the_cell_step_by_step(cell):
    parts, state, score, lengths = loop_parts(cell)
    states, contexts = aligned_steps(CELLS[cell], parts, state)
    with torch.no_grad():
        for step, x in enumerate(parts.x):
            attended = attend(
                state[0][:, None],
                parts.keys,
                parts.values,
                score=score.on_projected(),
                mask=Mask.lengths(lengths),
            )
            context = attended.context[:, 0]
            assert torch.equal(contexts[step], context)
            matrices = parts.context, parts.weight, parts.bias
            state, _ = cell_step(CELLS[cell], x, context, state, matrices)
            for all_steps, after in zip(states, state, strict=True):
                assert torch.equal(all_steps[step], after)


@every_cell
def test_the_loop_goes_back_by_the_chain_rule(cell):
    parts, state, _, _ = loop_parts(cell)
    count = len(parts) - 1

    def run(*tensors):
        states, contexts = aligned_steps(
            CELLS[cell], LoopTensors(*tensors[:count], parts.padding), tensors[count:]
        )
        return *states, contexts

    assert gradcheck(run, (*parts[:count], *state))
