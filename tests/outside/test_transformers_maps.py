"""Models from `transformers`, unchanged and on their sdpa path, show their attention to `record`.

Their own eager attention is the judge. The models are small and randomly initialised.
"""

import os

import torch
import transformers

from regard.attention import SwitchOff, intervene, record

os.environ.setdefault("HF_HUB_OFFLINE", "1")
TOKENS = torch.tensor([[5, 6, 7, 8, 9, 10], [11, 12, 13, 14, 3, 3]])
PADDING = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])


def twins(make):
    """The same random model with torch's fused attention and with its own written-out one."""
    fused, eager = (make(kind).eval() for kind in ("sdpa", "eager"))
    eager.load_state_dict(fused.state_dict())
    return fused, eager


def bert(kind):
    config = transformers.BertConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=32,
        attn_implementation=kind,
    )
    return transformers.BertModel(config)


def gpt2(kind):
    config = transformers.GPT2Config(
        vocab_size=50, n_embd=16, n_layer=2, n_head=4, n_positions=32, attn_implementation=kind
    )
    return transformers.GPT2Model(config)


def marian(kind):
    config = transformers.MarianConfig(
        vocab_size=50,
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        pad_token_id=3,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=32,
        decoder_start_token_id=3,
        attn_implementation=kind,
    )
    return transformers.MarianModel(config)


def same_maps(maps, attentions):
    assert len(maps) == len(attentions)
    for layer, (found, expected) in enumerate(zip(maps, attentions, strict=True)):
        assert found.layer == layer
        # a padded query may see nothing of sense; the real ones must agree
        real = PADDING.bool()[:, None, :, None] if expected.shape[2] == 6 else torch.tensor(True)
        torch.testing.assert_close(found.weights * real, expected * real, atol=1e-6, rtol=1e-5)


@torch.no_grad()
def test_bert():
    fused, eager = twins(bert)
    with record(fused) as recording:
        output = fused(TOKENS, attention_mask=PADDING).last_hidden_state
    expected = eager(TOKENS, attention_mask=PADDING, output_attentions=True)
    assert {m.kind for m in recording} == {"self"}
    same_maps(recording.maps, expected.attentions)
    assert torch.equal(output, fused(TOKENS, attention_mask=PADDING).last_hidden_state)
    assert recording[1].module == "encoder.layer.1.attention.self"


@torch.no_grad()
def test_gpt2():
    fused, eager = twins(gpt2)
    with record(fused) as recording:
        output = fused(TOKENS, attention_mask=PADDING).last_hidden_state
    assert {m.kind for m in recording} == {"causal"}
    expected = eager(TOKENS, attention_mask=PADDING, output_attentions=True)
    same_maps(recording.maps, expected.attentions)
    assert torch.equal(output, fused(TOKENS, attention_mask=PADDING).last_hidden_state)
    with record(fused) as unmasked:
        fused(TOKENS)
    same_maps(unmasked.maps, eager(TOKENS, output_attentions=True).attentions)


@torch.no_grad()
def test_marian():
    fused, eager = twins(marian)
    target = torch.tensor([[3, 20, 21, 22], [3, 23, 24, 25]])
    arguments = {"input_ids": TOKENS, "attention_mask": PADDING, "decoder_input_ids": target}
    with record(fused) as recording:
        output = fused(**arguments).last_hidden_state
    expected = eager(**arguments, output_attentions=True)
    same_maps(recording.of("self"), expected.encoder_attentions)
    same_maps(recording.of("causal"), expected.decoder_attentions)
    same_maps(recording.of("cross"), expected.cross_attentions)
    assert torch.equal(output, fused(**arguments).last_hidden_state)
    with record(fused, kinds="cross", layers=[1], heads=[2], rows=[3]) as some:
        fused(**arguments)
    torch.testing.assert_close(some[0].weights, recording.of("cross", 1)[0].weights[:, 2:3, 3:])


@torch.no_grad()
def test_marian_with_source_and_target_of_one_length():
    """Shapes tell nothing here; the modules around the calls do."""
    fused, eager = twins(marian)
    arguments = {"input_ids": TOKENS, "decoder_input_ids": TOKENS}
    with record(fused) as recording:
        fused(**arguments)
    expected = eager(**arguments, output_attentions=True)
    for kind, attentions in (
        ("self", expected.encoder_attentions),
        ("causal", expected.decoder_attentions),
        ("cross", expected.cross_attentions),
    ):
        maps = recording.of(kind)
        assert [m.layer for m in maps] == [0, 1]
        for found, theirs in zip(maps, attentions, strict=True):
            torch.testing.assert_close(found.weights, theirs, atol=1e-6, rtol=1e-5)


@torch.no_grad()
def test_generation_with_a_cache_keeps_kinds_and_positions():
    config = transformers.LlamaConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=32,
        attn_implementation="sdpa",
    )
    model = transformers.LlamaForCausalLM(config).eval()
    with record(model, layers=[1]) as recording:
        model.generate(
            TOKENS[:1], max_new_tokens=3, min_new_tokens=3, do_sample=False, pad_token_id=0
        )
    assert {m.kind for m in recording} == {"causal"}
    assert [m.rows for m in recording] == [(0, 1, 2, 3, 4, 5), (6,), (7,)]
    assert recording[2].weights.shape == (1, 4, 1, 8)


@torch.no_grad()
def test_a_head_of_a_model_that_is_not_ours_can_be_switched_off():
    fused, _ = twins(bert)
    before = fused(TOKENS).last_hidden_state
    with intervene(fused, SwitchOff(heads=1, layer=1, batch=1)):
        during = fused(TOKENS).last_hidden_state
    assert torch.equal(before[0], during[0])
    assert not torch.allclose(before[1], during[1])
    assert torch.equal(before, fused(TOKENS).last_hidden_state)
