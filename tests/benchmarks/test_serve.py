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
from benchmarks.serve.process import ServerProcess, run_clients, seconds_until_idle
from benchmarks.serve.sentences import ReferenceSentences, owner, translate_alone
from regard.config import SearchOptions
from servers import until
from trained import trained

ANSWERS = ["le chat noir dort", "la vache mange", "un roi signe le contrat", "le chat dort bien"]
SENTENCES = ReferenceSentences(
    "en", "fr", [(n, f"text {n}", answer) for n, answer in enumerate(ANSWERS)], SearchOptions()
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return trained("en-fr", tmp_path_factory)


@pytest.fixture(scope="module")
def sentences(model):
    return translate_alone(model, clients=3, per_client=2)


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
    assert owner(number, answer, SENTENCES) == expected


def test_every_client_has_sentences_of_its_own(sentences):
    dealt = sentences.dealt(3)
    texts = [text for own in dealt for _, text, _ in own]
    answers = [answer for own in dealt for _, _, answer in own]
    assert len(set(texts)) == len(texts) and len(set(answers)) == len(answers)
    assert all(len(own) >= 2 for own in dealt)


def counted(megabytes=(100.0,) * 9, num_errors=0, freed=0.1, **changes):
    outcome = Outcome(statuses=Counter({"200": 10}), seconds=[0.1] * 10, moments=[1.0] * 10)
    for name, value in changes.items():
        setattr(outcome, name, value)
    return serve.load_figures(outcome, SENTENCES, 2, 10.0, megabytes, num_errors, freed)


@pytest.mark.parametrize(
    ("outcome", "missed"),
    [
        ({}, None),
        ({"statuses": Counter({"200": 10, "503": 3, "429": 1})}, None),
        ({"wrong": [(0, "le chat noir dormait")]}, None),
        ({"statuses": Counter({"200": 10, "500": 1})}, "errors"),
        ({"statuses": Counter({"200": 10, "400": 1})}, "errors"),
        ({"malformed": 1}, "errors"),
        ({"num_errors": 1}, "errors"),
        ({"lost": 1}, "lost"),
        ({"wrong": [(0, "la vache mange")]}, "swapped"),
        ({"statuses": Counter({"200": 1, "503": 3})}, "answered with 200"),
        ({"megabytes": (100.0,) * 3 + (103.0,) * 3 + (106.0,) * 3}, "last third"),
        ({"freed": 30.0}, "places"),
    ],
)
def test_what_misses_a_bar(outcome, missed):
    names = [row.name for row in serve.bars(counted(**outcome)) if not row.holds]
    assert len(names) == (missed is not None)
    assert missed is None or missed in names[0]


def test_throughput_is_the_median_ratio_of_rounds():
    speeds = {"together": [100.0, 90.0, 300.0], "engine": [20.0, 30.0, 30.0]}
    row = serve.speedup("engine", speeds, clients=8, bar=4.0)
    assert row.ratio == 5.0 and row.holds
    assert not serve.speedup("engine", speeds, clients=8, bar=6.0).holds


def test_clients_against_a_real_server(model, sentences, tmp_path):
    """All are answered; the places of clients that are killed are freed."""
    with ServerProcess(model, tmp_path / "log", "--threads", "1", "--together", "1") as server:
        load = Load(server.host, server.port, "en", "fr", sentences.dealt(3), 1.0)
        outcome = run_clients(replace(load, timeout=30, disconnect=True))
        assert seconds_until_idle(server) < 30
        assert server.megabytes() > 50
        clients = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.serve.client"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            encoding="utf-8",
        )
        try:
            clients.stdin.write(json.dumps(asdict(replace(load, seconds=60.0))))
            clients.stdin.close()
            until(lambda: server.waiting() >= 2, seconds=30)
        finally:
            clients.kill()
            clients.wait()
        assert seconds_until_idle(server) < 30
        assert run_clients(replace(load, seconds=0.2, timeout=30)).lost == 0
    assert outcome.num_requests == outcome.statuses["200"] == len(outcome.seconds) >= 3
    assert (outcome.wrong, outcome.lost, outcome.malformed) == ([], 0, 0)
    assert server.num_errors() == 0 and server.process.returncode == 0


def answering(*answers):
    """The port of a server that gives these answers to one connection, whatever the request."""
    door = socket.create_server(("127.0.0.1", 0))

    def answer():
        with door, door.accept()[0] as connection:
            for response in answers:
                if not connection.recv(65_536):
                    return
                connection.sendall(response)

    threading.Thread(target=answer, daemon=True).start()
    return door.getsockname()[1]


def response(text, status=200):
    body = json.dumps({"translatedText": text}).encode()
    return b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body)


def test_clients_notice_what_goes_wrong():
    own = [list(SENTENCES.all[:2])]
    port = answering(response(ANSWERS[0]), response("other"), response("", 500), b"")
    outcome = run_clients(Load("127.0.0.1", port, "en", "fr", own, 0.5))
    assert outcome.statuses == {"200": 2, "500": 1}
    assert outcome.wrong == [(1, "other")] and outcome.lost >= 1


def test_clients_notice_what_is_lost_at_the_end():
    """Connections that are closed without an answer while the last answers are waited for."""
    door, connections = socket.create_server(("127.0.0.1", 0)), []

    def hang_up():
        with door:
            for _ in range(5):
                connections.append(door.accept()[0])
            time.sleep(1.0)
            for connection in connections:
                connection.close()

    threading.Thread(target=hang_up, daemon=True).start()
    own = [[sentence] for sentence in SENTENCES.all[:1] * 5]
    port = door.getsockname()[1]
    outcome = run_clients(Load("127.0.0.1", port, "en", "fr", own, 0.3, timeout=10.0))
    assert (outcome.num_requests, outcome.statuses, outcome.lost) == (5, {}, 5)


@pytest.mark.slow
def test_the_whole_command(model, capsys):
    words = [
        "serve",
        "--model",
        str(model),
        "--clients",
        "8",
        "--seconds",
        "3",
        "--repeats",
        "1",
        "--json",
    ]
    code = main(words)
    result = json.loads(capsys.readouterr().out)
    assert code == (0 if all(row["holds"] for row in result["bars"]) else 1)
    assert result["load"]["statuses"].keys() == {"200"}
    assert result["load"]["swapped"] == result["load"]["lost"] == result["load"]["errors"] == 0
    assert len(result["throughput"]["together"]) == 1


def test_what_cannot_be_measured(model, tmp_path_factory, capsys):
    assert main(["serve", "--model", str(model), "--only", "x"]) == 2
    assert "load, throughput" in capsys.readouterr().err
    assert main(["serve", "--model", "nothing-here"]) == 2
    with pytest.raises(SystemExit, match="2"):
        main(["serve", "--steps", "3"])
    assert "--steps" in capsys.readouterr().err
