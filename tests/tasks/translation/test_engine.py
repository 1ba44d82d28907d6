"""The engines: CTranslate2 wherever it can, torch for the rest, with the same translations."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

import regard
from regard.cli import main
from regard.config import AlignmentSettings, Run, SearchOptions, TransformerSettings
from regard.decoding import Hypothesis, TorchEngine
from regard.decoding.ctranslate2_folder import open_engine
from regard.errors import InputError
from regard.exchange.ctranslate2_converter import convert
from regard.exchange.requirements import ctranslate2_obstacle
from regard.folder import load_weights, save_weights
from regard.models.batch import batch_of, source_of
from regard.storage import atomic_folder
from regard.tasks import build, load_folder
from trained import taught, trained

FRENCH = taught("en-fr")
SOURCES = [source for source, _ in FRENCH]
TARGETS = [target for _, target in FRENCH]
SMALL = TransformerSettings(
    dim=32, num_heads=4, ff=48, num_encoder_layers=2, num_decoder_layers=2, max_length=40
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy, as conversions are written into it."""
    copy = tmp_path_factory.mktemp("engine") / "model"
    shutil.copytree(trained("en-fr", tmp_path_factory), copy)
    shutil.rmtree(copy / "engine", ignore_errors=True)
    return copy


@pytest.fixture(scope="module")
def models(folder):
    return regard.load(folder, threads=2), regard.load(folder, threads=2, engine="torch")


@pytest.mark.parametrize(
    "settings",
    [
        SMALL,
        replace(SMALL, norm="post", activation="gelu", tied="none"),
        replace(SMALL, positions="learned", tied="output", activation="silu"),
        replace(SMALL, positions="none", num_decoder_layers=1),
        replace(SMALL, max_length=12),  # as long as the longest translation
    ],
)
@pytest.mark.parametrize("alignment", [None, AlignmentSettings(0, 2), AlignmentSettings(0, None)])
def test_a_converted_model_gives_the_same_tokens_scores_and_attention(
    settings, alignment, folder, tmp_path
):
    """Of random weights, whose log-probabilities are close to each other."""
    tokenizers = load_folder(folder).tokenizers
    torch.manual_seed(3)
    network = build(settings, len(tokenizers.source), len(tokenizers.target)).eval()
    for parameter in network.parameters():  # biases and norms are trivial at first
        parameter.data += 0.1 * torch.randn_like(parameter)
    run = Run(languages="en-fr", model=settings, alignment=alignment)
    convert(network, run, tokenizers, tmp_path / "converted")
    engine = open_engine(
        tmp_path / "converted",
        tokenizers.source,
        tokenizers.target,
        max_length=settings.max_length,
    )
    ids = [tokenizers.source.encode(source)[:11] for source in SOURCES]
    for beam, kept in ((1, True), (1, False), (3, True), (3, False)):
        options = SearchOptions(beam=beam, max_length=12)
        found = dict(engine.results(ids, options, attention=kept))
        results = [found[row] for row in range(len(ids))]
        expected_results = dict(TorchEngine(network, network, source_of).results(ids, options))
        best = dict(engine.explain(ids, [result[0] for result in results], options))
        for row in range(len(ids)):
            expected, (hypothesis, given) = expected_results[row][0], best[row]
            assert type(hypothesis) is Hypothesis  # which can be pickled
            if hypothesis.tokens != expected.tokens:  # searches differ in when they stop
                assert beam > 1
                continue
            assert hypothesis.finished == expected.finished
            assert hypothesis.token_log_probabilities[:11] == pytest.approx(
                expected.token_log_probabilities[:11], abs=1e-3
            )
            is_full = len(expected.tokens) == settings.max_length  # the last is an estimate then
            assert hypothesis.score == pytest.approx(expected.score, abs=0.1 if is_full else 1e-4)
            maps = network.maps(batch_of([ids[row]], [hypothesis.tokens]))
            chosen = alignment or AlignmentSettings(settings.num_decoder_layers - 1)
            (weights,) = (
                m.weights[0] for m in maps if (m.kind, m.layer) == ("cross", chosen.layer)
            )
            plane = weights.mean(0) if chosen.head is None else weights[chosen.head]
            attention = torch.tensor(given)
            torch.testing.assert_close(attention, plane[: len(attention)], atol=1e-5, rtol=0)


