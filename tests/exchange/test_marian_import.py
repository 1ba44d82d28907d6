"""A MarianMT that `transformers` saved, imported: the same tokens, greedy and beam."""

import json
import shutil

import pytest
import torch

from marian_folders import PAIRS, save_marian
from regard.cli import main
from regard.tasks import load
from regard.text import UNK
from regard.text.tokenizer import load as load_tokenizer

TEXTS = ["The cat sleeps.", "A dog sees the king of the old house.", "Wait, 1948 ½ … ok?"]


@pytest.fixture
def make_marian(tmp_path):
    """A function that saves a MarianMT."""
    return lambda **settings: (tmp_path / "marian", save_marian(tmp_path / "marian", **settings))


CASES = [
    {},
    {"activation_function": "relu", "model_type": "bpe"},
    {"scale_embedding": False},
    {"share_encoder_decoder_embeddings": False},
]


@pytest.mark.parametrize("settings", CASES, ids=str)
def test_tokens_and_texts_are_those_of_transformers(make_marian, tmp_path, settings):
    from transformers import MarianTokenizer

    folder, model = make_marian(**settings)
    assert main(["import", str(folder), "--out", str(tmp_path / "own")]) == 0
    own = load(tmp_path / "own", threads=1, engine="torch")
    assert own.run.languages == "eng-fra"
    tokenizer = MarianTokenizer.from_pretrained(folder)
    texts = [*TEXTS, ">>fra<< The cat sleeps."]
    inputs = tokenizer(texts, return_tensors="pt", padding=True)
    suppressed = [tokenizer.unk_token_id, tokenizer.pad_token_id]  # as our search never writes them
    for beam in (1, 4):
        rows = model.generate(
            **inputs, num_beams=beam, max_length=16, suppress_tokens=suppressed, early_stopping=True
        )
        given = own.translate(texts, beam=beam, max_length=15, split=False)
        for row, translation in zip(rows.tolist(), given, strict=True):
            tokens = [token for token in row[1:] if token not in (0, tokenizer.pad_token_id)]
            named = own.tokenizers.target.pieces(translation.sentences[0].hypothesis.tokens)
            assert named == tokenizer.convert_ids_to_tokens(tokens)
            assert translation.text == tokenizer.decode(row, skip_special_tokens=True)


def test_log_probabilities_are_those_of_transformers(make_marian, tmp_path):
    """The special tokens that only we have take no probability."""
    folder, model = make_marian()
    main(["import", str(folder), "--out", str(tmp_path / "own")])
    own = load(tmp_path / "own", threads=1, engine="torch")
    (sentence,) = own.translate(TEXTS[0], beam=1, max_length=10).sentences
    theirs = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    source = [theirs[piece] for piece in sentence.source_tokens]
    target = [theirs[piece] for piece in sentence.tokens]
    with torch.no_grad():
        logits = model(
            input_ids=torch.tensor([[*source, 0]]),
            decoder_input_ids=torch.tensor([[theirs["<pad>"], *target]]),
        ).logits[0]
    expected = logits.log_softmax(-1)[range(len(target)), target]
    found = torch.tensor(sentence.hypothesis.token_log_probabilities[: len(target)])
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_weights_of_a_torch_checkpoint_are_read(make_marian, tmp_path):
    folder, model = make_marian()
    (folder / "model.safetensors").unlink()
    weights = {name: tensor.half() for name, tensor in model.state_dict().items()}
    torch.save(weights, folder / "pytorch_model.bin")
    words = ["import", str(folder), "--languages", "en-fr", "--out", str(tmp_path / "own")]
    assert main(words) == 0
    assert load(tmp_path / "own", threads=1, engine="torch").run.languages == "en-fr"


def test_an_imported_model_is_a_model(make_marian, tmp_path, capsys):
    """It is shown, aligned, inspected, exported and imported again."""
    folder, _ = make_marian()
    own = str(tmp_path / "own")
    assert main(["import", str(folder), "--out", own]) == 0
    assert main(["info", own]) == 0
    assert "imported from marian" in capsys.readouterr().out
    assert main(["translate", "--model", own, "--align", TEXTS[0]]) == 0
    page = str(tmp_path / "page.html")
    assert main(["inspect", TEXTS[0], "--model", own, "--out", page, "--threads", "1"]) == 0
    again, few = str(tmp_path / "again"), ("--json", "--sentences", "4")
    assert main(["export", "--model", own, "--to", "huggingface", "--out", again, *few]) == 0
    proof = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert proof["class"] == "MarianMTModel" and proof["greedy_equal"] == proof["sentences"]
    assert main(["import", again, "--out", str(tmp_path / "third")]) == 0
    first, second = (
        load(path, threads=1, engine="torch").translate(TEXTS, max_length=12)
        for path in (own, tmp_path / "third")
    )
    assert [t.text for t in first] == [t.text for t in second]


