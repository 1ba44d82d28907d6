"""All regular expressions of the package that are known when it is imported, and their use."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import regard

ROOT = Path(regard.__file__).parent
FUNCTIONS = ("compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "split")
ANCHORED = {"match", "fullmatch"}


class UsedPattern(NamedTuple):
    """A pattern, where it stands, and the methods of it that are called."""

    name: str
    pattern: re.Pattern
    methods: frozenset

    def run(self, text):
        """What is done with the pattern, with a text."""
        text = (
            text.encode("latin-1", "replace") if isinstance(self.pattern.pattern, bytes) else text
        )
        if not self.methods or not self.methods <= ANCHORED:
            for _ in self.pattern.finditer(text):
                pass
        for method in ANCHORED & self.methods:
            getattr(self.pattern, method)(text)


@cache
def used_patterns():
    """The patterns of all modules: what they have by a name, and what their functions write out."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        source = path.read_text("utf-8")
        if re.search(rf"\bre\.(?:{'|'.join(FUNCTIONS)})\(", source):
            for used in of_module(path, ast.parse(source)):
                found.setdefault((used.name, used.pattern), used)
    return list(found.values())


def of_module(path, tree):
    """The patterns of one module; how they are used is read from its code."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    short = module.__name__.removeprefix("regard.")
    for name, value in vars(module).items():
        uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
        called = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == name
        }
        alone = len(uses) == len(called) + 1  # besides its definition
        for pattern in patterns_in(value):
            known = called if alone or (called and pattern is value) else {"search"}
            yield UsedPattern(f"{short}.{name}", pattern, frozenset(known & set(FUNCTIONS)))
    named = {pattern for value in vars(module).values() for pattern in patterns_in(value)}
    for node in written_out(tree):
        try:
            text = eval(compile(ast.Expression(node.args[0]), "", "eval"), vars(module))
        except NameError:
            MADE_LATER.add((short, ast.unparse(node.args[0])))
            continue
        method, name = node.func.attr, f"{short}:{node.lineno}"
        if method != "compile":
            yield UsedPattern(name, re.compile(text), frozenset({method}))
        elif all(pattern.pattern != text for pattern in named):  # in a function or a class
            yield UsedPattern(name, re.compile(text), frozenset({"search"}))


MADE_LATER = set()
"""Modules and patterns that are made of what a function knows."""


def written_out(tree):
    """The calls of functions of `re`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {f"re.{f}" for f in FUNCTIONS}:
            yield node


def patterns_in(value):
    """The patterns in a value: itself, or those of a dict, a list or a tuple."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from patterns_in(part)
