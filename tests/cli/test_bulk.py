"""Long files: the command is killed at random moments, and its memory does not grow."""

import gc
import gzip
import json
import random
import signal
import subprocess
import sys
import time
import tracemalloc
from itertools import cycle, islice

import pytest

from processes import run
from regard.formats.compressed import read_bytes
from regard.formats.partial_output import PartialOutput
from regard.tasks import load
from regard.tasks.translation.bulk import translate_blocks
from regard.tasks.translation.translation import Translation
from trained import taught

PAIRS = taught("en-fr")
WRITER = """
import os
import signal
import sys
import threading
import time
from regard.formats.partial_output import PartialOutput

path, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
begun = threading.Event()


def end():
    begun.wait()
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGKILL)


threading.Thread(target=end, daemon=True).start()
with PartialOutput(path, {"model": "m"}, lambda said: None) as output:
    rest = list(output.remaining(iter(map(str, range(count)))))
    for start in range(0, len(rest), 7):
        lines = rest[start : start + 7]
        output.write(lines, [f"{line} is written" for line in lines])
        begun.set()
        time.sleep(0.002)
    output.finish()
"""
"""Writes lines, and kills itself at some time after the first: however busy the machine is."""


def run_and_kill(words, moment):
    """Whether a command ended by itself before `moment(process)` returned."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    moment(process)
    process.send_signal(signal.SIGKILL)
    _, said = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), said
    return process.returncode == 0


def lines_done(path):
    try:
        return json.loads(path.with_name(path.name + ".partial.json").read_text())["lines"]
    except (OSError, ValueError):
        return 0


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_nothing_is_lost_or_doubled_by_kills(tmp_path):
    chance = random.Random(5)
    path = tmp_path / "out.txt.gz"
    words = [str(path), "1200"]
    done = [0]
    while run(*words, chance.uniform(0, 0.15), code=WRITER).returncode and not path.exists():
        assert lines_done(path) >= done[-1]  # no line is written again
        done.append(lines_done(path))
    assert len(done) > 2
    assert read_bytes(path).decode() == "".join(f"{line} is written\n" for line in range(1200))


@pytest.mark.slow
def test_a_translation_that_is_killed_is_that_of_an_uninterrupted_run(en_fr, tmp_path):
    chance = random.Random(7)
    lines = [" ".join(pair[0] for pair in chance.sample(PAIRS, 2)) for _ in range(12_000)]
    given, once, killed = (tmp_path / n for n in ("in.txt.gz", "once.tsv.gz", "killed.tsv.gz"))
    given.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    words = [sys.executable, "-m", "regard", "translate", "--model", en_fr, "--beam", "1"]
    words += ["--threads", "1", "--input", str(given), "--output"]
    subprocess.run([*words, str(once)], check=True, capture_output=True)

    def moment(process):
        """Any moment of the start, or one after some lines were written."""
        before, start = lines_done(killed), time.monotonic()
        early = chance.random() < 0.2
        while process.poll() is None and (time.monotonic() - start < 1.5 or not early):
            if lines_done(killed) > before:
                time.sleep(chance.uniform(0, 1.5))
                return
            time.sleep(0.01)

    kills = 0
    while not run_and_kill([*words, str(killed)], moment):
        kills += 1
    assert kills >= 3
    assert killed.read_bytes() == once.read_bytes()
    assert [row.split("\t")[0] for row in read_bytes(once).decode().splitlines()] == lines
    assert names(tmp_path) == ["in.txt.gz", "killed.tsv.gz", "once.tsv.gz"]


def test_only_two_blocks_are_in_memory(en_fr):
    """One block is searched while the next is read; translations are kept of one at a time."""
    read = []

    def lines():
        for source, _ in islice(cycle(PAIRS), 300):
            read.append(source)
            yield source

    written = 0
    options = {"beam": 1, "alignment": False}
    translator = load(en_fr, threads=1)
    for block in translate_blocks(translator, lines(), "tsv", options, max_characters=1000):
        written += len(block.rows)
        assert max(len("".join(some[:-1])) for some in (block.sources, read[written:])) < 1000
        alive = sum(type(kept) is Translation for kept in gc.get_objects())
        assert alive <= len(block.rows)
    assert written == 300


def test_resuming_reads_the_input_in_constant_memory(tmp_path):
    def resumed(count):
        path = tmp_path / str(count)
        lines = [str(number) * 20 for number in islice(cycle(range(100, 110)), 50)]
        with PartialOutput(path, {}, lambda said: None) as output:
            output.remaining(iter(lines))
            for _ in range(count // 50):
                output.write(lines, ["x"])
        tracemalloc.start()
        with PartialOutput(path, {}, lambda said: None) as output:
            output.remaining(islice(cycle(lines), count))
            assert output.done == count
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    resumed(500)
    assert resumed(3000) < 1.1 * resumed(600)
