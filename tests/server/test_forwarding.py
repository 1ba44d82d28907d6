"""What may take long is answered by another process, which the rest does not wait for."""

import json
import os
import signal
import socket
import threading
from contextlib import contextmanager

import httpx
import pytest

from regard.server.workers.forwarding import SHORT_BYTES
from servers import running, until
from trained import taught, trained

FRENCH = taught("en-fr")
SOURCE, TARGET = FRENCH[0]
FIELDS = {"source": "en", "target": "fr"}
LONG = " ".join(source for source, _ in FRENCH * 20)[:9_000]
JSON, ORIGIN = {"content-type": "application/json"}, {"origin": "https://a.example"}
PAGE = f"<p>{SOURCE}</p>"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = str(trained("en-fr", tmp_path_factory))
    with running("--model", folder, "--threads", "1", "--cors", "https://a.example") as one:
        yield one


@pytest.fixture
def client(server):
    with httpx.Client(base_url=server.address, trust_env=False, timeout=60) as one:
        yield one


@contextmanager
def stopped(pids):
    """Processes that do nothing for a while."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def translate(client, q, **fields):
    return client.post("/translate", json={"q": q, **FIELDS, **fields})


def test_the_background_worker_gives_way(server):
    priorities = [os.getpriority(os.PRIO_PROCESS, pid) for pid in server.pids + server.background]
    assert priorities[1] == priorities[0] + 15


def test_short_texts_do_not_wait_for_the_background_worker(client, server):
    texts = [SOURCE, FRENCH[1][0]]
    with stopped(server.background):
        assert translate(client, SOURCE).json() == {"translatedText": TARGET}
        assert translate(client, texts, format="text", alternatives=0).status_code == 200
        form = client.post("/translate", data={"q": SOURCE, **FIELDS})
        assert form.json() == {"translatedText": TARGET}
        assert client.post("/detect", json={"q": SOURCE}).status_code == 200
        for path in ("/health", "/languages", "/metrics", "/spec", "/", "/v1/models"):
            assert client.get(path).status_code == 200


WAITING = {
    "long": {"q": LONG},
    "html": {"q": PAGE, "format": "html"},
    "glossary": {"q": SOURCE, "glossary": {"one": "un"}},
    "alternatives": {"q": SOURCE, "alternatives": 2},
}


@pytest.mark.parametrize("name", WAITING)
def test_what_may_take_long_waits_for_it(client, server, name):
    answers = []
    with stopped(server.background):
        asking = threading.Thread(target=lambda: answers.append(translate(client, **WAITING[name])))
        asking.start()
        asking.join(0.3)
        assert not answers
    asking.join()
    assert answers[0].status_code == 200


def test_long_texts_are_translated_as_short_ones(client):
    texts = [SOURCE] * 100
    assert len(json.dumps(texts)) > SHORT_BYTES
    assert translate(client, texts).json()["translatedText"] == [TARGET] * 100


def test_headers_languages_and_streams_pass(client):
    answer = translate(client, PAGE, format="html")
    assert answer.json()["translatedText"] == f"<p>{TARGET}</p>"
    assert answer.headers["cache-control"] == "no-store" and answer.headers["x-request-id"]
    answer = client.post("/translate", json={"q": LONG, **FIELDS}, headers=ORIGIN)
    assert answer.headers.get_list("access-control-allow-origin") == ["https://a.example"]
    with client.stream("POST", "/v1/stream", json={"q": SOURCE, **FIELDS}) as stream:
        events = [line for line in stream.iter_lines() if line.startswith("event: ")]
    assert events[0] == "event: word" and events[-1] == "event: done"
    file = {"file": ("猫.txt", SOURCE.encode())}
    url = client.post("/translate_file", data=FIELDS, files=file).json()["translatedFileUrl"]
    assert url.startswith(str(client.base_url))
    assert client.get(url).text == TARGET


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"{" * (SHORT_BYTES + 1), 400), (b"{", 400), (b" " * 400_000, 413)],
    ids=["long", "short", "too long"],
)
def test_errors_pass(client, content, status):
    answer = client.post("/translate", content=content, headers=JSON)
    assert answer.status_code == status and answer.json()["error"]


def test_a_body_without_an_announced_length_passes(client):
    body = json.dumps({"q": SOURCE, **FIELDS}).encode()
    answer = client.post("/translate", content=iter([body[:9], body[9:]]), headers=JSON)
    assert answer.json() == {"translatedText": TARGET}


def test_the_log_has_what_the_background_worker_noted(client, server):
    identity = translate(client, LONG).headers["x-request-id"]
    until(lambda: any(line.get("id") == identity for line in server.log))
    (line,) = [line for line in server.log if line.get("id") == identity]
    assert line["characters"] == len(LONG) and line["path"] == "/translate"


def test_a_client_that_disconnects_is_given_up(client, server):
    body = json.dumps({"q": LONG, **FIELDS}).encode()
    host, port = server.address.removeprefix("http://").split(":")
    head = (
        f"POST /translate HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + body)
        until(lambda: "regard_waiting_requests 1.0" in client.get("/metrics").text)
    until(lambda: "regard_waiting_requests 0.0" in client.get("/metrics").text)
    until(lambda: any(line.get("status") == 499 for line in server.log))


def test_a_background_worker_that_dies_is_replaced(tmp_path_factory):
    """What it was doing is refused with a sentence; short texts notice nothing."""
    folder = str(trained("en-fr", tmp_path_factory))
    with running("--model", folder, "--threads", "1") as server:
        options = {"base_url": server.address, "trust_env": False, "timeout": 60}
        with httpx.Client(**options) as client:
            answers = []
            asking = threading.Thread(target=lambda: answers.append(translate(client, LONG * 2)))
            asking.start()
            with httpx.Client(**options) as other:
                until(lambda: "regard_waiting_requests 1.0" in other.get("/metrics").text)
                os.kill(server.background[0], signal.SIGKILL)
                assert translate(other, SOURCE).json() == {"translatedText": TARGET}
            asking.join()
            assert answers[0].status_code == 503 and answers[0].headers["retry-after"]
            assert translate(client, LONG).status_code == 200  # by another one
            assert translate(client, LONG).json()["translatedText"].startswith(TARGET)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
