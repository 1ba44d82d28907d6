"""Foreign models in the view: random ones of transformers, recorded or as they tell."""

import os

import numpy as np
import pytest
import torch

from regard.attention import AttentionMap, MultiHead, record
from regard.views import show

os.environ.setdefault("HF_HUB_OFFLINE", "1")
IDS = torch.tensor([[5, 6, 7, 8, 9, 10], [11, 12, 13, 14, 3, 3]])
MASK = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
PIECES = ["[CLS]", "un", "##do", "it", ".", "[SEP]"]


def twins(name):
    """The same random model with torch's fused attention and with its own written-out one."""
    transformers = pytest.importorskip("transformers")
    sizes = {
        "Bert": {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
                 "intermediate_size": 32},
        "GPT2": {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 32, "bos_token_id": 1,
                 "eos_token_id": 2, "pad_token_id": 3},
        "Marian": {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "pad_token_id": 3,
                   "encoder_attention_heads": 4, "decoder_attention_heads": 4,
                   "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "eos_token_id": 0,
                   "max_position_embeddings": 32, "decoder_start_token_id": 3},
    }[name]  # fmt: skip
    kind = {"Bert": "BertModel", "GPT2": "GPT2LMHeadModel", "Marian": "MarianMTModel"}[name]
    config = getattr(transformers, f"{name}Config")
    fused, eager = (
        getattr(transformers, kind)(config(vocab_size=50, attn_implementation=how, **sizes)).eval()
        for how in ("sdpa", "eager")
    )
    eager.load_state_dict(fused.state_dict())
    return fused, eager


def board(page):
    (one,) = page.boards
    return one


def same(found, expected):
    assert [(m.kind, m.layer) for m in found.maps] == [(m.kind, m.layer) for m in expected.maps]
    for one, other in zip(found.maps, expected.maps, strict=True):
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("row", [0, 1])
def test_an_encoder_recorded_and_as_it_tells(row):
    fused, eager = twins("Bert")
    told = eager(IDS, attention_mask=MASK, output_attentions=True)
    with record(fused) as recording:
        fused(IDS, attention_mask=MASK)
    shown = board(show(told, PIECES, mask=MASK, row=row))
    same(shown, board(show(recording, PIECES, mask=MASK, row=row)))
    length = int(MASK[row].sum())
    assert {m.kind for m in shown.maps} == {"encoder"}
    for layer, maps in enumerate(shown.maps):
        assert maps.weights.shape == (4, length, length)
        expected = told.attentions[layer][row, :, :length, :length].numpy()
        np.testing.assert_allclose(maps.weights, expected, atol=1e-6)
    assert "undo" in shown.source_words
    for way in (told.attentions, {"attentions": told.attentions}, list(told.attentions)):
        same(board(show(way, PIECES, mask=MASK, row=row)), shown)


@torch.no_grad()
def test_a_decoder_alone_is_found_to_be_causal():
    fused, eager = twins("GPT2")
    tokens = ["The", "Ġcat", "Ġs", "its", "ĠcafÃ©", "."]
    told = eager(IDS[:1], output_attentions=True)
    shown = board(show(told, tokens))
    assert {m.kind for m in shown.maps} == {"decoder"}
    assert shown.source_words == ("The", "cat", "sits", "café", ".")
    with record(fused) as recording:
        fused(IDS[:1])
    same(board(show(recording, tokens)), shown)
    left = MASK.flip(1)  # as generation pads
    padded = eager(IDS, attention_mask=left, output_attentions=True)
    shown = board(show(padded, tokens, mask=left, row=1))
    expected = padded.attentions[1][1, :, 2:, 2:].numpy()
    np.testing.assert_allclose(shown.maps[1].weights, expected, atol=1e-6)