def test_both_engines_translate_alike(models):
    fast, own = models
    assert fast.engine.engine is not None and own.engine.engine is None
    for options in ({}, {"beam": 1}, {"attention": True}, {"deterministic": True}):
        for ours, theirs, target in zip(
            fast.translate(SOURCES, **options),
            own.translate(SOURCES, **options),
            TARGETS,
            strict=True,
        ):
            assert ours.text == theirs.text == target
            (one,), (other,) = ours.sentences, theirs.sentences
            assert (one.words, one.alignment) == (other.words, other.alignment)
            assert one.confidence == pytest.approx(other.confidence, abs=1e-3)
            assert one.score == pytest.approx(other.score, abs=1e-3)
            assert len(one.attention) == len(other.attention)


@pytest.mark.parametrize("engine", ["auto", "torch"])
def test_a_deterministic_translation_does_not_depend_on_its_batch(engine, folder):
    model = regard.load(folder, threads=2, engine=engine)
    texts = (SOURCES * 5)[:64]

    def scores(size):
        options = {"deterministic": True, "beam": 2, "alignment": engine == "auto"}
        return [
            (sentence.text, sentence.score, sentence.confidence)
            for start in range(0, len(texts), size)
            for translation in model.translate(texts[start : start + size], **options)
            for sentence in translation.sentences
        ]

    assert scores(1) == scores(7) == scores(64)


def test_what_ctranslate2_lacks_goes_to_our_own_engine(models):
    fast, own = models
    for options in (
        {"prefix": TARGETS[0].split()[0]},
        {"sample": True, "seed": 4, "n_best": 2},
        {"edits": [regard.attention.SwitchOff(kind="cross", layer=0, heads=[0])]},
    ):
        first, second = (model.translate(SOURCES[0], **options) for model in (fast, own))
        assert first.text == second.text
        assert first.sentences[0].score == second.sentences[0].score


def test_a_conversion_is_made_once_and_again_when_files_change_or_break(folder):
    proof = folder / "engine" / "engine.json"
    regard.load(folder).prepare_engine()
    noted = json.loads(proof.read_text())
    assert noted["check"]["compared"] > 0
    assert noted["check"]["log_difference"] < 1e-3
    made = proof.stat().st_mtime_ns
    regard.load(folder).prepare_engine()
    assert proof.stat().st_mtime_ns == made
    for name in ("engine/fp32/model.bin", "engine/engine.json", "engine/int8/config.json"):
        path = folder / name
        path.write_bytes(path.read_bytes()[:-9] + b"123456789")
        assert regard.load(folder).translate(SOURCES[0]).text == TARGETS[0]
        assert json.loads(proof.read_text())["check"] == noted["check"]


