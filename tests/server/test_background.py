"""Background work delays no other request, and neither does a document that is never read."""

import asyncio
import json
import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from processes import Process, descendants, is_gone
from regard.cancellation import CancelledWorkError, check_cancelled
from regard.documents.processes import ParserLimits
from regard.server.http.errors import ApiError
from regard.server.queue.client_threads import ClientThreads
from servers import runs, serving, until
from trained import taught, trained

SOURCE, TARGET = taught("en-fr")[0]
PAGE = {"q": f"<p>{SOURCE}</p>", "source": "en", "target": "fr", "format": "html"}
TRANSLATED = f"<p>{TARGET}</p>"


def test_a_function_whose_asker_is_gone_is_not_called():
    called = []

    async def work():
        background, go = ClientThreads("background", 1, 3), threading.Event()
        first = background.submit(lambda: called.append(1) or go.wait(10))
        second, third = (
            background.submit(lambda: called.append(2)),
            background.submit(lambda: called.append(3)),
        )
        with pytest.raises(ApiError) as refused:
            background.submit(lambda: called.append(4))
        assert refused.value.status == 503
        second.cancel()
        await asyncio.sleep(0)
        fifth = background.submit(lambda: called.append(5))  # its place is free again
        go.set()
        await asyncio.gather(first, third, fifth)
        background.close()

    asyncio.run(work())
    assert called == [1, 3, 5]


def test_what_is_called_can_learn_that_nobody_waits():
    heard = []

    def wait():
        try:
            until(lambda: check_cancelled() or False)
        except CancelledWorkError:
            heard.append(True)

    async def work():
        background = ClientThreads("background", 1, 3)
        begun = threading.Event()
        future = background.submit(lambda: begun.set() or wait())
        await asyncio.to_thread(begun.wait)
        future.cancel()
        await background.submit(lambda: None)  # when the thread is free again
        background.close()

    asyncio.run(work())
    assert heard == [True]


def test_clients_take_turns_and_leave_each_other_threads():
    """Two threads: of a client that sends much one is busy, and another's work is next."""
    order = []

    async def work():
        threads, go = ClientThreads("documents", 2, 8), threading.Event()
        greedy = [
            threads.submit(lambda n=n: go.wait(60) and order.append(f"greedy {n}"), "greedy")
            for n in range(5)
        ]
        modest = [
            threads.submit(lambda n=n: order.append(f"modest {n}"), "modest") for n in range(2)
        ]
        await asyncio.gather(*modest)  # while the greedy client's first is called
        assert len(threads) == 5
        full = [threads.submit(lambda: order.append("third"), f"third {n}") for n in range(4)]
        answers = asyncio.gather(*greedy, *full, return_exceptions=True)
        go.set()
        refused = [isinstance(answer, ApiError) for answer in await answers]
        threads.close()
        return refused

    refused = asyncio.run(work())
    assert order[:2] == ["modest 0", "modest 1"] and order.count("third") == 4
    assert refused[:5] == [False, False, False, False, True] and not any(refused[5:])


def translates_pages(client):
    """Whether both processes do: that which was used longest ago reads the next page."""
    pages = [client.post("/translate", json=PAGE).json() for _ in range(2)]
    return [page["translatedText"] for page in pages] == [TRANSLATED] * 2


def stop(pids):
    """Processes do nothing any more, as if they were reading for ever."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)


def test_pages_that_take_for_ever_hold_up_no_one_else(catalogue, caplog):
    """Others are answered meanwhile; the processes are replaced, and that is in the log."""
    with serving(catalogue) as client, ThreadPoolExecutor(1) as threads:
        service, url = client.service, f"{client.address}/translate"
        assert translates_pages(client)
        before = service.parsers.pids
        assert len(before) == 2
        stop(before)
        page = threads.submit(httpx.post, url, json=PAGE, trust_env=False, timeout=120)
        until(lambda: len(service.parser_threads))
        for path, fields in (("/detect", PAGE), ("/translate", {**PAGE, "format": "text"})):
            assert client.post(path, json=fields).status_code == 200
        assert client.get("/health").status_code == 200
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        until(lambda: not any(map(runs, before)))  # on a busy machine they do not end at once
        assert page.result().status_code == 400
        assert page.result().json()["error"].startswith("the text ")
        assert translates_pages(client)

        stop(service.parsers.pids)
        stopped, service.parsers.limits = service.parsers.pids, ParserLimits(0.2, 0)
        answer = client.post("/translate", json=PAGE)
        assert answer.status_code == 400
        assert "the text takes longer than 0.2 s to read; " in answer.json()["error"]
        service.parsers.limits = ParserLimits()
        for pid in {*stopped} & {*service.parsers.pids}:
            os.kill(pid, signal.SIGCONT)
        assert translates_pages(client)
    died, late = [record.fields for record in caplog.records if "is replaced" in record.message]
    assert died["pid"] in before and late["pid"] in stopped
    assert {"problem": "time", "verb": "read", "format": "html"}.items() <= late.items()
    assert SOURCE not in str([died, late])


def test_a_client_that_disconnects_frees_its_process(catalogue):
    with serving(catalogue) as client:
        assert translates_pages(client)
        before = client.service.parsers.pids
        stop(before)
        body = json.dumps(PAGE).encode()
        head = f"host: localhost\r\ncontent-length: {len(body)}\r\ncontent-type: application/json"
        address = client.address.removeprefix("http://").split(":")
        with socket.create_connection(address) as connection:
            connection.sendall(f"POST /translate HTTP/1.1\r\n{head}\r\n\r\n".encode() + body)
            until(lambda: len(client.service.parser_threads))
        until(lambda: not len(client.service.parser_threads))
        (left,) = set(before) & set(client.service.parsers.pids)
        os.kill(left, signal.SIGKILL)
        until(lambda: is_gone(left))
        assert translates_pages(client)


def test_a_document_that_takes_too_much_memory(catalogue):
    with serving(catalogue) as client:
        client.service.parsers.limits = ParserLimits(memory=16 << 20, memory_per_byte=0)
        page = ("a.html", b"<p>x</p>" * 10_000)
        answer = client.post(
            "/translate_file", data={"source": "en", "target": "fr"}, files={"file": page}
        )
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("the file takes more than 16 MB of memory to read")


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)]
)
def test_a_stopped_reader_stops_no_server(tmp_path_factory, number):
    """SIGTERM ends it in time, though a request waits; a killed one leaves no process behind."""
    folder = str(trained("en-fr", tmp_path_factory))
    server = Process("serve", "--model", folder, "--port", "0", "--timeout", "1")
    try:
        address = server.stdout.readline().split(" at ")[1].strip()
        url = f"{address}/translate"
        assert httpx.get(f"{address}/health", trust_env=False, timeout=60).status_code == 200
        readers = descendants(server.pid, "regard.documents.processes.parser")
        assert len(readers) >= 2
        stop(readers)
        with ThreadPoolExecutor() as threads:
            page = threads.submit(httpx.post, url, json=PAGE, trust_env=False, timeout=60)
            until(lambda: "regard_waiting_requests 1.0" in metrics(address) or page.done())
            server.send_signal(number)
            assert server.wait(60) == (0 if number == signal.SIGTERM else -number)
            if number == signal.SIGTERM:
                assert page.result().status_code == 503
        until(lambda: all(map(is_gone, readers)))
    finally:
        server.kill()
        server.wait()


def metrics(address):
    return httpx.get(f"{address}/metrics", trust_env=False, timeout=60).text
