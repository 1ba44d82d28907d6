"""Other models in the view: random transformers models, recorded or by their output."""

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
        "Bert": {
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 32,
        },
        "GPT2": {
            "n_embd": 16,
            "n_layer": 2,
            "n_head": 4,
            "n_positions": 32,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "pad_token_id": 3,
        },
        "Marian": {
            "d_model": 16,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "pad_token_id": 3,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 32,
            "decoder_ffn_dim": 32,
            "eos_token_id": 0,
            "max_position_embeddings": 32,
            "decoder_start_token_id": 3,
        },
    }[name]
    kind = {"Bert": "BertModel", "GPT2": "GPT2LMHeadModel", "Marian": "MarianMTModel"}[name]
    config = getattr(transformers, f"{name}Config")
    fused, eager = (
        getattr(transformers, kind)(config(vocab_size=50, attn_implementation=how, **sizes)).eval()
        for how in ("sdpa", "eager")
    )
    eager.load_state_dict(fused.state_dict())
    return fused, eager


def view_of(page):
    (one,) = page.entries
    return one


def same(found, expected):
    assert [(m.kind, m.layer) for m in found.maps] == [(m.kind, m.layer) for m in expected.maps]
    for one, other in zip(found.maps, expected.maps, strict=True):
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("row", [0, 1])
def test_encoder_recorded_and_by_output(row):
    fused, eager = twins("Bert")
    output = eager(IDS, attention_mask=MASK, output_attentions=True)
    with record(fused) as recording:
        fused(IDS, attention_mask=MASK)
    shown = view_of(show(output, PIECES, mask=MASK, row=row))
    same(shown, view_of(show(recording, PIECES, mask=MASK, row=row)))
    length = int(MASK[row].sum())
    assert {m.kind for m in shown.maps} == {"encoder"}
    for layer, maps in enumerate(shown.maps):
        assert maps.weights.shape == (4, length, length)
        expected = output.attentions[layer][row, :, :length, :length].numpy()
        np.testing.assert_allclose(maps.weights, expected, atol=1e-6)
    assert "undo" in shown.source_words
    for way in (output.attentions, {"attentions": output.attentions}, list(output.attentions)):
        same(view_of(show(way, PIECES, mask=MASK, row=row)), shown)


@torch.no_grad()
def test_single_decoder_is_found_to_be_causal():
    fused, eager = twins("GPT2")
    tokens = ["The", "Ġcat", "Ġs", "its", "ĠcafÃ©", "."]
    output = eager(IDS[:1], output_attentions=True)
    shown = view_of(show(output, tokens))
    assert {m.kind for m in shown.maps} == {"decoder"}
    assert shown.source_words == ("The", "cat", "sits", "café", ".")
    with record(fused) as recording:
        fused(IDS[:1])
    same(view_of(show(recording, tokens)), shown)
    left = MASK.flip(1)  # as generation pads
    padded = eager(IDS, attention_mask=left, output_attentions=True)
    shown = view_of(show(padded, tokens, mask=left, row=1))
    expected = padded.attentions[1][1, :, 2:, 2:].numpy()
    np.testing.assert_allclose(shown.maps[1].weights, expected, atol=1e-6)


@torch.no_grad()
def test_encoder_decoder():
    fused, eager = twins("Marian")
    target = torch.tensor([[3, 20, 21, 22], [3, 23, 24, 25]])
    given = {"input_ids": IDS, "attention_mask": MASK, "decoder_input_ids": target}
    output = eager(**given, output_attentions=True)
    source, written = [f"▁w{n}" for n in range(6)], ["▁le", "▁ch", "at", "</s>"]
    page = show(output, source, target_tokens=written, mask=MASK, row=1, title="Marian")
    shown = view_of(page)
    sizes = {m.kind: m.weights.shape for m in shown.maps}
    assert sizes == {"cross": (4, 4, 4), "encoder": (4, 4, 4), "decoder": (4, 4, 4)}
    assert shown.target_words[:2] == ("le", "chat")
    np.testing.assert_allclose(
        shown.find("cross", 1).weights, output.cross_attentions[1][1, :, :, :4].numpy(), atol=1e-6
    )
    with record(fused) as recording:
        fused(**given)
    again = show(recording, source, target_tokens=["<pad>", *written], mask=MASK, row=1)
    same(view_of(again), shown)
    assert view_of(again).start_token == "<pad>"
    assert "Marian" in page.html and "chat" in page.html


