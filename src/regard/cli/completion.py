"""`regard completion SHELL`: a script that completes commands, their flags and choices.

It is made of the parsers of all commands. All shells work alike: the words before the cursor lead
from `regard` to a command, such as `regard vectors learn`, and a function of the script says what
may come next (`contexts`); where that is nothing, files.
"""

from __future__ import annotations

import argparse
import importlib
import shlex
import textwrap
from collections.abc import Callable, Iterable, Iterator

Words = dict[str, str]
"""Words that may come next, with their help."""

BASH = """\
# bash completion of regard, written by `regard completion bash`
_regard_words() {{
    case $1 in
{cases}
        *) return 1 ;;
    esac
}}
_regard() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} flag=${{COMP_WORDS[COMP_CWORD-1]}} command=regard
    local word words=
    [[ $flag == = ]] && flag=${{COMP_WORDS[COMP_CWORD-2]}}  # --flag=value is three words
    [[ $current == = ]] && current=
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        [[ $word != -* ]] && _regard_words "$command $word" && command+=" $word"
    done
    if ! {{ [[ $flag == -* ]] && _regard_words "$command $flag"; }}; then
        if [[ $current == -* ]]; then command+=" -"; fi
        _regard_words "$command"
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _regard regard
"""

ZSH = """\
#compdef regard
# zsh completion of regard, written by `regard completion zsh`
_regard_words() {{
    case $1 in
{cases}
        (*) return 1 ;;
    esac
}}
_regard() {{
    local flag=$words[CURRENT-1] command=regard word kind=argument
    local -a listed
    for word in $words[2,CURRENT-1]; do
        [[ $word != -* ]] && _regard_words "$command $word" && command+=" $word"
    done
    if ! {{ [[ $flag == -* ]] && _regard_words "$command $flag" }}; then
        if [[ $PREFIX == -* ]]; then command+=" -" kind=option; fi
        _regard_words "$command"
    fi
    if [[ $kind == option ]]; then
        _describe -o option listed
    elif (( $#listed )); then
        _describe argument listed
    else
        _files
    fi
}}
if [[ $funcstack[1] == _regard ]]; then _regard "$@"; else compdef _regard regard; fi
"""

