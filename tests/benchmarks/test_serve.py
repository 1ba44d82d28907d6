"""`python -m benchmarks serve`: what it counts, and a short real run."""

import json
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict, replace

import pytest

from benchmarks.__main__ import main
from benchmarks.serve import load as serve
from benchmarks.serve.client import Load, Outcome
from benchmarks.serve.process import Served, driven, freed_after
from benchmarks.serve.questions import Questions, ask_alone, whose
from regard.config import SearchOptions
from servers import until
from trained import trained

ANSWERS = ["le chat noir dort", "la vache mange", "un roi signe le contrat", "le chat dort bien"]
QUESTIONS = Questions(
    "en", "fr", [(n, f"text {n}", answer) for n, answer in enumerate(ANSWERS)], SearchOptions()
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return trained("en-fr", tmp_path_factory)


@pytest.fixture(scope="module")
def questions(model):
    return ask_alone(model, clients=3, each=2)


@pytest.mark.parametrize(
    ("number", "answer", "expected"),
    [
        (0, "le chat noir dormait", "own"),
        (0, "la vache mange", "another"),
        (0, "la vache mangeait", "another"),
        (3, "le chat dort très bien", "own"),
        (3, "le chat dort", "another"),  # undecided
        (1, "", "another"),
        (2, "something else", "another"),
    ],
)
def test_whose_answer_it_is(number, answer, expected):
    assert whose(number, answer, QUESTIONS) == expected


def test_every_client_has_questions_of_its_own(questions):
    dealt = questions.dealt(3)
    asked = [text for own in dealt for _, text, _ in own]
    answers = [answer for own in dealt for _, _, answer in own]
    assert len(set(asked)) == len(asked) and len(set(answers)) == len(answers)
    assert all(len(own) >= 2 for own in dealt)


def counted(megabytes=(100.0,) * 9, faults=0, freed=0.1, **came):
    outcome = Outcome(statuses=Counter({"200": 10}), seconds=[0.1] * 10, moments=[1.0] * 10)
    for name, value in came.items():
        setattr(outcome, name, value)
    return serve.counted(outcome, QUESTIONS, 2, 10.0, megabytes, faults, freed)


@pytest.mark.parametrize(
    ("came", "missed"),
    [
        ({}, None),
        ({"statuses": Counter({"200": 10, "503": 3, "429": 1})}, None),
        ({"wrong": [(0, "le chat noir dormait")]}, None),
        ({"statuses": Counter({"200": 10, "500": 1})}, "errors"),
        ({"statuses": Counter({"200": 10, "400": 1})}, "errors"),
        ({"garbled": 1}, "errors"),
        ({"faults": 1}, "errors"),
        ({"lost": 1}, "lost"),
        ({"wrong": [(0, "la vache mange")]}, "swapped"),
        ({"statuses": Counter({"200": 1, "503": 3})}, "answered with 200"),
        ({"megabytes": (100.0,) * 3 + (103.0,) * 3 + (106.0,) * 3}, "last third"),
        ({"freed": 30.0}, "places"),
    ],
)
def test_what_misses_a_bar(came, missed):
    found = [row.name for row in serve.bars(counted(**came)) if not row.holds]
    assert len(found) == (missed is not None)
    assert missed is None or missed in found[0]


def test_throughput_is_the_median_ratio_of_rounds():
    row = serve.faster(([100.0, 90.0, 300.0], [20.0, 30.0, 30.0]), clients=8)
    assert row.ratio == 5.0 and row.holds
    assert not serve.faster(([30.0], [10.0]), clients=8).holds


def test_clients_against_a_real_server(model, questions, tmp_path):
    with Served(model, tmp_path / "log", "--threads", "1") as server:
        load = Load(
            server.host, server.port, "en", "fr", questions.dealt(3), 1.0, patience=30, leave=True
        )
        came = driven(load)
        assert freed_after(server) < 30
        assert server.megabytes() > 50
    assert came.asked == came.statuses["200"] == len(came.seconds) >= 3
    assert (came.wrong, came.lost, came.garbled) == ([], 0, 0)
    assert server.faults() == 0 and server.process.returncode == 0


def test_places_of_clients_that_are_killed_are_freed(model, questions, tmp_path):
    with Served(model, tmp_path / "log", "--threads", "1", "--together", "1") as server:
        load = Load(server.host, server.port, "en", "fr", questions.dealt(3), 60.0)
        clients = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.serve.client"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, encoding="utf-8",
        )  # fmt: skip
        try:
            clients.stdin.write(json.dumps(asdict(load)))
            clients.stdin.close()
            until(lambda: server.waiting() >= 2, seconds=30)
        finally:
            clients.kill()
            clients.wait()
        assert freed_after(server) < 30
        assert driven(replace(load, seconds=0.2, patience=30)).lost == 0
    assert server.faults() == 0


def answering(*answers):
    """The port of a server that gives these answers to one connection, whatever is asked."""
    door = socket.create_server(("127.0.0.1", 0))

    def answer():
        with door, door.accept()[0] as one:
            for said in answers:
                if not one.recv(65_536):
                    return
                one.sendall(said)

    threading.Thread(target=answer, daemon=True).start()
    return door.getsockname()[1]


def said(text, status=200):
    body = json.dumps({"translatedText": text}).encode()
    return b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body)


def test_clients_notice_what_goes_wrong():
    own = [list(QUESTIONS.all[:2])]
    port = answering(said(ANSWERS[0]), said("other"), said("", 500), b"")
    came = driven(Load("127.0.0.1", port, "en", "fr", own, 0.5))
    assert came.statuses == {"200": 2, "500": 1}
    assert came.wrong == [(1, "other")] and came.lost >= 1


def test_clients_notice_what_is_lost_at_the_end():
    """Connections that are closed without an answer while the last answers are waited for."""
    door, heard = socket.create_server(("127.0.0.1", 0)), []

    def hang_up():
        with door:
            for _ in range(5):
                heard.append(door.accept()[0])
            time.sleep(1.0)
            for one in heard:
                one.close()

    threading.Thread(target=hang_up, daemon=True).start()
    own = [[one] for one in QUESTIONS.all[:1] * 5]
    port = door.getsockname()[1]
    came = driven(Load("127.0.0.1", port, "en", "fr", own, 0.3, patience=10.0))
    assert (came.asked, came.statuses, came.lost) == (5, {}, 5)


@pytest.mark.slow
def test_the_whole_command(model, capsys):
    words = ["serve", "--model", str(model), "--clients", "8", "--seconds", "3",
             "--repeats", "1", "--json"]  # fmt: skip
    code = main(words)
    found = json.loads(capsys.readouterr().out)
    assert code == (0 if all(row["holds"] for row in found["bars"]) else 1)
    assert found["load"]["statuses"].keys() == {"200"}
    assert found["load"]["swapped"] == found["load"]["lost"] == found["load"]["errors"] == 0
    assert len(found["throughput"]["together"]) == 1


def test_what_cannot_be_measured(model, tmp_path_factory, capsys):
    assert main(["serve", "--model", str(model), "--only", "x"]) == 2
    assert "load, throughput" in capsys.readouterr().err
    assert main(["serve", "--model", "nothing-here"]) == 2
    with pytest.raises(SystemExit, match="2"):
        main(["serve", "--steps", "3"])
    assert "--steps" in capsys.readouterr().err
