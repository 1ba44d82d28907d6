"""Reading lines, showing progress and resuming partial output."""

import io
import json

import pytest
from rich.console import Console

from regard.cli.line_input import count_lines
from regard.cli.line_progress import LineProgress
from regard.errors import InputError
from regard.formats import read_lines
from regard.formats.partial_output import PartialOutput


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"a", b"a\n", b"a\r\n\nb", b"\xef\xbb\xbfa\x0c\xe2\x80\xa8b\n\n"]
)
def test_lines_are_counted_as_they_are_read(tmp_path, data):
    path = tmp_path / "x.txt"
    path.write_bytes(data)
    found = list(read_lines(path, "utf-8"))
    expected = data.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    assert found == (expected[:-1] if not expected[-1] else expected)
    if data:
        assert count_lines(path, "utf-8") == len(found)
    else:
        with pytest.raises(InputError, match="the file is empty"):
            count_lines(path, "utf-8")


def test_lines_longer_than_what_is_read_at_once_and_characters_across_it(tmp_path):
    path = tmp_path / "x.txt"
    lines = ["é" * 400_000, "", "x" + "猫" * 300_000]
    path.write_text("\n".join(lines), "utf-8")
    assert list(read_lines(path, "utf-8")) == lines
    path.write_bytes("\n".join(lines).encode() + b"\n\xe9t\xe9\n")
    with pytest.raises(InputError, match=r"x.txt, line 4: not valid UTF-8 \(byte 0xe9\)"):
        count_lines(path, "utf-8")


def shown(total, times, *, terminal=False, **options):
    """What is said of 100 lines after each of the given times."""
    out = io.StringIO()
    now = [0.0]
    console = Console(file=out, force_terminal=terminal, width=100, highlight=False)
    with LineProgress(total, console=console, clock=lambda: now[0], **options) as progress:
        for moment in times:
            now[0] = moment
            progress.advance(100)
    return out.getvalue()


def test_progress_is_logged_at_intervals():
    assert shown(1000, [1, 2]) == ""
    assert shown(1000, [4, 12, 13], done=500).splitlines() == [
        "700 of 1,000 lines, 17 lines/s, 0:00:18 left",
        "300 lines in 0:00:13 (23 lines/s)",
    ]
    assert shown(None, [10], label="TER", unit="sentences").splitlines() == [
        "TER: 100 sentences, 10 sentences/s",
        "TER: 100 sentences in 0:00:10 (10 sentences/s)",
    ]


def test_progress_is_a_bar_on_a_terminal():
    said = shown(200, [1, 2], terminal=True)
    assert "200 of 200 lines, 100 lines/s" in said and "━" in said
    assert said.endswith("200 lines in 0:00:02 (100 lines/s)\n")


LINES = ["one", "two", "three", "four"]


def written(path, count, lines=LINES, **identity):
    """Partial output of some lines, and what was said."""
    said = []
    with PartialOutput(path, identity, said.append) as output:
        rest = list(output.remaining(iter(lines)))
        for line in rest[: count - output.done]:
            output.write([line], [line.upper()] * 2)
    return said, rest


def test_lines_after_the_state_are_dropped(tmp_path):
    path = tmp_path / "out"
    written(path, 2)
    partial = tmp_path / "out.partial"
    partial.write_text(partial.read_text() + "THREE\nTH")
    said, rest = written(path, 3)
    assert said[0].endswith("continuing after line 2.") and rest == ["three", "four"]
    assert partial.read_text().split() == [line.upper() for line in LINES[:3] for _ in "12"]


@pytest.mark.parametrize(
    "state",
    [
        "",
        "{",
        "[]",
        '{"lines": 1}',
        json.dumps({"lines": -1, "bytes": 0, "digest": "", "identity": {}}),
        json.dumps({"lines": 1, "bytes": 10**9, "digest": "", "identity": {}}),
        json.dumps({"lines": 1, "bytes": 2, "digest": 3, "identity": {}}),
    ],
)
def test_a_damaged_state_is_refused(tmp_path, state):
    path = tmp_path / "out"
    written(path, 2)
    partial = tmp_path / "out.partial"
    lines = partial.read_text()
    (tmp_path / "out.partial.json").write_text(state)
    with pytest.raises(InputError, match="missing or damaged; remove both files to start over"):
        written(path, 1)
    assert partial.read_text() == lines
    partial.unlink()
    assert written(path, 1)[1] == LINES


def test_lines_of_another_origin_are_kept(tmp_path):
    path = tmp_path / "out"
    written(path, 2, model="a", options={"beam": 1})
    for other, message in [
        ({"model": "b", "options": {"beam": 1}}, "the model changed since it was written"),
        ({"model": "b", "options": {"beam": 2}}, "the model and options changed"),
        ({"model": "a", "options": {"beam": 1}, "lines": LINES[1:]}, "belongs to another input"),
        ({"model": "a", "options": {"beam": 1}, "lines": LINES[:1]}, "belongs to another input"),
    ]:
        with pytest.raises(InputError, match=message):
            written(path, 4, **other)
    said, rest = written(path, 3, [*LINES[:3], "another end"], model="a", options={"beam": 1})
    assert said[0].endswith("continuing after line 2.") and rest == ["three", "another end"]


def test_a_kill_before_the_first_state_leaves_nothing_to_remove(tmp_path):
    path = tmp_path / "out"
    with PartialOutput(path, {}, print) as output:
        output.remaining(iter(LINES))
        state = (tmp_path / "out.partial.json").read_text()
    (tmp_path / "out.partial").write_text("ON")  # written, but not yet counted
    (tmp_path / "out.partial.json").write_text(state)
    assert written(path, 1)[1] == LINES
    assert (tmp_path / "out.partial").read_text() == "ONE\nONE\n"


def test_two_commands_cannot_write_the_same(tmp_path):
    with (
        PartialOutput(tmp_path / "out", {}, print),
        pytest.raises(InputError, match="another command is writing it"),
    ):
        PartialOutput(tmp_path / "out", {}, print)
    assert not list(tmp_path.iterdir())