@torch.no_grad()
def test_an_encoder_and_decoder():
    fused, eager = twins("Marian")
    target = torch.tensor([[3, 20, 21, 22], [3, 23, 24, 25]])
    given = {"input_ids": IDS, "attention_mask": MASK, "decoder_input_ids": target}
    told = eager(**given, output_attentions=True)
    source, written = [f"▁w{n}" for n in range(6)], ["▁le", "▁ch", "at", "</s>"]
    page = show(told, source, target_tokens=written, mask=MASK, row=1, title="Marian")
    shown = board(page)
    sizes = {m.kind: m.weights.shape for m in shown.maps}
    assert sizes == {"cross": (4, 4, 4), "encoder": (4, 4, 4), "decoder": (4, 4, 4)}
    assert shown.target_words[:2] == ("le", "chat")
    np.testing.assert_allclose(
        shown.find("cross", 1).weights, told.cross_attentions[1][1, :, :, :4].numpy(), atol=1e-6
    )
    with record(fused) as recording:
        fused(**given)
    again = show(recording, source, target_tokens=["<pad>", *written], mask=MASK, row=1)
    same(board(again), shown)
    assert board(again).start == "<pad>"
    assert "Marian" in page.html and "chat" in page.html


@torch.no_grad()
def test_what_generation_tells_step_by_step():
    wanted = {
        "max_new_tokens": 3, "min_new_tokens": 3, "do_sample": False, "num_beams": 1,
        "output_attentions": True, "return_dict_in_generate": True,
    }  # fmt: skip
    _, eager = twins("GPT2")
    made = eager.generate(IDS[:1], attention_mask=MASK[:1], **wanted)
    length = made.sequences.shape[1] - 1  # the last one was written and never read
    shown = board(show(made, [f"▁{n}" for n in made.sequences[0].tolist()]))
    whole = eager(made.sequences[:, :-1], output_attentions=True).attentions
    for layer, maps in enumerate(shown.maps):
        assert maps.kind == "decoder" and maps.weights.shape == (4, length, length)
        np.testing.assert_allclose(maps.weights, whole[layer][0].numpy(), atol=1e-5)
    _, eager = twins("Marian")
    made = eager.generate(IDS[:1], **wanted)
    written = [f"▁{n}" for n in made.sequences[0].tolist()]
    shown = board(show(made, [f"▁{n}" for n in range(6)], target_tokens=written))
    assert shown.start == written[0] and shown.target_tokens == tuple(written[1:])
    assert shown.find("decoder", 1).weights.sum() == pytest.approx(4 * (len(written) - 1), abs=1e-4)


def test_any_torch_model_that_is_recorded(tmp_path):
    layer = MultiHead(8, heads=2)
    with record(layer) as recording, torch.no_grad():
        layer(torch.randn(1, 3, 8))
    page = show(recording, ["a", "b", "c"], words=["a", "bc"], model="mine")
    assert repr(page) == "Page('mine', 1 text)"
    assert board(page).source_groups == ((0,), (1, 2))
    assert page.save(tmp_path / "page.html").read_text("utf-8") == page.html
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


EVEN = np.full((2, 2, 3, 3), 1 / 3)
ABC = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("maps", "more", "message"),
    [
        ([], {}, "at least one attention map"),
        ({"attentions": None}, {}, "there are no attentions in what the model answered"),
        ([EVEN[0]], {}, r"shape \(sentences, heads, queries, keys\), but \(2, 3, 3\) came"),
        ([EVEN], {"row": 2}, "row must be below 2"),
        ([EVEN], {"mask": [0.5, 1, 1]}, "mask must be"),
        ([EVEN], {"mask": [1, 0, 1], "tokens": "abcd"}, "4 tokens, but the mask is of 3 places"),
        (
            [EVEN],
            {"mask": [1, 1], "tokens": "ab"},
            "mask is of 2 places, but the maps are of 3 keys",
        ),
        ([EVEN], {"target_tokens": ["d"]}, "no maps of a decoder"),
        ({"cross_attentions": [EVEN]}, {}, "target_tokens are needed"),
        ([EVEN[:, :, :2, :2]], {"tokens": ABC}, "there are 3 tokens, but the maps are of 2"),
    ],
)
def test_what_cannot_be_shown(maps, more, message):
    tokens = more.pop("tokens", None) or ABC
    with pytest.raises(ValueError, match=message):
        show(maps, tokens, **more)


def test_maps_over_something_else_than_words_are_left_out():
    one = AttentionMap(torch.ones(1, 1, 3, 2) / 2, "self", 0, (0,), (0, 1, 2), "x", "projected")
    with pytest.raises(ValueError, match="over words"):
        show([one], ABC)
