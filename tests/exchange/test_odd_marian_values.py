"""A MarianMT folder with a value that no setting takes is refused with a sentence."""

import json
import random
import shutil

import pytest

from marian_folders import save_marian
from mutations import ODD, replaced
from regard.cli import main

FILES = ("config.json", "generation_config.json", "tokenizer_config.json", "vocab.json")
KEYS = [
    *("model_type", "d_model", "encoder_layers", "decoder_layers", "encoder_attention_heads"),
    *("encoder_ffn_dim", "decoder_ffn_dim", "max_position_embeddings", "activation_function"),
    *("dropout", "attention_dropout", "activation_dropout", "scale_embedding", "vocab_size"),
    *("decoder_vocab_size", "pad_token_id", "eos_token_id", "decoder_start_token_id"),
    *("num_beams", "length_penalty", "share_encoder_decoder_embeddings", "tie_word_embeddings"),
]


@pytest.fixture(scope="module")
def marian(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd") / "marian"
    save_marian(folder)
    return folder


def check(folder, tmp_path, capsys):
    """Import a folder: it is done, or refused with one sentence."""
    out = tmp_path / "own"
    shutil.rmtree(out, ignore_errors=True)
    code = main(["import", str(folder), "--out", str(out)])
    error = capsys.readouterr().err
    assert code in (0, 2)
    if code == 2:
        assert error.startswith("regard: ") and error.count("\n") == 1 and error.endswith(".\n")
        assert not out.exists()
    return code


def changed(marian, tmp_path, name, content):
    """A copy of the folder with other content of a file."""
    folder = tmp_path / "marian"
    if not folder.exists():
        folder.mkdir()
    for file in marian.iterdir():
        if not (folder / file.name).exists() or file.suffix == ".json":
            shutil.copyfile(file, folder / file.name)
    (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.mark.parametrize("key", KEYS)
def test_settings(marian, tmp_path, capsys, key):
    name = "config.json"
    for stored in ("generation_config.json", "config.json"):
        if key in json.loads((marian / stored).read_text("utf-8")):
            name = stored
            break
    content = json.loads((marian / name).read_text("utf-8"))
    for odd in (*ODD, "gone"):
        other = {**content, key: odd}
        if odd == "gone":
            other.pop(key)
        check(changed(marian, tmp_path, name, other), tmp_path, capsys)


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_ids_and_whole_files(marian, tmp_path, capsys, odd):
    ids = json.loads((marian / "vocab.json").read_text("utf-8"))
    piece = next(iter(ids))
    check(changed(marian, tmp_path, "vocab.json", {**ids, piece: odd}), tmp_path, capsys)
    for name in FILES:
        check(changed(marian, tmp_path, name, odd), tmp_path, capsys)


def test_a_giant_id(marian, tmp_path, capsys):
    ids = json.loads((marian / "vocab.json").read_text("utf-8"))
    for giant in (10**30, 10**9, len(ids)):
        other = {**ids, "</s>": giant}
        assert check(changed(marian, tmp_path, "vocab.json", other), tmp_path, capsys) == 2


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_odd_values(marian, tmp_path, capsys, part):
    rng = random.Random(part)
    for _ in range(100):
        name = rng.choice(FILES)
        content = json.loads((marian / name).read_text("utf-8"))
        check(changed(marian, tmp_path, name, replaced(content, rng)), tmp_path, capsys)
