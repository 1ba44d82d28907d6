"""A request's head must come in time; whoever is prompt is not disturbed."""

import contextlib
import socket
import time

import pytest

from regard.server.http.run import listen
from regard.server.http.slow_client import SlowClientProtocol
from servers import serving

LONG = 20_000_000  # characters: more than the system keeps for a connection
HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def address(catalogue):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SlowClientProtocol, "head_seconds", 0.5)
        patch.setattr(SlowClientProtocol, "read_seconds", 0.5)
        with serving(catalogue, characters=LONG) as client:
            yield client.address.removeprefix("http://").split(":")


@contextlib.contextmanager
def connected(address):
    with socket.create_connection((address[0], int(address[1])), timeout=10) as one:
        yield one


def is_closed(one, send=b"", every=0.05):
    """Whether the server closes the connection while we go on sending a letter at a time."""
    give_up = time.monotonic() + 30
    one.settimeout(every)
    letters = iter(send)
    while time.monotonic() < give_up:
        with contextlib.suppress(StopIteration, OSError):
            one.sendall(bytes([next(letters)]))
        try:
            if one.recv(100) == b"":
                return True
        except TimeoutError:
            pass
        except OSError:
            return True
    return False


def answer(one):
    """All of an answer, which ends with its JSON."""
    said = b""
    while not said.endswith(b"}"):
        said += one.recv(10_000)
    return said


@pytest.mark.parametrize("send", [b"", HEAD[:20], b"GET /health HTTP/1.1\r\n" + b"x: y\r\n" * 99])
def test_a_head_that_takes_too_long(address, send):
    start = time.monotonic()
    with connected(address) as one:
        assert is_closed(one, send)
    assert time.monotonic() - start > 0.3  # not at once


def test_the_second_request_of_a_connection_too(address):
    with connected(address) as one:
        one.sendall(HEAD)
        assert b"200 OK" in answer(one)
        one.sendall(HEAD[:10])
        assert is_closed(one, HEAD[10:20])


def test_a_slow_body_and_slow_questions_are_not_disturbed(address):
    """The body has its own time, and between two requests a connection may rest."""
    body = b'{"q": "x", "source": "fr", "target": "fr"}'
    head = (
        b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body)
    )
    with connected(address) as one:
        for _ in range(2):
            one.sendall(head + body[:5])
            time.sleep(0.8)
            one.sendall(body[5:])
            assert b"200 OK" in answer(one)
            time.sleep(0.8)


def long_answer(one):
    """Ask for an answer as long as may be; the number of its bytes, all but some of the head."""
    body = b'{"source": "fr", "target": "fr", "q": "%s"}' % (b"x" * LONG)
    one.settimeout(20)
    one.sendall(
        b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body) + body
    )


def test_an_answer_that_is_not_read_is_not_kept(address):
    with connected(address) as one:
        long_answer(one)
        time.sleep(2.5)
        came = 0
        with contextlib.suppress(OSError):
            while some := one.recv(1_000_000):
                came += len(some)
    assert came < LONG


def test_an_answer_that_is_read_slowly_is_whole(address):
    with connected(address) as one:
        long_answer(one)
        came, pause = 0, 0.1
        while came < LONG:
            some = one.recv(1_000_000)
            assert some, came
            came += len(some)
            time.sleep(pause if came < 10_000_000 else 0)
    assert came > LONG


def test_a_response_does_not_wait_for_the_acknowledgment_of_its_head():
    door = listen("127.0.0.1", 0)
    with door, socket.create_connection(door.getsockname()), door.accept()[0] as connection:
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
