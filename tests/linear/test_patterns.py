"""Every regular expression of the package takes time that is linear in the text."""

import ast
import re
from pathlib import Path

import pytest

import regard
from growth import MOST, TIMES, steepness
from linear.pattern_strings import attack_text, attacks
from linear.patterns import MADE_LATER, UsedPattern, of_module, used_patterns

WINDOWS = {"text.placeholders._PREFIX": 64}
"""Patterns that read so many characters at most, as their callers see to."""
PATTERNS = used_patterns()


def slow_strings(used, size, most=None):
    """The strings that a pattern takes too long for, and how much longer than for short ones."""
    size = min(size, WINDOWS.get(used.name, size))
    found = {}
    for attack in attacks(used.pattern, most):
        long, short = attack_text(attack, size), attack_text(attack, max(size // TIMES, 1))
        ratio = steepness(used.run, long, short)
        if ratio > MOST:
            found[attack] = ratio
            break
    return found


@pytest.mark.parametrize("used", PATTERNS, ids=[used.name for used in PATTERNS])
def test_time_is_linear(used):
    assert not slow_strings(used, 8192, most=50)


@pytest.mark.slow
@pytest.mark.parametrize("used", PATTERNS, ids=[used.name for used in PATTERNS])
def test_time_is_linear_for_many_long_strings(used):
    assert not slow_strings(used, 1 << 16)


SLOW = [
    ("fullmatch", r"---\n(?:.*\r?\n)*?(?:---|\.\.\.)\n"),
    ("fullmatch", r"\s*[\w.]*\s*(?:![rsa])?\s*"),
    ("match", r"(?:[^|\\`]|\\.|(`+)(?:(?!\1).)*\1|`)*(?:\||$)"),
    ("match", r"(`{3,})(?!.*`)"),
    ("match", r"(.*?)([ \t]*#+)?[ \t]*$"),
    ("search", r"(a|a)*b"),
    ("search", r"<!--(?:.|\n)*?-->"),
    ("search", r" {2,}$"),
    ("search", r"\w+\w+!"),
    ("sub", r"\S+$"),
]


@pytest.mark.parametrize(("method", "source"), SLOW)
def test_slow_patterns_are_found(method, source, monkeypatch):
    monkeypatch.setattr("growth.PATIENCE", 0.3)
    assert slow_strings(UsedPattern("", re.compile(source), frozenset({method})), 4096)


def test_patterns_made_of_variables_are_known():
    """What they find is tested by the functions that make them, in test_documents.py or here."""
    modules = {name for name, _ in MADE_LATER}
    assert modules == {
        "config.run",
        "decoding.phrases",
        "documents.html.tokens",
        "documents.markdown.inline",
        "documents.render",
        "tasks.translation.glossary",
        "text.masking",
        "text.placeholders",
        "text.segments",
        "text.sentencepiece_tokenizer",
        "text.words",
    }
    assert len(MADE_LATER) == 13


def test_new_patterns_are_found_wherever_they_stand():
    path = Path(regard.__file__).parent / "text" / "words.py"
    source = path.read_text("utf-8") + (
        "\n\ndef new(text):\n    re.sub(r'a+$', '', text)\n    return re.compile(r'b+$').search\n"
    )
    found = {used.pattern.pattern for used in of_module(path, ast.parse(source))}
    assert {"a+$", "b+$"} <= found


def test_patterns_are_known():
    names = {used.name for used in PATTERNS}
    assert {"text.placeholders._TOKEN", "documents.markdown.structure._HTML"} <= names
    assert "documents.html.tokens._ENDS" in names and len(PATTERNS) > 100
