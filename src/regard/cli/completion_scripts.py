"""Completion scripts for bash, zsh and fish.

All three work alike: the words before the cursor lead from `regard` to a level, such as
`regard vectors learn`; after a flag its choices follow, or files; else the level's words or flags.
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple


class Flag(NamedTuple):
    """A flag: its names, its help, and what may follow it."""

    names: tuple[str, ...]
    help: str
    takes_value: bool = False
    choices: tuple[str, ...] = ()


class Level(NamedTuple):
    """What may follow a command: words with their help (actions, choices), and flags."""

    path: str
    words: dict[str, str]
    flags: Sequence[Flag]


BASH = """\
# bash completion of regard, written by `regard completion bash`
_regard() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} flag=${{COMP_WORDS[COMP_CWORD-1]}} level=regard
    local word words= flags=
    [[ $flag == = ]] && flag=${{COMP_WORDS[COMP_CWORD-2]}}  # --flag=value is three words
    [[ $cur == = ]] && cur=
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$level $word" in
            {paths}) level+=" $word" ;;
        esac
    done
    COMPREPLY=()
    case "$level $flag" in
{values}
    esac
    case $level in
{levels}
    esac
    [[ $cur == -* ]] && words=$flags
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _regard regard
"""

ZSH = """\
#compdef regard
# zsh completion of regard, written by `regard completion zsh`
_regard() {{
    local flag=$words[CURRENT-1] level=regard word
    local -a names flags
    for word in $words[2,CURRENT-1]; do
        case "$level $word" in
            ({paths}) level+=" $word" ;;
        esac
    done
    case "$level $flag" in
{values}
    esac
    case $level in
{levels}
    esac
    if [[ $PREFIX == -* ]]; then
        _describe -o option flags
    elif (( $#names )); then
        _describe argument names
    else
        _files
    fi
}}
if [[ $funcstack[1] == _regard ]]; then _regard "$@"; else compdef _regard regard; fi
"""

FISH = """\
# fish completion of regard, written by `regard completion fish`
function __regard_level
    set -l level regard
    for word in (commandline -opc)[2..]
        switch "$level $word"
            case {paths}
                set level "$level $word"
        end
    end
    test "$level" = "$argv"
end
{lines}
"""


def bash(levels: Sequence[Level]) -> str:
    """The script for bash."""
    values = [
        f"        {_either(paths)}) {action}return ;;"
        for paths, choices in _values(levels)
        for action in [f'COMPREPLY=($(compgen -W {_quoted(choices)} -- "$cur")); ' * bool(choices)]
    ]
    words = [
        f"        {_quoted([level.path])}) words={_quoted(level.words)} "
        f"flags={_quoted(_names(level))} ;;"
        for level in levels
    ]
    return BASH.format(
        paths=_either(_nested(levels)), values="\n".join(values), levels="\n".join(words)
    )


def zsh(levels: Sequence[Level]) -> str:
    """The script for zsh, with the help of each word and flag."""
    values = [
        f"        ({_either(paths)}) {f'compadd -- {shlex.join(choices)}' if choices else '_files'}"
        "; return ;;"
        for paths, choices in _values(levels)
    ]
    words = [
        f"        ({_quoted([level.path])}) names=({_described(level.words.items())}) flags=("
        + _described((name, flag.help) for flag in level.flags for name in flag.names)
        + ") ;;"
        for level in levels
    ]
    return ZSH.format(
        paths=_either(_nested(levels)), values="\n".join(values), levels="\n".join(words)
    )


def fish(levels: Sequence[Level]) -> str:
    """The script for fish, with the help of each word and flag."""
    lines = []
    for level in levels:
        here = f"complete -c regard -n '__regard_level {level.path}'"
        for word, text in level.words.items():
            lines.append(f"{here} -f -a {word} -d {_fish(_short(text))}")
        for flag in level.flags:
            named = [f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in flag.names]
            value = f" -x -a {_fish(' '.join(flag.choices))}" if flag.choices else " -r -F"
            ending = f"{value * flag.takes_value} -d {_fish(_short(flag.help))}"
            lines.append(f"{here} {' '.join(named)}{ending}")
    return FISH.format(paths=" ".join(map(_fish, _nested(levels))), lines="\n".join(lines))


SCRIPTS: dict[str, Callable[[Sequence[Level]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def _nested(levels: Sequence[Level]) -> list[str]:
    return [level.path for level in levels if " " in level.path]


def _values(levels: Sequence[Level]) -> list[tuple[list[str], tuple[str, ...]]]:
    """The flags that take a value, with their levels, by what may follow them."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for level in levels:
        for flag in level.flags:
            if flag.takes_value:
                named = [f"{level.path} {name}" for name in flag.names]
                groups.setdefault(flag.choices, []).extend(named)
    return [(paths, choices) for choices, paths in groups.items()]


def _names(level: Level) -> list[str]:
    return [name for flag in level.flags for name in flag.names]


def _either(paths: Iterable[str]) -> str:
    return "|".join(map(shlex.quote, paths))


def _quoted(words: Iterable[str]) -> str:
    return shlex.quote(" ".join(words))


def _described(words: Iterable[tuple[str, str]]) -> str:
    """`'word:help'` for each, as zsh reads them."""
    return " ".join(
        shlex.quote(f"{word.replace(':', chr(92) + ':')}:{_short(text)}") for word, text in words
    )


def _short(text: str) -> str:
    """A help text as one short line."""
    return textwrap.shorten(text.replace("%%", "%"), 80, placeholder=" …")


def _fish(text: str) -> str:
    """A string in single quotes, as fish reads it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