@torch.no_grad()
def test_generation_output_step_by_step():
    wanted = {
        "max_new_tokens": 3,
        "min_new_tokens": 3,
        "do_sample": False,
        "num_beams": 1,
        "output_attentions": True,
        "return_dict_in_generate": True,
    }
    _, eager = twins("GPT2")
    made = eager.generate(IDS[:1], attention_mask=MASK[:1], **wanted)
    length = made.sequences.shape[1] - 1  # the last one was written and never read
    shown = view_of(show(made, [f"▁{n}" for n in made.sequences[0].tolist()]))
    whole = eager(made.sequences[:, :-1], output_attentions=True).attentions
    for layer, maps in enumerate(shown.maps):
        assert maps.kind == "decoder" and maps.weights.shape == (4, length, length)
        np.testing.assert_allclose(maps.weights, whole[layer][0].numpy(), atol=1e-5)
    _, eager = twins("Marian")
    made = eager.generate(IDS[:1], **wanted)
    written = [f"▁{n}" for n in made.sequences[0].tolist()]
    shown = view_of(show(made, [f"▁{n}" for n in range(6)], target_tokens=written))
    assert shown.start_token == written[0] and shown.target_tokens == tuple(written[1:])
    assert shown.find("decoder", 1).weights.sum() == pytest.approx(4 * (len(written) - 1), abs=1e-4)


WANTED = {
    "max_new_tokens": 5,
    "do_sample": False,
    "output_attentions": True,
    "return_dict_in_generate": True,
}


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
    output = model(ids[:, :-1], attention_mask=whole, position_ids=places, output_attentions=True)
    shown = view_of(show(made, [f"▁{n}" for n in ids[0].tolist()], mask=left, row=row))
    kept = whole[0].nonzero()[:, 0]
    for layer, maps in enumerate(shown.maps):
        assert maps.kind == "decoder"
        expected = output.attentions[layer][0][:, kept][:, :, kept].numpy()
        np.testing.assert_allclose(maps.weights, expected, atol=1e-5)

    model = sharp("Marian", seed)
    made = model.generate(IDS, attention_mask=MASK, **more)
    steps = int((made.beam_indices[row] >= 0).sum())
    ids, line = made.sequences[row : row + 1, : steps + 1], row // each
    given = {"input_ids": IDS[line : line + 1], "attention_mask": MASK[line : line + 1]}
    output = model(**given, decoder_input_ids=ids[:, :-1], output_attentions=True)
    written = [f"▁{n}" for n in ids[0].tolist()]
    shown = view_of(show(made, ["▁w"] * 6, target_tokens=written, mask=MASK, row=row))
    length = int(MASK[line].sum())
    for layer in range(2):
        expected_maps = {
            "cross": output.cross_attentions[layer][0, :, :, :length],
            "encoder": output.encoder_attentions[layer][0, :, :length, :length],
            "decoder": output.decoder_attentions[layer][0],
        }
        for kind, expected in expected_maps.items():
            np.testing.assert_allclose(shown.find(kind, layer).weights, expected, atol=1e-5)
    with pytest.raises(ValueError, match="it is not known which of them became sentence"):
        show({**made, "beam_indices": None}, ["▁w"] * 6, target_tokens=written, row=row)


@torch.no_grad()
def test_recorded_generation():
    fused, eager = twins("Marian")
    with record(fused) as recording:
        ids = fused.generate(IDS[:1], max_new_tokens=4, min_new_tokens=4, num_beams=1)
    written = [f"▁{n}" for n in ids[0].tolist()]
    shown = view_of(show(recording, ["▁w"] * 6, target_tokens=written))
    output = eager(IDS[:1], decoder_input_ids=ids[:, :-1], output_attentions=True)
    same(shown, view_of(show(output, ["▁w"] * 6, target_tokens=written)))


@torch.no_grad()
def test_padded_generation_is_causal():
    _, eager = twins("GPT2")
    left = MASK.flip(1)
    made = eager.generate(IDS, attention_mask=left, min_new_tokens=5, **WANTED)
    tokens = [f"▁{n}" for n in made.sequences[1].tolist()]
    long = torch.cat([left, torch.ones(2, 4, dtype=left.dtype)], 1)
    for mask, given in ((left, tokens), (long, tokens), (left, tokens[2:]), (long, tokens[2:])):
        shown = view_of(show(made, given, mask=mask, row=1))
        assert {m.kind for m in shown.maps} == {"decoder"}
        assert shown.source_tokens == tuple(tokens[2:-1])
        np.testing.assert_allclose(shown.maps[1].weights.sum(-1), 1, atol=1e-5)
    padded = eager(IDS, attention_mask=left, output_attentions=True)
    shown = view_of(show(padded, tokens[:6], mask=left, row=1))
    assert {m.kind for m in shown.maps} == {"decoder"}
    single = eager(IDS[:1, :1], output_attentions=True)
    assert {m.kind for m in view_of(show(single, ["a"])).maps} == {"decoder"}
    assert {m.kind for m in view_of(show(single.attentions, ["a"])).maps} == {"encoder"}


def test_any_torch_model_that_is_recorded(tmp_path):
    layer = MultiHead(8, num_heads=2)
    with record(layer) as recording, torch.no_grad():
        layer(torch.randn(1, 3, 8))
    page = show(recording, ["a", "b", "c"], words=["a", "bc"], model="mine")
    assert repr(page) == "Page('mine', 1 text)"
    assert view_of(page).source_groups == ((0,), (1, 2))
    assert page.save(tmp_path / "page.html").read_text("utf-8") == page.html
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