FISH = """\
# fish completion of regard, written by `regard completion fish`
function __regard_words
    switch "$argv"
{cases}
        case '*'
            return 1
    end
end
function __regard_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l level regard
    for word in $before[2..]
        string match -q -- '-*' $word; and continue
        __regard_words $level $word >/dev/null; and set level $level $word
    end
    set -l value (string split -m 1 = -- $current)
    if set -q value[2]; and __regard_words $level $value[1] >/dev/null
        __regard_words $level $value[1] | string replace -r -- '^' "$value[1]="
        return
    end
    if string match -q -- '-*' $before[-1]; and __regard_words $level $before[-1] >/dev/null
        set level $level $before[-1]
    else if string match -q -- '-*' $current
        set level $level -
    end
    set -l words (__regard_words $level)
    if set -q words[1]
        printf '%s\\n' $words
    else
        __fish_complete_path $current
    end
end
complete -c regard -f -a '(__regard_complete)'
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("shell", choices=SCRIPTS, help="the shell that is to read the script")


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    template, case = SCRIPTS[arguments.shell]
    grouped: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for context, words in contexts():
        short = (
            (word, textwrap.shorten(text.replace("%%", "%"), 80, placeholder=" …"))
            for word, text in words.items()
        )
        grouped.setdefault(tuple(short), []).append(context)
    cases = (case(keys, dict(words)) for words, keys in grouped.items())
    print(template.format(cases="\n".join(cases)), end="")
    return 0


def _bash_case(keys: list[str], words: Words) -> str:
    return f"        {'|'.join(map(shlex.quote, keys))}) words={shlex.quote(' '.join(words))} ;;"


def _zsh_case(keys: list[str], words: Words) -> str:
    described = (
        f"{word.replace(':', chr(92) + ':')}{':' * bool(text)}{text}"
        for word, text in words.items()
    )
    return f"        ({'|'.join(map(shlex.quote, keys))}) listed=({shlex.join(described)}) ;;"


def _fish_case(keys: list[str], words: Words) -> str:
    def quoted(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    lines = " ".join(quoted(f"{word}\t{text}".rstrip("\t")) for word, text in words.items())
    body = f"printf '%s\\n' {lines}" if words else "true"
    return f"        case {' '.join(map(quoted, keys))}\n            {body}"


SCRIPTS: dict[str, tuple[str, Callable[[list[str], Words], str]]] = {
    "bash": (BASH, _bash_case),
    "zsh": (ZSH, _zsh_case),
    "fish": (FISH, _fish_case),
}


def contexts() -> Iterator[tuple[str, Words]]:
    """What may come next after which words; nothing where a file is expected.

    `regard train` has actions or other words, `regard train -` flags, and
    `regard train --preset` the values of a flag.
    """
    from regard.cli import Parser, command_modules

    commands = command_modules(None)
    yield "regard", {name: line for name, (line, _) in commands.items()}
    help_flags = ("-h", "--help")
    yield (
        "regard -",
        dict.fromkeys(help_flags, "show the options and exit")
        | {"--version": "show the version and exit"},
    )
    for name, (_, path) in commands.items():
        module = importlib.import_module(path)
        if hasattr(module, "configure"):
            parser = Parser()
            module.configure(parser)
            yield from _of_parser(f"regard {name}", parser, _studies() if name == "study" else {})
        else:
            yield from _of_training(f"regard {name}")


def _studies() -> Words:
    """The names that `regard study` takes, which its parser does not list."""
    from regard.studies import STUDIES

    titles = {name: study.title.en for name, study in STUDIES.items()}
    return {"list": "only list them", "all": "every one", **titles}


def _of_parser(
    path: str, parser: argparse.ArgumentParser, known: Words
) -> Iterator[tuple[str, Words]]:
    """The contexts of a parser, then of its actions; `known` are words that it takes."""
    words, flags = dict(known), {}
    for action in parser._actions:
        choices = dict.fromkeys(map(str, action.choices or ()), "")
        if isinstance(action, argparse._SubParsersAction):
            words |= {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, nested in action.choices.items():
                yield from _of_parser(f"{path} {name}", nested, {})
        elif not action.option_strings:
            words |= choices
        for name in action.option_strings:
            flags[name] = action.help or ""
            if action.nargs != 0:
                yield f"{path} {name}", choices
    yield path, words
    yield f"{path} -", flags


def _of_training(path: str) -> Iterator[tuple[str, Words]]:
    """The contexts of `regard train`: its flags, and every setting of every kind of model."""
    from regard.cli.option_flags import help_of_flag
    from regard.cli.train_flags import TrainFlags
    from regard.config.schema import Option, options_of
    from regard.config.settings import PRESETS, SECTIONS, choices_of, setting_options
    from regard.tasks import KINDS

    flags = dict.fromkeys(("-h", "--help"), "show the common flags and exit")
    values: dict[str, Words] = {}

    def add(flag: str, option: Option, text: str, choices: Iterable[str]) -> None:
        flags.setdefault(flag, text)
        if option.type is not bool or "." in flag:
            values[flag] = values.get(flag, {}) | dict.fromkeys(choices, "")

    given = {"preset": PRESETS, "kind": tuple(KINDS)}
    for name, option in options_of(TrainFlags).items():
        add(option.flag, option, help_of_flag(option), given.get(name, ()))
    sections = [*SECTIONS.items(), *(("model", kind.settings) for kind in KINDS.values())]
    for section, settings in sections:
        for name, option in setting_options(settings).items():
            switch = ["true", "false"] if option.type is bool else []
            add(f"--{section}.{name}", option, option.help, choices_of(option) or switch)
    yield path, {}
    yield f"{path} -", flags
    yield from ((f"{path} {flag}", choices) for flag, choices in values.items())
