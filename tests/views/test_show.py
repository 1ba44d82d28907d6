"""Foreign models in the view: random ones of transformers, recorded or as they tell."""

import os
import re

import numpy as np
import pytest
import torch

from regard.attention import AttentionMap, MultiHead, record
from regard.views import entropies, show

os.environ.setdefault("HF_HUB_OFFLINE", "1")
IDS = torch.tensor([[5, 6, 7, 8, 9, 10], [11, 12, 13, 14, 3, 3]])
MASK = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
PIECES = ["[CLS]", "un", "##do", "it", ".", "[SEP]"]


def twins(name):
    """The same random model with torch's fused attention and with its own written-out one."""
    import transformers

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


WANTED = {
    "max_new_tokens": 5, "do_sample": False, "output_attentions": True,
    "return_dict_in_generate": True,
}  # fmt: skip


def sharp(name, seed):
    """A model whose hypotheses differ: weights far from zero."""
    torch.manual_seed(seed)
    _, eager = twins(name)
    with torch.no_grad():
        for weight in eager.parameters():
            weight.add_(torch.randn_like(weight) * 0.3)
    return eager


@torch.no_grad()
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("each", [1, 2])
def test_beams_are_followed(seed, row, each):
    more = {**WANTED, "num_beams": 4, "num_return_sequences": each}
    row = row * each + each - 1
    model, left = sharp("GPT2", seed), MASK.flip(1)
    made = model.generate(IDS, attention_mask=left, **more)
    steps = int((made.beam_indices[row] >= 0).sum())
    ids = made.sequences[row : row + 1, : IDS.shape[1] + steps]
    mask = left[row // each : row // each + 1]
    whole = torch.cat([mask, torch.ones(1, steps - 1, dtype=mask.dtype)], 1)
    places = (whole.cumsum(-1) - 1).clamp(min=0)
    told = model(ids[:, :-1], attention_mask=whole, position_ids=places, output_attentions=True)
    shown = board(show(made, [f"▁{n}" for n in ids[0].tolist()], mask=left, row=row))
    kept = whole[0].nonzero()[:, 0]
    for layer, maps in enumerate(shown.maps):
        assert maps.kind == "decoder"
        expected = told.attentions[layer][0][:, kept][:, :, kept].numpy()
        np.testing.assert_allclose(maps.weights, expected, atol=1e-5)

    model = sharp("Marian", seed)
    made = model.generate(IDS, attention_mask=MASK, **more)
    steps = int((made.beam_indices[row] >= 0).sum())
    ids, line = made.sequences[row : row + 1, : steps + 1], row // each
    given = {"input_ids": IDS[line : line + 1], "attention_mask": MASK[line : line + 1]}
    told = model(**given, decoder_input_ids=ids[:, :-1], output_attentions=True)
    written = [f"▁{n}" for n in ids[0].tolist()]
    shown = board(show(made, ["▁w"] * 6, target_tokens=written, mask=MASK, row=row))
    length = int(MASK[line].sum())
    for layer in range(2):
        for kind, expected in (("cross", told.cross_attentions[layer][0, :, :, :length]),
                               ("encoder", told.encoder_attentions[layer][0, :, :length, :length]),
                               ("decoder", told.decoder_attentions[layer][0])):  # fmt: skip
            np.testing.assert_allclose(shown.find(kind, layer).weights, expected, atol=1e-5)
    with pytest.raises(ValueError, match="nothing tells which of them became sentence"):
        show({**made, "beam_indices": None}, ["▁w"] * 6, target_tokens=written, row=row)


@torch.no_grad()
def test_a_generation_that_was_recorded():
    fused, eager = twins("Marian")
    with record(fused) as recording:
        ids = fused.generate(IDS[:1], max_new_tokens=4, min_new_tokens=4, num_beams=1)
    written = [f"▁{n}" for n in ids[0].tolist()]
    shown = board(show(recording, ["▁w"] * 6, target_tokens=written))
    told = eager(IDS[:1], decoder_input_ids=ids[:, :-1], output_attentions=True)
    same(shown, board(show(told, ["▁w"] * 6, target_tokens=written)))


@torch.no_grad()
def test_a_padded_generation_is_that_of_a_decoder():
    _, eager = twins("GPT2")
    left = MASK.flip(1)
    made = eager.generate(IDS, attention_mask=left, min_new_tokens=5, **WANTED)
    tokens = [f"▁{n}" for n in made.sequences[1].tolist()]
    long = torch.cat([left, torch.ones(2, 4, dtype=left.dtype)], 1)
    for mask, given in ((left, tokens), (long, tokens), (left, tokens[2:]), (long, tokens[2:])):
        shown = board(show(made, given, mask=mask, row=1))
        assert {m.kind for m in shown.maps} == {"decoder"}
        assert shown.source_tokens == tuple(tokens[2:-1])
        np.testing.assert_allclose(shown.maps[1].weights.sum(-1), 1, atol=1e-5)
    padded = eager(IDS, attention_mask=left, output_attentions=True)
    shown = board(show(padded, tokens[:6], mask=left, row=1))
    assert {m.kind for m in shown.maps} == {"decoder"}
    single = eager(IDS[:1, :1], output_attentions=True)
    assert {m.kind for m in board(show(single, ["a"])).maps} == {"decoder"}
    assert {m.kind for m in board(show(single.attentions, ["a"])).maps} == {"encoder"}


def test_any_torch_model_that_is_recorded(tmp_path):
    layer = MultiHead(8, num_heads=2)
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
        ([EVEN[:, :, :2, :2]], {"tokens": ABC}, "there are 3 tokens, but the maps have 2 rows"),
    ],
)
def test_what_cannot_be_shown(maps, more, message):
    tokens = more.pop("tokens", None) or ABC
    with pytest.raises(ValueError, match=message):
        show(maps, tokens, **more)