def test_training_from_an_imported_model_begins_at_its_loss(make_marian, tmp_path):
    """The smoothed loss of the first update is that of `transformers`."""
    folder, model = make_marian(dropout=0.0)
    main(["import", str(folder), "--out", str(tmp_path / "own")])
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS[:20]), "utf-8")
    own = load(tmp_path / "own", threads=1, engine="torch")
    theirs = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    total, count = 0.0, 0
    for sides in PAIRS[:20]:
        source, target = (
            [theirs[piece] for piece in side.pieces(side.encode(text))]
            for side, text in zip(
                (own.tokenizers.source, own.tokenizers.target), sides, strict=True
            )
        )
        with torch.no_grad():
            logits = model(
                input_ids=torch.tensor([[*source, 0]]),
                decoder_input_ids=torch.tensor([[theirs["<pad>"], *target]]),
            ).logits[0]
        labels = torch.tensor([*target, 0])
        smoothed = {"label_smoothing": 0.1, "reduction": "sum"}
        total += float(torch.nn.functional.cross_entropy(logits, labels, **smoothed))
        count += len(labels)
    words = ["train", pairs, "--dev", pairs, "--from", tmp_path / "own", "--out", tmp_path / "new"]
    flags = ["--training.steps", "1", "--training.precision", "fp32", "--model.dropout", "0"]
    assert main([str(word) for word in (*words, *flags)]) == 0
    lines = (tmp_path / "new" / "metrics.jsonl").read_text("utf-8").splitlines()
    (loss,) = (figures["loss"] for figures in map(json.loads, lines) if "loss" in figures)
    assert loss == pytest.approx(total / count, rel=1e-4)


def test_the_tokenizer_reads_and_writes(make_marian, tmp_path):
    folder, _ = make_marian()
    main(["import", str(folder), "--out", str(tmp_path / "own")])
    tokenizer = load_tokenizer(tmp_path / "own" / "tokenizer.source.json")
    text = "The cat  sleeps."
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == "The cat sleeps."
    spans = tokenizer.spans(text, ids)
    assert "".join("The cat sleeps."[a:b].strip() for a, b in spans) == "Thecatsleeps."
    assert tokenizer.encode(">>fra<< The cat")[1:] == tokenizer.encode("The cat")
    assert tokenizer.spans(">>fra<< The cat")[0] == (0, 7)
    assert UNK in tokenizer.encode("猫") and "⁇" in tokenizer.decode([*ids, UNK, *ids])


def damage(folder, what):
    config = json.loads((folder / "config.json").read_text())
    match what:
        case "no config":
            (folder / "config.json").unlink()
        case "another model":
            (folder / "config.json").write_text(json.dumps({**config, "model_type": "bert"}))
        case "activation":
            (folder / "config.json").write_text(
                json.dumps({**config, "activation_function": "quick_gelu"})
            )
        case "size":
            (folder / "config.json").write_text(json.dumps({**config, "d_model": 18}))
        case "no weights":
            (folder / "model.safetensors").unlink()
        case "broken weights":
            (folder / "model.safetensors").write_bytes(b"\x08")
        case "a pickle that calls":
            (folder / "model.safetensors").unlink()
            (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
        case "no spm":
            (folder / "source.spm").unlink()
        case "broken spm":
            (folder / "target.spm").write_bytes(b"nothing")
        case "vocabulary":
            (folder / "vocab.json").write_text('{"a": 0}')


DAMAGES = [
    "no config",
    "another model",
    "activation",
    "size",
    "no weights",
    "broken weights",
    "a pickle that calls",
    "no spm",
    "broken spm",
    "vocabulary",
]


def test_a_damaged_folder_is_one_sentence(make_marian, tmp_path, capsys):
    whole, _ = make_marian()
    for what in DAMAGES:
        folder = tmp_path / what
        shutil.copytree(whole, folder)
        damage(folder, what)
        capsys.readouterr()
        assert main(["import", str(folder), "--out", str(tmp_path / "own")]) == 2, what
        error = capsys.readouterr().err
        assert error.startswith("regard: ") and error.count("\n") == 1, (what, error)
        assert not (tmp_path / "own").exists()
