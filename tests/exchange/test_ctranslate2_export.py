"""A folder that CTranslate2 itself loads, with tokenizers and proof."""

import copy
import json
from dataclasses import replace

import ctranslate2
import torch

from regard.cli import main
from regard.exchange import ctranslate2_export
from regard.exchange.ctranslate2_converter import convert
from regard.folder import save_run
from regard.tasks import load
from regard.text.tokenizer import load as load_tokenizer


def test_ctranslate2_gives_the_same_output(make_model, tmp_path, capsys):
    saved = make_model(norm="post", positions="learned", shared=False)
    out = tmp_path / "out"
    words = ["export", "--model", saved.path, "--to", "ctranslate2", "--out", out, "--json"]
    assert main([*map(str, words), "--sentences", "6", "--threads", "1"]) == 0
    proof = json.loads(capsys.readouterr().out)
    kept = json.loads((out / "export.json").read_text("utf-8"))
    assert kept["proof"] == proof and proof["greedy_equal"] == 6
    assert proof["compared"] == "log-probabilities" and proof["max_difference"] < 1e-3

    source, target = (
        load_tokenizer(out / f"tokenizer.{side}.model") for side in ("source", "target")
    )
    pieces = source.pieces(source.encode("The cat sleeps."))
    (result,) = ctranslate2.Translator(str(out)).translate_batch(
        [[*pieces, "</s>"]],
        beam_size=1,
        max_decoding_length=12,
        suppress_sequences=[[token] for token in kept["never_generated"]],
    )
    own = load(saved.path, threads=1, engine="torch")
    (sentence,) = own.translate("The cat sleeps.", beam=1, max_length=12).sentences
    assert target.pieces(sentence.hypothesis.tokens) == result.hypotheses[0]


def test_the_proof_says_why_a_beam_has_other_outputs(make_model, tmp_path, capsys):
    """With drawn weights; without a length penalty, which ends the searches apart, none has."""
    saved = make_model(norm="post")
    for name, penalty in (("apart", 1.0), ("alike", 0.0)):
        run = replace(saved.run, decoding=replace(saved.run.decoding, length_penalty=penalty))
        save_run(saved.path, run)
        out = tmp_path / name
        words = ["export", "--model", saved.path, "--to", "ctranslate2", "--out", out]
        assert main([*map(str, words), "--sentences", "16", "--threads", "1"]) == 0
        proof = json.loads((out / "export.json").read_text("utf-8"))["proof"]
        assert proof["greedy_equal"] == 16
        assert (proof["beam_equal"] == 16) == (name == "alike")
        assert ("ended the search at another moment" in capsys.readouterr().out) == (
            name == "apart"
        )


def test_other_log_probabilities_are_no_proof(make_model, tmp_path, monkeypatch, capsys):
    """What CTranslate2 computes is compared, not the model with itself."""
    saved = make_model()

    def convert_another(network, *arguments, **options):
        other = copy.deepcopy(network)
        with torch.no_grad():
            other.output.bias.add_(torch.randn_like(other.output.bias))
        convert(other, *arguments, **options)

    monkeypatch.setattr(ctranslate2_export, "convert", convert_another)
    words = ["export", "--model", saved.path, "--to", "ctranslate2", "--out", tmp_path / "out"]
    assert main([*map(str, words), "--sentences", "3", "--threads", "1"]) == 2
    assert "computes other log-probabilities" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_int8_is_smaller(make_model, tmp_path, capsys):
    saved = make_model()
    sizes = {}
    for precision in ("fp32", "int8"):
        out = tmp_path / precision
        words = ["export", "--model", saved.path, "--to", "ctranslate2", "--out", out]
        words += ["--precision", precision, "--sentences", "3", "--threads", "1"]
        assert main(list(map(str, words))) == 0
        sizes[precision] = (out / "model.bin").stat().st_size
    assert sizes["int8"] < 0.7 * sizes["fp32"]
    words = ["export", "--model", saved.path, "--to", "onnx", "--out", tmp_path / "o"]
    assert main([*map(str, words), "--precision", "int8"]) == 2
