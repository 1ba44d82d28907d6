"""`regard translate --backend ray`: order, and nothing lost or doubled by kills."""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from regard.cli.finished_blocks import FinishedBlocks
from regard.formats.partial_output import PartialOutput
from regard.tasks.translation.bulk import LineBlock, input_blocks
from trained import taught

LINES = [f"{number} " * 3000 for number in range(60)]  # several blocks
BLOCKS = [
    LineBlock(first, sources, [line.upper() for line in sources])
    for first, sources in input_blocks(iter(LINES))
]


def write_blocks(path, blocks, lines=LINES, **identity):
    """Add blocks as a cluster finishes them; the blocks that were found at the start."""
    with PartialOutput(path, identity, lambda said: None) as output:
        finished = FinishedBlocks(output)
        found = finished.load(output.remaining(iter(lines)))
        for block in (None, *blocks):
            if block is not None and block.first not in found:
                finished.add(block)
            for ready in finished.next_blocks():
                output.write(ready.sources, ready.rows)
        if output.done == len(lines):
            output.finish()
    return found


def test_blocks_in_any_order_are_written_in_theirs_and_survive(tmp_path):
    path = tmp_path / "out"
    assert len(BLOCKS) > 5
    first, second, third, *rest = BLOCKS
    assert write_blocks(path, [first, rest[0], third]) == frozenset()
    assert (tmp_path / "out.partial").read_text().count("\n") == len(first.sources)
    waiting = {third.first, rest[0].first}
    assert write_blocks(path, [rest[1]]) == waiting
    assert write_blocks(path, [second, *reversed(rest)]) == {*waiting, rest[1].first}
    assert path.read_text() == "".join(f"{line}\n" for line in LINES)
    assert list(tmp_path.iterdir()) == [path]


def test_blocks_of_another_origin_are_translated_again(tmp_path):
    path = tmp_path / "out"
    write_blocks(path, [BLOCKS[0], BLOCKS[2], BLOCKS[3], BLOCKS[4]], model="a")
    folder = tmp_path / "out.partial.blocks"
    (folder / f"{BLOCKS[4].first}.json").write_text('{"sources": [')
    changed = [*LINES]
    changed[BLOCKS[2].first] = "another" * 900
    assert write_blocks(path, [], changed, model="a") <= {BLOCKS[3].first}
    write_blocks(path, BLOCKS[3:4], model="a")
    (tmp_path / "out.partial").unlink()
    assert write_blocks(path, [], model="b") == frozenset()
    assert not list(folder.glob("*.json"))


def test_ray_is_for_files(refused, en_fr):
    said = refused("translate", "--model", en_fr, "--backend", "ray", stdin=b"x\n")
    assert "give --input FILE and --output FILE" in said
    assert "is for --backend ray" in refused("translate", "--model", en_fr, "x", "--workers", 2)


def command_line(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def descendants(parent):
    """Processes that a process started, directly or not, by id: their command lines."""
    parents, commands = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
        except OSError:  # it ended
            continue
        parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
        commands[int(folder.name)] = command_line(folder.name)
    found, new = set(), {parent}
    while new:
        found |= new
        new = {child for child, above in parents.items() if above in new} - found
    return {child: commands[child] for child in found - {parent}}


@pytest.mark.slow
@pytest.mark.needs("ray")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_worker_and_then_the_command_are_killed(en_fr, tmp_path):
    chance = random.Random(3)
    sources = [pair[0] for pair in taught("en-fr")]
    lines = [" ".join(chance.sample(sources, 2)) for _ in range(10_000)]
    given, once, made = (tmp_path / name for name in ("in.txt.gz", "once.tsv", "ray.tsv"))
    given.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    words = [sys.executable, "-m", "regard", "translate", "--model", en_fr, "--beam", "1"]
    words += ["--input", str(given), "--output"]
    subprocess.run([*words, str(once), "--threads", "1"], check=True, capture_output=True)
    words += [str(made), "--backend", "ray", "--workers", "2"]
    environment = {key: os.environ[key] for key in os.environ if key != "RAY_ADDRESS"}

    def lines_done():
        try:
            return json.loads((tmp_path / "ray.tsv.partial.json").read_text())["lines"]
        except (OSError, ValueError):
            return 0

    def wait_for_more_than(count, process):
        while lines_done() <= count:
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)

    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment)
    wait_for_more_than(0, process)
    started = descendants(process.pid)
    workers = [child for child, command in started.items() if "BlockWorker" in command]
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    wait_for_more_than(lines_done() + 2000, process)  # more than the other worker had begun
    started |= descendants(process.pid)
    process.kill()
    process.communicate()
    before = lines_done()
    assert 0 < before < len(lines)
    resumed = subprocess.run(words, capture_output=True, text=True, env=environment)
    for child, command in started.items():  # of the killed command, if they are still alive
        if "ray" in command and command_line(child) == command:
            os.kill(child, signal.SIGKILL)
    assert resumed.returncode == 0, resumed.stderr
    assert f"continuing after line {before:,}" in resumed.stderr
    assert made.read_bytes() == once.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        path.name for path in (given, once, made)
    )
