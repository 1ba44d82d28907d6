"""Settings: presets, YAML, flags, what is wrong with them, and the way to disk and back."""

from dataclasses import fields, replace

import pytest
import torch
import yaml

from regard.config import (
    AlignmentSettings,
    LanguageModelSettings,
    MaskedLanguageModelSettings,
    RnnSettings,
    Run,
    SearchOptions,
    TrainingSettings,
    TransformerSettings,
)
from regard.config.schema import options_of
from regard.config.settings import (
    PRESETS,
    SECTIONS,
    coerce,
    merged,
    plain,
    preset,
    read_settings,
    run_from,
)
from regard.errors import InputError
from regard.folder import save_run
from regard.tasks import KINDS, build, load_run

END = {"training": {"epochs": 1}}


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_preset_is_valid_and_builds(name, kind):
    run = run_from(preset(name, KINDS[kind]), KINDS, name)
    assert run.model.kind == kind
    with torch.device("meta"):
        network = build(run.model, 1000, 1000)
    assert sum(parameter.numel() for parameter in network.parameters()) > 100_000


def test_presets_grow():
    for kind in KINDS.values():
        sizes = [preset(name, kind)["model"]["dim"] for name in PRESETS]
        assert sizes == sorted(set(sizes))


def test_a_preset_that_is_not_there():
    with pytest.raises(InputError, match="preset must be tiny, small, base, got 'huge'"):
        preset("huge", KINDS["lm"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"modle": {}}, "there is no section 'modle'; there are alignment"),
        ({"model": {"kind": "nonsense"}}, "model.kind must be transformer, rnn, lm, mlm, .*, got"),
        ({"model": {"width": 3}}, "there is no model.width; there are kind, dim"),
        (
            {"model": {"kind": "lm", "num_encoder_layers": 3}},
            "there is no model.num_encoder_layers",
        ),
        ({"model": {"dim": "wide"}}, "model.dim must be int, got 'wide'"),
        ({"model": {"dim": 3.5}}, "model.dim must be int, got 3.5"),
        ({"model": {"dim": True}}, "model.dim must be int, got True"),
        ({"model": {"norm": "mid"}}, "model.norm must be pre, post, got 'mid'"),
        (
            {"model": {"num_heads": 3}},
            r"model.dim must be a multiple of 3 \(num_heads\), got 512",
        ),
        ({"model": {"num_heads": 0}}, "model.num_heads must be at least 1, got 0"),
        ({"model": {"dropout": 1.0}}, "model.dropout must be from 0 to below 1, got 1.0"),
        ({"model": {"dim": 36, "num_heads": 4, "positions": "rotary"}}, "a multiple of 8"),
        ({"model": {"kind": "rnn", "dim": 7}}, "model.dim must be a multiple of 2"),
        ({"model": [1, 2]}, "model is a section|dictionary|values"),
        ({"text": {"vocab_size": 3}}, "text.vocab_size must be at least 6, got 3"),
        ({"text": 3}, "text is a section with values, got 3"),
        ({"training": {}}, "training has no end: set --minutes"),
        ({"training": {"steps": 0}}, "training.steps must be at least 1, got 0"),
        (
            {"training": {"epochs": float("nan")}},
            "training.epochs must be a finite number, got nan",
        ),
        ({"training": {"epochs": 1, "clip": -1}}, "training.clip must be at least 0, got -1"),
        ({"decoding": {"beam": 0}}, "decoding.beam must be at least 1, got 0"),
        ({"languages": "english to french"}, "languages must be two codes as in en-fr"),
        ({"languages": False}, "languages must be codes as in en-fr, got False"),
        ({"alignment": {"row": 1}}, "there is no alignment.row"),
    ],
)
def test_what_is_wrong_is_one_sentence(settings, message):
    with pytest.raises(InputError, match=message) as error:
        run_from(
            merged(END, settings) if "training" not in settings else settings, KINDS, "run.yaml"
        )
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", [*(kind.settings for kind in KINDS.values()), *SECTIONS.values()])
def test_every_unknown_key_and_wrong_type_is_said(kind):
    section = getattr(kind, "SECTION", "cleaning" if kind is SECTIONS["cleaning"] else "model")
    base = {"kind": kind().kind} if section == "model" else {}
    base |= {"epochs": 1} if section == "training" else {}
    for field in fields(kind):
        if field.name == "kind":
            continue
        wrong = [1] if "str" in str(field.type) else "certainly not"
        with pytest.raises(InputError, match=rf"{section}\.{field.name} must be"):
            run_from({**END, section: {**base, field.name: wrong}}, KINDS)
    with pytest.raises(InputError, match=rf"there is no {section}\.nonsense"):
        run_from({**END, section: {**base, "nonsense": 1}}, KINDS)


