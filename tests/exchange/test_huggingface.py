"""`transformers` loads an exported folder and gives the same output; import gives it back."""

import pytest
import torch

from regard.config import SearchOptions
from regard.decoding import search
from regard.exchange.huggingface_export import export_huggingface
from regard.exchange.marian_import import import_marian
from regard.models.batch import source_of
from regard.tasks import load, load_folder
from regard.text import BOS, EOS, MASK, PAD, UNK

TEXTS = ["The cat sleeps.", "A king who sings met the old dog of 1948 — Zoë's!"]
CASES = {
    "default": ("PegasusForConditionalGeneration", {}),
    "two-vocabularies": ("PegasusForConditionalGeneration", {"shared": False}),
    "pre-norm-untied": ("PegasusForConditionalGeneration", {"tied": "none", "activation": "gelu"}),
    "post-norm": ("MarianMTModel", {"norm": "post", "activation": "silu"}),
    "post-norm-two": ("MarianMTModel", {"norm": "post", "shared": False}),
    "post-norm-untied": ("MarianMTModel", {"norm": "post", "tied": "none"}),
}


FEW = ("default", "two-vocabularies", "post-norm")


@pytest.mark.parametrize(
    "case", [c if c in FEW else pytest.param(c, marks=pytest.mark.slow) for c in CASES]
)
def test_transformers_gives_the_same_output(make_model, tmp_path, case):
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    name, settings = CASES[case]
    saved = make_model(**settings)
    proof = export_huggingface(saved, tmp_path / "out", count=4)
    assert proof.more == {"class": name, "tokenized_equal": 4}
    assert proof.greedy_equal == proof.sentences == 4 and proof.max_difference < 1e-4

    own = load(saved.path, threads=1, engine="torch")
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out").eval()
    assert type(model).__name__ == name
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    inputs = tokenizer(TEXTS, return_tensors="pt", padding=True)
    rows = model.generate(**inputs, num_beams=1, max_length=13)
    given = own.translate(TEXTS, beam=1, max_length=12, split=False)
    for row, translation in zip(rows.tolist(), given, strict=True):
        tokens = tuple(token for token in row[1:] if token not in (PAD, EOS))
        assert tokens == translation.sentences[0].hypothesis.tokens
        assert tokenizer.decode(row, skip_special_tokens=True) == translation.text

    # beams without ends: the two searches keep finished outputs differently
    never = [PAD, UNK, BOS, EOS, MASK]
    rows = model.generate(**inputs, num_beams=3, max_length=13, suppress_tokens=never)
    source = source_of([saved.tokenizers.source.encode(text) for text in TEXTS])
    options = SearchOptions(beam=3, max_length=12)
    found = search(saved.network, source, options, suppress_tokens=(UNK, EOS))
    assert [tuple(row[1:]) for row in rows.tolist()] == [ranked[0].tokens for ranked in found]

    import_marian(tmp_path / "out", tmp_path / "back")
    back = load_folder(tmp_path / "back")
    assert back.run.model == saved.run.model and back.run.decoding == saved.run.decoding
    assert back.run.languages == "en-fr" and back.tokenizers.shared == saved.tokenizers.shared
    weights = back.network.state_dict()
    for key, tensor in saved.network.state_dict().items():
        assert torch.equal(tensor, weights[key]), key
    for side in ("source", "target"):
        assert getattr(back.tokenizers, side).model == getattr(saved.tokenizers, side).model
