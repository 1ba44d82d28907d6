"""A mechanism and its options as flags, in settings files and in the help."""

import pytest
import yaml

from regard.cli.train import parse
from regard.cli.train_help import full_help
from regard.config import LanguageModelSettings, Run, TransformerSettings
from regard.config.mechanisms import (
    MECHANISM_SETTINGS,
    FullSettings,
    LocalSettings,
    PerformerSettings,
    SparseSettings,
)
from regard.config.schema import options_of
from regard.config.settings import merged, plain, preset, resolved, run_from
from regard.errors import InputError
from regard.tasks import KINDS

CORPUS = ["pairs.tsv", "--out", "model", "--minutes", "1"]


def model_of(*flags):
    given = parse([*CORPUS, *flags]).given
    return resolved(given, "tiny", KINDS).model


def test_flags():
    chosen = model_of("--model.attention", "local", "--model.attention.window", "32")
    assert chosen.mechanisms == (LocalSettings(window=32),)
    assert model_of("--model.attention.window", "32", "--model.attention", "local") == chosen
    both = model_of(
        "--model.attention=sparse",
        "--model.attention.pattern=fixed",
        "--model.decoder_attention",
        "local",
        "--model.decoder_attention.dilation",
        "2",
    )
    assert both.mechanisms == (SparseSettings("fixed"), LocalSettings(dilation=2))
    assert model_of("--model.decoder_attention", "same").decoder_attention == "same"
    assert model_of("--model.kind", "rnn", "--model.attention", "luong").attention == "luong"


def test_flags_change_a_settings_file(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("model: {attention: {name: local, window: 8, dilation: 2}}", "utf-8")
    file = ["--config", str(path)]
    assert model_of(*file).attention == LocalSettings(8, dilation=2)
    assert model_of(*file, "--model.attention.window", "4").attention == LocalSettings(
        4, dilation=2
    )
    assert model_of(*file, "--model.attention", "performer").attention == PerformerSettings()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--model.attention", "lokal"], "model.attention must be full, local, .* got 'lokal'"),
        (["--model.attention", "luong"], "belongs to --model.kind rnn"),
        (["--model.kind", "rnn", "--model.attention", "local"], "--model.kind transformer"),
        (["--model.attention.window", "8"], "full has no setting 'window'.* belongs to local"),
        (["--model.window", "8"], "give --model.attention local --model.attention.window"),
        (["--model.attention.wide", "8"], "there is no --model.attention.wide"),
        (["--model.attention", "local", "--model.attention.window", "x"], "window must be int"),
        (["--model.attention", "sparse", "--model.attention.pattern", "x"], "strided, fixed"),
        (["--model.decoder_attention", "linformer"], "decoder_attention must be same, full"),
    ],
)
def test_flags_that_do_not_fit_are_told_in_one_sentence(flags, said):
    with pytest.raises(InputError, match=said):
        model_of(*flags)


@pytest.mark.parametrize("name", MECHANISM_SETTINGS)
def test_settings_files_hold_only_what_applies(name):
    causal = MECHANISM_SETTINGS[name].facts.causal
    run = Run(
        model=TransformerSettings(attention=name, decoder_attention="same" if causal else "full")
    )
    written = plain(run)["model"]["attention"]
    options = options_of(MECHANISM_SETTINGS[name])
    assert written == name if not options else list(written) == ["name", *options]
    assert run_from(yaml.safe_load(yaml.safe_dump(plain(run))), KINDS) == run


def test_a_full_model_says_no_more_than_that():
    written = plain(Run(model=LanguageModelSettings()))["model"]
    assert written["attention"] == "full"
    every = {name for kind in MECHANISM_SETTINGS.values() for name in options_of(kind)}
    assert not every & set(written)
    assert LanguageModelSettings().attention == FullSettings()


def test_the_help_shows_the_options_of_the_chosen_mechanism():
    base = preset("tiny", KINDS["transformer"])
    shown = full_help(merged(base, {"model": {"attention": "local"}}))
    assert "--model.attention.window N  (64)" in shown
    assert "--model.attention.stride" not in shown
    assert "--model.attention." not in full_help(base)
