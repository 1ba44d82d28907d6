"""One declaration of each option: what is made of it agrees with it."""

import argparse
import runpy
from pathlib import Path

import pytest

from regard.cli import translate
from regard.config import SearchOptions
from regard.config.schema import HttpField, Only, Range, options_of
from regard.server.api.requests import PrefixRequest
from regard.tasks.translation.translation import OptionKeywords

MAKE = Path(__file__).parent / "write_keywords.py"


def test_the_keywords_are_those_of_the_schema():
    made = runpy.run_path(str(MAKE))
    assert made["PATH"].read_text("utf-8") == made["keywords"](), f"run python {MAKE.name}"
    assert set(OptionKeywords.__annotations__) >= set(options_of(SearchOptions))


@pytest.mark.parametrize("name", options_of(SearchOptions))
def test_every_face_of_an_option_has_its_help(name):
    option = options_of(SearchOptions)[name]
    assert option.help.startswith(option.summary)
    assert option.summary.endswith(".")
    field = PrefixRequest.model_fields.get(name)
    assert (field is not None) == (option.mark(HttpField) is not None)
    if field is not None:
        assert (field.default, field.description) == (option.default, option.summary)


def test_flags_of_a_command_are_options(capsys):
    parser = argparse.ArgumentParser()
    translate.configure(parser)
    arguments = vars(parser.parse_args(["--model", "m"]))
    flags = {name for name in options_of(SearchOptions) if name in arguments}
    assert flags == set(options_of(SearchOptions)) - {"batch_tokens"}
    assert all(arguments[name] is None for name in flags)


@pytest.mark.parametrize(
    ("limits", "inside", "outside", "text"),
    [
        (Range(1), [1, 2.5], [0, float("nan")], "at least 1"),
        (Range(0, below=1), [0, 0.5], [1, -1], "from 0 to below 1"),
        (Range(above=0, at_most=1), [0.1, 1], [0, 1.1], "above 0 and at most 1"),
    ],
)
def test_ranges(limits, inside, outside, text):
    assert all(number in limits for number in inside)
    assert not any(number in limits for number in outside)
    assert str(limits) == text


def test_marks_of_a_type():
    sampling = {name for name, option in options_of(SearchOptions).items() if option.mark(Only)} - {
        "beam"
    }
    assert sampling == {"temperature", "top_k", "top_p", "seed"}
    assert options_of(SearchOptions)["max_length"].type == int | None