@pytest.fixture
def forged(folder, tmp_path, monkeypatch):
    """A model with the engine of another, and a proof that says that it is its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    other, copy = tmp_path / "other", tmp_path / "model"
    for path in (other, copy):
        shutil.copytree(folder, path, ignore=shutil.ignore_patterns("engine", "checkpoints"))
    weights = load_weights(other / "model.safetensors")
    for name in ("target.vectors.weight", "output.weight", "source.vectors.weight"):
        if name in weights:  # the words with the ids from 5 on, in another order
            weights[name] = torch.cat([weights[name][:5], weights[name][5:].flip(0)])
    save_weights(other / "model.safetensors", weights)
    for path in (copy, other):
        assert regard.load(path).prepare_engine().engine
    proofs = [json.loads((path / "engine" / "engine.json").read_text()) for path in (other, copy)]
    shutil.rmtree(copy / "engine")
    shutil.copytree(other / "engine", copy / "engine")
    (copy / "engine" / "engine.json").write_text(
        json.dumps(proofs[0] | {"model": proofs[1]["model"]})
    )
    return copy, proofs[1]


@pytest.mark.parametrize("cache", ["empty", "known", "not writable"])
def test_an_engine_of_other_weights_is_not_believed(forged, cache, tmp_path, monkeypatch):
    copy, own = forged
    if cache == "empty":
        shutil.rmtree(tmp_path / "cache")
    elif cache == "not writable":
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    for _ in range(2):
        model = regard.load(copy)
        assert model.translate(SOURCES[0]).text == TARGETS[0]
        assert model.engine.engine is not None
    assert json.loads((copy / "engine" / "engine.json").read_text()) == own


def test_a_file_more_in_an_engine_is_noticed(folder, tmp_path):
    """CTranslate2 would read a map of the vocabulary, for one."""
    copy = tmp_path / "model"
    shutil.copytree(folder, copy)
    regard.load(copy).prepare_engine()
    precision = regard.load(copy).prepare_engine().engine.precision
    (copy / "engine" / precision / "vmap.txt").write_text("")
    assert regard.load(copy).translate(SOURCES[0]).text == TARGETS[0]
    assert not (copy / "engine" / precision / "vmap.txt").exists()


def test_an_engine_that_was_made_elsewhere_is_compared_once(folder, tmp_path, monkeypatch):
    regard.load(folder).prepare_engine()
    proof = folder / "engine" / "engine.json"
    made = proof.stat().st_mtime_ns
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert regard.load(folder).prepare_engine().check.compared > 0
    (note,) = (tmp_path / "cache" / "regard" / "engines" / "verified").iterdir()
    noted = note.stat().st_mtime_ns
    assert regard.load(folder).prepare_engine().engine
    assert (proof.stat().st_mtime_ns, note.stat().st_mtime_ns) == (made, noted)


def test_while_another_process_converts_a_model(folder, tmp_path):
    copy = tmp_path / "model"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("engine"))
    with atomic_folder(copy / "engine", replace=True):
        model = regard.load(copy)
        assert model.translate(SOURCES[0]).text == TARGETS[0]
        assert model.engine.engine is not None


def test_weights_that_are_replaced_before_they_are_read(folder, tmp_path):
    copy = tmp_path / "model"
    shutil.copytree(folder, copy)
    regard.load(copy).prepare_engine()
    models = [regard.load(copy), regard.load(copy), regard.load(copy, hold=True)]
    shutil.copyfile(folder / "model.safetensors", copy / "new")
    (copy / "new").replace(copy / "model.safetensors")
    same, other, held = models
    assert same.translate(SOURCES[0], attention=True).attention  # another file, the same weights
    weights = load_weights(copy / "model.safetensors")
    save_weights(copy / "model.safetensors", {name: w + 0.5 for name, w in weights.items()})
    with pytest.raises(InputError, match="the model was changed since it was opened; open it"):
        other.translate(SOURCES[0], attention=True)
    assert held.translate(SOURCES[0], attention=True).attention


def test_int8_is_kept_only_where_it_was_measured(folder):
    """The development set of this model has too few sentences."""
    assert regard.load(folder).prepare_engine().engine.precision == "fp32"
    asked = regard.load(folder, engine="ctranslate2", precision="int8")
    assert asked.engine.engine.precision == "int8"


def test_names_that_are_not_known_and_models_that_cannot_be_converted(folder, tmp_path_factory):
    with pytest.raises(InputError, match="engine must be auto, ctranslate2, torch, got 'x'"):
        regard.load(folder, engine="x")
    with pytest.raises(InputError, match="precision must be auto, int8, fp32, got 'x'"):
        regard.load(folder, precision="x")
    with pytest.raises(InputError, match="int8 is CTranslate2's"):
        regard.load(folder, engine="torch", precision="int8")
    recurrent = trained("rnn", tmp_path_factory)
    assert "model.kind rnn" in regard.load(recurrent).prepare_engine().reason
    with pytest.raises(InputError, match=r"cannot run a model with model\.kind rnn"):
        regard.load(recurrent, engine="ctranslate2")
    for change in ({"positions": "rotary"}, {"normalizer": "sparsemax"}, {"activation": "elu"}):
        (setting,) = change
        assert f"model.{setting}" in ctranslate2_obstacle(Run(model=replace(SMALL, **change)))


def test_a_converted_model_translates_without_torch(folder):
    """Its links too; the network is built when something else is asked for."""
    regard.load(folder).prepare_engine()
    script = """
import sys
import regard
model = regard.load(sys.argv[1])
done = model.translate(sys.argv[2])
print(done.text, len(done.alignment) > 0, "torch" in sys.modules)
print(len(model.translate(sys.argv[2], attention=True).attention) > 0, "torch" in sys.modules)
"""
    words = [sys.executable, "-c", script, str(folder), SOURCES[0]]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert printed == f"{TARGETS[0]} True False\nTrue True\n"


def test_damaged_weights_are_an_error_when_they_are_loaded(folder, tmp_path):
    for converted in (True, False):
        copy = tmp_path / f"converted-{converted}"
        shutil.copytree(folder, copy)
        if not converted:
            shutil.rmtree(copy / "engine")
        path = copy / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(InputError, match="the weights cannot be read"):
            regard.load(copy)


def test_on_the_command_line(folder, capsys):
    for engine in ("auto", "torch", "ctranslate2"):
        words = ["translate", SOURCES[0], "--model", str(folder), "--engine", engine]
        assert main(words) == 0
        assert capsys.readouterr().out.strip() == TARGETS[0]
    assert main(["info", str(folder)]) == 0
    assert "CTranslate2 in fp32" in " ".join(capsys.readouterr().out.split())
