"""Worker processes: what they share, and how one is replaced that dies or hangs."""

import json
import os
import re
import shutil
import signal
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from processes import Process, run
from regard.server.access.keys import make_key, revoke_key
from servers import running, runs, until
from trained import taught, trained

FRENCH = taught("en-fr")
SOURCE, TARGET = FRENCH[0]
FIELDS = {"source": "en", "target": "fr"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(trained("en-fr", tmp_path_factory))


@contextmanager
def stopped(pid):
    """A worker that does nothing for a moment, so that another one answers."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def ask(server, method, path, **options):
    """A request with a connection of its own, which any worker may take."""
    options = {"timeout": 60, "trust_env": False, **options}
    return httpx.request(method, f"{server.address}{path}", **options)


def answers_while(server, context):
    """Whether a worker answers within a second."""
    threading.Event().wait(0.2)  # a worker that is stopped again and again must not seem to hang
    with context, suppress(httpx.TimeoutException):
        return ask(server, "GET", "/health", timeout=1).status_code == 200


def events(server, name):
    """The lines of the log about one kind of event."""
    return [line for line in server.log if line["event"] == name]


def private_folder(server):
    """The folder in which the workers count."""
    maps = Path(f"/proc/{server.pids[0]}/maps").read_text("utf-8")
    return Path(re.search(r"(/\S+)/metrics/counter_0\.db", maps)[1])


def num_detected(server):
    """Requests for languages, by the metrics of all workers."""
    text = ask(server, "GET", "/metrics").text
    counts = re.findall(r'regard_requests_total\{path="/detect",status="\d+"\} (\S+)', text)
    return sum(map(float, counts))


class Asking:
    """A request under way in a thread."""

    def __init__(self, server, text):
        self.answer = None
        self.thread = threading.Thread(target=self._ask, args=(server, text))
        self.thread.start()
        until(lambda: "regard_waiting_requests 1.0" in ask(server, "GET", "/metrics").text)

    def _ask(self, server, text):
        self.answer = ask(server, "POST", "/translate", json={**FIELDS, "q": text})

    def finish(self):
        self.thread.join()
        assert self.answer.status_code == 200
        return self.answer.json()["translatedText"]


def test_two_workers_are_one_server(folder, tmp_path):
    """Files, rates, keys and counts are of all; one that is killed is replaced; SIGTERM drains."""
    keys = tmp_path / "keys"
    limited, old = make_key(keys, "limited", rate=3), make_key(keys, "old")
    admin = make_key(keys, "admin", admin=True)
    words = ["--model", folder, "--workers", "2", "--keys", keys]
    with running(*words) as server:
        first, second = server.pids
        assert first != second != server.process.pid

        def asked(key):
            fields = {"q": "x", "api_key": key}
            return ask(server, "POST", "/detect", json=fields).status_code

        def by_each(function):
            answers = []
            for pid in (second, first):
                with stopped(pid):
                    answers.append(function())
            return answers

        # a file that one has translated is downloaded from the other
        with stopped(second):
            answer = ask(
                server,
                "POST",
                "/translate_file",
                data=FIELDS,
                files={"file": ("a.txt", SOURCE.encode())},
            )
            path = answer.json()["translatedFileUrl"].removeprefix(server.address)
        with stopped(first):
            answer = ask(server, "GET", path)
            assert (answer.status_code, answer.text) == (200, TARGET)
            assert answer.headers["content-disposition"] == 'attachment; filename="a_fr.txt"'
            assert ask(server, "GET", f"{path}x").status_code == 404
        private = private_folder(server)
        assert private.stat().st_mode & 0o777 == 0o700
        assert path.rpartition("/")[2] not in {file.name for file in private.rglob("*")}

        # three requests a minute of a key are three of all workers
        assert [*by_each(lambda: asked(limited)), asked(limited)] == [200] * 3
        assert by_each(lambda: asked(limited)) == [429] * 2
        until(lambda: by_each(lambda: num_detected(server)) == [5, 5])  # after the responses

        # a key that was revoked is refused by all, by SIGHUP and by an admin's request
        revoke_key(keys, "old")
        assert by_each(lambda: asked(old)) == [200, 200]
        server.process.send_signal(signal.SIGHUP)
        until(lambda: len(events(server, "models loaded")) == 4)
        assert by_each(lambda: asked(old)) == [403, 403]
        make_key(keys, "another")
        assert ask(server, "POST", "/v1/reload", json={"api_key": admin}).status_code == 200
        until(lambda: len(events(server, "models loaded")) == 8)
        changes = [line["new"] for line in events(server, "keys changed")]
        assert sorted(changes) == [[]] * 4 + [["another"]] * 4

        # one is killed while the other works: it is replaced, and its counts stay
        long = " ".join(source for source, _ in FRENCH * 36)
        with stopped(first):
            asking = Asking(server, long)
            os.kill(first, signal.SIGKILL)
        assert asking.finish() == " ".join(target for _, target in FRENCH * 36)
        until(lambda: events(server, "worker started"))
        (end,), (start,) = events(server, "worker ended"), events(server, "worker started")
        assert (end["worker"], end["pid"], start["worker"]) == (1, first, 1)
        assert "SIGKILL" in end["how"]
        third = start["pid"]
        pattern = r'process_resident_memory_bytes\{worker="1"\}'
        until(lambda: answers_while(server, stopped(second)))  # the new one does
        with stopped(second):
            until(lambda: num_detected(server) == 9)
            assert re.search(pattern, ask(server, "GET", "/metrics").text)

        # SIGTERM: what runs is finished, and nothing stays
        asking = Asking(server, long)
        server.process.send_signal(signal.SIGTERM)
        assert asking.finish().startswith(TARGET)
        assert server.process.wait(60) == 0
        assert not any(map(runs, (first, second, third)))
        assert not private.exists()
        assert not [line for line in server.log if line["level"] == "error" and line is not end]


def test_workers_end_with_their_supervisor(folder):
    words = ["--model", folder, "--workers", "2"]
    with running(*words) as server:
        private = private_folder(server)
        assert private.exists()
        server.process.kill()
        until(lambda: not any(map(runs, server.pids)))
        assert not private.exists()
        with pytest.raises(httpx.ConnectError):
            ask(server, "GET", "/health")


def test_a_model_that_a_worker_cannot_load_is_one_sentence(folder, tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(folder, damaged)
    (damaged / "engine").is_dir() and shutil.rmtree(damaged / "engine")
    weights = damaged / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    done = run("serve", "--model", damaged, "--port", "0", "--workers", "2")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("regard: ") and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.slow
def test_a_server_that_hangs_answers_again(folder):
    """One worker only, whose event loop stands still: it is killed and replaced."""
    with running("--model", folder) as server:
        os.kill(server.pids[0], signal.SIGSTOP)
        answer = ask(server, "POST", "/translate", json={**FIELDS, "q": SOURCE})
        assert answer.json()["translatedText"] == TARGET
        assert events(server, "worker killed: its event loop hangs")[0]["pid"] == server.pids[0]
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0


SUPERVISED = """
import sys, time
from pathlib import Path
from regard.errors import InputError
from regard.server.http.log import write_log
from regard.server.workers.link import BEAT, GROWN
from regard.server.workers.supervisor import Supervisor

def work(number, channel):
    if Path(sys.argv[2]).exists():
        sys.exit(7)
    while channel.send(BEAT):
        time.sleep(0.1)
        if number == 1 and Path(sys.argv[2]).with_name("grown").exists():
            Path(sys.argv[2]).with_name("grown").unlink()
            channel.send(GROWN)
            sys.exit(0)

def announce(pids):
    print(*pids, flush=True)

write_log()
try:
    Supervisor(int(sys.argv[1]), work, on_start=announce, stuck_seconds=float(sys.argv[3])).run()
except InputError as error:
    print(error)
"""


@contextmanager
def supervised(num_workers, broken, stuck_seconds=2):
    """A supervisor of workers that only send heartbeats, and of none if a file is there."""
    process = Process(num_workers, broken, stuck_seconds, code=SUPERVISED)
    try:
        yield process, [int(pid) for pid in process.stdout.readline().split() if pid.isdigit()]
    finally:
        process.kill()
        process.communicate()


def test_a_worker_that_hangs_is_replaced(tmp_path):
    with supervised(2, tmp_path / "broken") as (process, pids):
        os.kill(pids[1], signal.SIGSTOP)
        lines = map(json.loads, process.stderr)
        killed = next(line for line in lines if line.get("pid") == pids[1])
        assert killed["event"] == "worker killed: its event loop hangs" and killed["worker"] == 2
        next(line for line in lines if line["event"] == "worker started" and line["worker"] == 2)
        assert not runs(pids[1])
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_a_worker_that_ends_as_it_has_grown_is_replaced(tmp_path):
    with supervised(2, tmp_path / "broken") as (process, pids):
        (tmp_path / "grown").touch()
        lines = map(json.loads, process.stderr)
        line = next(lines)
        assert (line["event"], line["level"]) == ("worker replaced: it has grown", "info")
        assert (line["worker"], line["pid"]) == (2, pids[1])
        line = next(lines)
        assert (line["event"], line["worker"]) == ("worker started", 2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_a_supervisor_that_was_stopped_kills_nobody(tmp_path):
    with supervised(2, tmp_path / "broken") as (process, pids):
        for pid in (process.pid, *pids):
            os.kill(pid, signal.SIGSTOP)
        threading.Event().wait(2.5)  # longer than a worker may be silent
        for pid in (process.pid, *pids):
            os.kill(pid, signal.SIGCONT)
        threading.Event().wait(0.2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert process.stderr.read() == ""


def test_a_second_signal_ends_at_once_what_does_not_finish(tmp_path):
    with supervised(2, tmp_path / "broken", stuck_seconds=60) as (process, pids):
        os.kill(pids[0], signal.SIGSTOP)  # it does not even see SIGTERM
        process.send_signal(signal.SIGTERM)
        until(lambda: not runs(pids[1]))
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert not any(map(runs, pids))


def test_starts_that_fail_again_and_again_end_the_server(tmp_path):
    broken = tmp_path / "broken"
    with supervised(4, broken) as (process, pids):
        broken.touch()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        assert "a worker ended with exit code 7 before it could serve" in process.stdout.read()
        assert process.wait(60) == 0