@pytest.mark.parametrize(
    ("maps", "more", "message"),
    [
        (None, {}, "maps must be attention maps, but None came"),
        (MultiHead(8, num_heads=2), {}, "but the model came"),
        (record(MultiHead(8, num_heads=2)), {}, "with record(model) as recording"),
        ([None, "x"], {}, "must be a tensor, but str came"),
        ([EVEN], {"tokens": [5, 6, 7]}, "convert_ids_to_tokens"),
        ([EVEN], {"tokens": torch.tensor([5, 6, 7])}, "convert_ids_to_tokens"),
    ],
)
def test_what_is_something_else(maps, more, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        show(maps, more.get("tokens", ABC))


def one_bad(value):
    weights = EVEN.copy()
    weights[1, 0, 2, 1] = value
    return weights


@pytest.mark.parametrize(
    ("maps", "more", "message"),
    [
        ([EVEN, one_bad(np.nan)], {"row": 1}, "of the encoder map of layer 1 are no numbers"),
        ([one_bad(-0.1)], {"row": 1}, "1 weights of the encoder map of layer 0 are negative"),
        ([EVEN], {"row": 2, "mask": np.ones((2, 3))}, "row must be below 2"),
        ([EVEN], {"row": 1, "mask": np.ones((1, 3))}, "row must be below 1, the rows of mask"),
        ([EVEN], {"tokens": "ab"}, "there are 2 tokens, but the maps have 3 rows"),
        ([EVEN], {"words": ["a", "cd"]}, "words do not spell the tokens: “a cd” is not “a b c”"),
        ([EVEN], {"words": ["a"]}, "words do not spell the tokens"),
        (
            {"cross_attentions": [EVEN]},
            {"target_tokens": list("defgh")},
            "there are 5 target_tokens, but the maps have 3 rows",
        ),
        (
            {"cross_attentions": [EVEN]},
            {"target_tokens": ["d", "e"]},
            "there are 2 target_tokens, but the maps have 3 rows",
        ),
        ({"cross_attentions": [EVEN]}, {"target_tokens": ABC, "tokens": "ab"}, "have 3 columns"),
    ],
)
def test_what_does_not_fit(maps, more, message):
    with pytest.raises(ValueError, match=message):
        show(maps, more.pop("tokens", ABC), **more)
    assert show([EVEN, one_bad(np.nan)], ABC, row=0)  # the other sentence's is of no matter


def test_words_that_spell_the_tokens():
    tokens = ["[CLS]", "cafe", "##s", "[UNK]", "!", "[SEP]"]
    maps = [np.full((1, 1, 6, 6), 1 / 6)]
    shown = board(show(maps, tokens, words=["Cafés", "☃", "!"]))
    assert shown.source_groups == ((1, 2), (3,), (4,))
    with pytest.raises(ValueError, match="do not spell"):
        show(maps, tokens, words=["Cafés", "☃", "?"])


@torch.no_grad()
def test_a_model_that_cannot_be_recorded():
    _, eager = twins("Bert")
    with pytest.warns(UserWarning, match="saw no call"), record(eager) as recording:
        eager(IDS)
    with pytest.raises(ValueError, match='load it with "sdpa", or call it with output_attentions'):
        show(recording, PIECES)


def test_figures_say_what_they_take():
    with pytest.raises(TypeError, match=r"show\(...\).boards\[0\] is the text"):
        entropies(["no map"])
    assert entropies((torch.ones(1, 2, 3, 3) / 3,)).values.shape == (1, 2)  # as transformers answer
    assert entropies(show([EVEN], ABC).boards[0]).values.shape == (1, 2)


def test_maps_over_something_else_than_words_are_left_out():
    one = AttentionMap(torch.ones(1, 1, 3, 2) / 2, "self", 0, (0,), (0, 1, 2), "x", "projected")
    with pytest.raises(ValueError, match="over words"):
        show([one], ABC)