EVEN = np.full((2, 2, 3, 3), 1 / 3)
ABC = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("maps", "more", "message"),
    [
        ([], {}, "at least one attention map"),
        ({"attentions": None}, {}, "the model's output has no attentions"),
        ([EVEN[0]], {}, r"shape \(sentences, heads, queries, keys\), got \(2, 3, 3\)"),
        ([EVEN], {"row": 2}, "row must be below 2"),
        ([EVEN], {"mask": [0.5, 1, 1]}, "mask must be"),
        ([EVEN], {"mask": [1, 0, 1], "tokens": "abcd"}, r"one value per token \(4\), got 3"),
        (
            [EVEN],
            {"mask": [1, 1], "tokens": "ab"},
            "mask must cover the maps' 3 keys, got 2",
        ),
        ([EVEN], {"target_tokens": ["d"]}, "need maps of a decoder, got none"),
        ({"cross_attentions": [EVEN]}, {}, "target_tokens are needed"),
        (
            [EVEN[:, :, :2, :2]],
            {"tokens": ABC},
            "tokens must be one for each of the maps' 2 rows, got 3",
        ),
    ],
)
def test_value_errors(maps, more, message):
    tokens = more.pop("tokens", None) or ABC
    with pytest.raises(ValueError, match=message):
        show(maps, tokens, **more)


@pytest.mark.parametrize(
    ("maps", "more", "message"),
    [
        (None, {}, "maps must be attention maps, got None"),
        (MultiHead(8, num_heads=2), {}, "got the model"),
        (record(MultiHead(8, num_heads=2)), {}, "with record(model) as recording"),
        ([None, "x"], {}, "must be a tensor, got str"),
        ([EVEN], {"tokens": [5, 6, 7]}, "convert_ids_to_tokens"),
        ([EVEN], {"tokens": torch.tensor([5, 6, 7])}, "convert_ids_to_tokens"),
    ],
)
def test_type_errors(maps, more, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        show(maps, more.get("tokens", ABC))


def one_bad(value):
    weights = EVEN.copy()
    weights[1, 0, 2, 1] = value
    return weights


@pytest.mark.parametrize(
    ("maps", "more", "message"),
    [
        ([EVEN, one_bad(np.nan)], {"row": 1}, "of the encoder map of layer 1 are not finite"),
        ([one_bad(-0.1)], {"row": 1}, "1 weights of the encoder map of layer 0 are negative"),
        ([EVEN], {"row": 2, "mask": np.ones((2, 3))}, "row must be below 2"),
        ([EVEN], {"row": 1, "mask": np.ones((1, 3))}, "row must be below 1, the rows of mask"),
        ([EVEN], {"tokens": "ab"}, "tokens must be one for each of the maps' 3 rows, got 2"),
        ([EVEN], {"words": ["a", "cd"]}, "words must spell the tokens, “a b c”, got “a cd”"),
        ([EVEN], {"words": ["a"]}, "words must spell the tokens"),
        (
            {"cross_attentions": [EVEN]},
            {"target_tokens": list("defgh")},
            "target_tokens must be one for each of the maps' 3 rows, got 5",
        ),
        (
            {"cross_attentions": [EVEN]},
            {"target_tokens": ["d", "e"]},
            "target_tokens must be one for each of the maps' 3 rows, got 2",
        ),
        (
            {"cross_attentions": [EVEN]},
            {"target_tokens": ABC, "tokens": "ab"},
            "the maps' 3 columns, got 2",
        ),
    ],
)
def test_mismatched_arguments(maps, more, message):
    with pytest.raises(ValueError, match=message):
        show(maps, more.pop("tokens", ABC), **more)
    assert show([EVEN, one_bad(np.nan)], ABC, row=0)  # the other sentence does not matter


def test_words_that_spell_the_tokens():
    tokens = ["[CLS]", "cafe", "##s", "[UNK]", "!", "[SEP]"]
    maps = [np.full((1, 1, 6, 6), 1 / 6)]
    shown = view_of(show(maps, tokens, words=["Cafés", "☃", "!"]))
    assert shown.source_groups == ((1, 2), (3,), (4,))
    with pytest.raises(ValueError, match="must spell"):
        show(maps, tokens, words=["Cafés", "☃", "?"])


@torch.no_grad()
def test_a_model_that_cannot_be_recorded():
    _, eager = twins("Bert")
    with pytest.warns(UserWarning, match="saw no attention call"), record(eager) as recording:
        eager(IDS)
    with pytest.raises(
        ValueError, match='load the model with "sdpa", or call it with output_attentions'
    ):
        show(recording, PIECES)


def test_figures_name_their_arguments():
    with pytest.raises(TypeError, match=r"show\(...\).entries\[0\] is the SentenceView"):
        entropies(["no map"])
    assert entropies((torch.ones(1, 2, 3, 3) / 3,)).values.shape == (1, 2)  # as transformers answer
    assert entropies(show([EVEN], ABC).entries[0]).values.shape == (1, 2)


def test_maps_over_something_else_than_words_are_left_out():
    one = AttentionMap(torch.ones(1, 1, 3, 2) / 2, "self", 0, (0,), (0, 1, 2), "x", "projected")
    with pytest.raises(ValueError, match="over words"):
        show([one], ABC)
