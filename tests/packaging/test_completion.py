"""Shell completion: the scripts in real shells."""

import subprocess

import pytest

from regard.cli import main

LINES = {
    "regard tr": {"trace", "train", "translate"},
    "regard wri": {"write"},
    "regard translate --mo": {"--model"},
    "regard translate --format ": {
        "text",
        "html",
        "markdown",
        "po",
        "xliff",
        "tmx",
        "srt",
        "vtt",
        "json",
        "yaml",
        "docx",
        "odt",
    },
    "regard translate --engine ct": {"ctranslate2"},
    "regard vectors ana": {"analogy"},
    "regard vectors learn --method cb": {"cbow"},
    "regard study scal": {"scaling"},
    "regard completion z": {"zsh"},
    "regard train --prese": {"--preset"},
    "regard train --preset ": {"tiny", "small", "base"},
    "regard train --model.attention l": {"local", "linformer", "linear", "luong", "location"},
    "regard train --training.st": {"--training.start_from", "--training.steps"},
    "regard --vers": {"--version"},
}
BASH = """source regard.bash
while IFS= read -r line; do
    COMP_WORDS=($line); [[ $line == *' ' ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _regard; echo "${COMPREPLY[*]}"
done"""


@pytest.fixture
def script(tmp_path, capsys):
    def write(shell):
        assert main(["completion", shell]) == 0
        path = tmp_path / f"regard.{shell}"
        path.write_text(capsys.readouterr().out, encoding="utf-8")
        return path

    return write


def shell(*words, path, given=""):
    done = subprocess.run(
        words, cwd=path.parent, input=given, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


@pytest.mark.needs("bash")
def test_bash_completes(script):
    given = "".join(f"{line}\n" for line in [*LINES, "regard translate --format = ht"])
    answers = shell("bash", "--norc", "-c", BASH, path=script("bash"), given=given).splitlines()
    assert [set(answer.split()) for answer in answers] == [*LINES.values(), {"html"}]


@pytest.mark.needs("bash")
def test_bash_falls_back_to_files(script):
    given = "regard translate --model \nregard translate --input rea\nregard info mod\n"
    assert shell("bash", "--norc", "-c", BASH, path=script("bash"), given=given) == "\n\n\n"


@pytest.mark.needs("fish")
def test_fish_completes(script):
    code = "source regard.fish\nwhile read --line line\n complete -C $line; echo =\nend"
    given = "".join(f"{line}\n" for line in LINES)
    told = shell("fish", "--no-config", "-c", code, path=script("fish"), given=given)
    answers = [part.strip().splitlines() for part in told.split("=\n")[:-1]]
    found = [{line.partition("\t")[0] for line in answer} for answer in answers]
    assert found == list(LINES.values())


@pytest.mark.needs("fish")
def test_fish_completes_values_after_an_equals_sign_and_files(script):
    path = script("fish")
    (path.parent / "read.txt").touch()
    lines = ["regard translate --format=ht", "regard translate --input rea", "regard info rea"]
    code = "source regard.fish; " + "; ".join(f'complete -C "{line}"' for line in lines)
    answers = shell("fish", "--no-config", "-c", code, path=path).split()
    assert answers == ["--format=html", "read.txt", "read.txt"]


@pytest.mark.needs("zsh")
def test_zsh_registers_its_function(script):
    """Completion itself needs a terminal."""
    code = "autoload -U compinit; compinit -D -u; source regard.zsh; print $_comps[regard]"
    assert shell("zsh", "-f", "-c", code, path=script("zsh")) == "_regard\n"
