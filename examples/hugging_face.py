"""The attention of a Hugging Face model: recorded as it runs, and shown on one HTML page.

`record` sees the attention of any torch model, whatever kernel computes it, and does not change
the result. The models here are tiny and untrained, so that nothing is downloaded; with your own,
give a folder or a name that `AutoModel.from_pretrained` knows.

    pip install 'regard[exchange]'
    python examples/hugging_face.py [--model FOLDER] [--out attention.html]
"""

import argparse
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel, GPT2Config, GPT2Model

import regard
from regard.attention import record

TEXT = "The animal didn't cross the street because it was too tired ."


def tiny(kind: str, vocab_size: int) -> Any:
    """An untrained model of two layers with four heads."""
    torch.manual_seed(0)
    if kind == "bert":
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
        return BertModel(BertConfig(vocab_size=vocab_size, intermediate_size=64, **sizes))
    ends = {"bos_token_id": None, "eos_token_id": None}
    return GPT2Model(GPT2Config(vocab_size=vocab_size, n_embd=32, n_layer=2, n_head=4, **ends))


def look(name: str, model: Any, ids: torch.Tensor, tokens: list[str], out: Path) -> dict[str, Any]:
    """Record one forward pass, print a summary of each layer and write the page."""
    model.eval()
    with torch.no_grad():
        plain = model(ids).last_hidden_state
        with record(model) as recording:
            watched = model(ids).last_hidden_state
    for number, layer in enumerate(recording):
        weights = layer.weights[0]  # (heads, queries, keys)
        entropy = -(weights * weights.clamp(min=1e-12).log()).sum(-1).mean(-1)
        listed = " ".join(f"{value:.2f}" for value in entropy)
        print(f"{name}, layer {number}: mean entropy of each head's rows, in nats: {listed}")
    regard.views.show(recording, tokens, title=name).save(out)
    print(
        f"{name}: recording {'did not change' if torch.equal(plain, watched) else 'changed'} "
        f"the result; {out}"
    )
    return {"layers": len(recording), "same": torch.equal(plain, watched), "map": weights}


def main(model: str | None = None, out: Path = Path("attention.html")) -> dict[str, dict[str, Any]]:
    """Look into a model of yours, or into a tiny BERT and a tiny GPT-2."""
    if model:
        tokenizer = AutoTokenizer.from_pretrained(model)
        ids = tokenizer(TEXT, return_tensors="pt")["input_ids"]
        tokens = tokenizer.convert_ids_to_tokens(ids[0])
        return {model: look(model, AutoModel.from_pretrained(model), ids, tokens, out)}
    tokens = TEXT.split()
    words = sorted(set(tokens))
    ids = torch.tensor([[words.index(token) for token in tokens]])
    return {
        kind: look(kind, tiny(kind, len(words)), ids, tokens, out.with_name(f"{kind}-{out.name}"))
        for kind in ("bert", "gpt2")
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", help="folder or name of a model of yours")
    parser.add_argument("--out", type=Path, default=Path("attention.html"), help="the page")
    main(**vars(parser.parse_args()))