def test_every_option_has_its_help():
    """A field's docstring is the flag's help: there must be one."""
    for kind in (*(kind.settings for kind in KINDS.values()), *SECTIONS.values()):
        assert [name for name, option in options_of(kind).items() if not option.help] == []


def test_numbers_as_people_write_them():
    assert coerce(3, float, "x") == 3.0
    assert coerce("1e-3", float, "x") == 0.001
    assert coerce("5E4", float | None, "x") == 50000.0
    assert coerce(None, float | None, "x") is None
    for wrong in ("fast", "nan", "1e", True, [1]):
        with pytest.raises(InputError):
            coerce(wrong, float, "x")


RUNS = [
    Run("en-fr", TransformerSettings(), alignment=AlignmentSettings(2, 3, True, False)),
    Run(
        "zh_Hant-en",
        RnnSettings(cell="lstm", attention="luong"),
        alignment=AlignmentSettings(0, None),
    ),
    Run(
        "no",
        LanguageModelSettings(dim=64),
        training=TrainingSettings(minutes=2.5, learning_rate=1e-5),
    ),
    Run(
        "", MaskedLanguageModelSettings(mask_rate=0.4), decoding=SearchOptions(beam=2, max_length=7)
    ),
]


@pytest.mark.parametrize("run", RUNS)
def test_config_yaml_and_back(run, tmp_path):
    save_run(tmp_path, run)
    assert load_run(tmp_path) == run
    assert run_from(plain(run), KINDS) == run
    text = (tmp_path / "config.yaml").read_text("utf-8")
    assert yaml.safe_load(text)["format_version"] == 2


def test_formats_that_are_not_known(tmp_path):
    with pytest.raises(InputError, match=r"there is no config\.yaml in it"):
        load_run(tmp_path)
    save_run(tmp_path, RUNS[0])
    path = tmp_path / "config.yaml"
    text = path.read_text("utf-8")
    path.write_text(text.replace("format_version: 2", "format_version: 3"), "utf-8")
    with pytest.raises(InputError, match=r"format_version 3 is newer than 2.*install a newer"):
        load_run(tmp_path)
    path.write_text(text.replace("format_version: 2", "format_version: one"), "utf-8")
    with pytest.raises(InputError, match="format_version must be a whole number, got 'one'"):
        load_run(tmp_path)
    path.write_text(text.replace("format_version: 2\n", ""), "utf-8")
    with pytest.raises(InputError, match="format_version must be a whole number, got None"):
        load_run(tmp_path)


def test_yaml_that_cannot_be_read(tmp_path):
    path = tmp_path / "run.yaml"
    with pytest.raises(InputError, match="the settings cannot be read"):
        read_settings(path)
    for text, message in (
        (b"a: [1", "this is not YAML"),
        (b"\xff\xfe", "this is not YAML"),
        (b"- 1\n", "settings are sections"),
        (b"", "settings are sections"),
        (b"model: transformer\n", "model is a section with values, got 'transformer'"),
    ):
        path.write_bytes(text)
        with pytest.raises(InputError, match=message):
            read_settings(path)
    path.write_text("model:\ntraining: {epochs: 1}\n")
    assert run_from(read_settings(path), KINDS).training == replace(TrainingSettings(epochs=1.0))


def test_later_settings_win_section_by_section():
    base = {"model": {"dim": 8, "num_heads": 2}, "languages": "en-fr"}
    over = {"model": {"dim": 16}, "text": {"unit": "char"}}
    found = merged(base, over)
    assert found == {
        "model": {"dim": 16, "num_heads": 2},
        "languages": "en-fr",
        "text": {"unit": "char"},
    }
    assert base["model"]["dim"] == 8
