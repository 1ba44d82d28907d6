"""Pages of other sites: what they may not ask of a server, through the browser of its user."""

import socket
from contextlib import suppress

import httpx
import pytest

from regard.server.access.foreign_pages import ForeignPages
from regard.server.http.metrics_port import serving_metrics
from regard.server.http.run import listen
from servers import serving, until
from trained import taught

SOURCE, TARGET = taught("en-fr")[0]
FIELDS = {"q": SOURCE, "source": "en", "target": "fr"}
PAGE = "https://page.example"
FETCHED = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}
VISITED = {**FETCHED, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


def statuses(client, headers):
    """Of a request that reads and of one that computes."""
    answers = (
        client.get("/languages", headers=headers),
        client.post("/translate", json=FIELDS, headers=headers),
    )
    assert all(answer.is_success or set(answer.json()) == {"error"} for answer in answers)
    assert all(answer.headers["x-content-type-options"] == "nosniff" for answer in answers)
    return [answer.status_code for answer in answers]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:5000", "127.0.0.1.evil.example"])
def test_a_name_that_was_pointed_here_is_refused(client, host):
    own = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
    assert statuses(client, own) == [421, 421]
    sentence = client.get("/", headers={"host": host}).json()["error"]
    assert f"--allowed-host {host.partition(':')[0]}" in sentence
    assert client.get("/health", headers={"host": "a b"}).status_code == 400


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8080", "[::1]:5000"])
def test_names_of_this_computer_are_answered(client, host):
    assert statuses(client, {"host": host}) == [200, 200]


def test_names_that_are_allowed(catalogue):
    with serving(catalogue, hosts=("translate.example.org", "*.example.net")) as client:
        for host in ("translate.example.org", "a.example.net:8443"):
            page = {"host": host, "origin": f"https://{host}"}
            assert statuses(client, page) == [200, 200]
            assert statuses(client, {**page, "sec-fetch-site": "same-origin"}) == [200, 200]
        assert statuses(client, {"host": "example.net"}) == [421, 421]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": PAGE},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": "http://127.0.0.1:1"},  # another server of this computer
        {"origin": PAGE, **FETCHED},
        {**FETCHED, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
        {**VISITED, "sec-fetch-dest": "iframe"},
        {"origin": "http://localhost:3000", **FETCHED, "sec-fetch-site": "same-site"},
    ],
)
def test_pages_of_other_origins_are_refused(client, headers):
    assert statuses(client, headers) == [403, 403]


def test_a_form_of_another_page_is_refused_and_a_link_is_followed(client):
    headers = {"origin": PAGE, **VISITED}
    assert client.post("/translate", data=FIELDS, headers=headers).status_code == 403
    assert client.get("/", headers=VISITED).status_code == 200
    assert client.head("/", headers=VISITED).status_code == 200


def test_the_own_page_and_programs_are_answered(client):
    address = client.address.removeprefix("http://")
    typed = {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}
    for headers in (
        {},
        {"origin": client.address},
        {"origin": client.address, "sec-fetch-site": "same-origin"},
        {"host": address, "origin": f"https://{address}"},  # a proxy ended TLS
        {"host": "localhost", "origin": "https://localhost"},
        {"host": "localhost:443", "origin": "https://localhost"},
        typed,
    ):
        assert statuses(client, headers) == [200, 200], headers
    assert statuses(client, {"host": "localhost", "origin": "https://localhost:444"}) == [403, 403]


def test_pages_that_cors_allows(catalogue):
    with serving(catalogue, cors=(PAGE,)) as client:
        assert statuses(client, {"origin": PAGE, **FETCHED}) == [200, 200]
        assert statuses(client, {"origin": "https://other.example", **FETCHED}) == [403, 403]
        assert statuses(client, FETCHED) == [403, 403]  # of whom, nobody knows
        assert statuses(client, {"origin": PAGE, "host": "evil.example"}) == [421, 421]
    with serving(catalogue, cors=("*",)) as client:
        for headers in ({"origin": PAGE, **FETCHED}, {"origin": "null"}, FETCHED):
            assert statuses(client, headers) == [200, 200]


def test_the_port_of_metrics_has_few_connections():
    listener = listen("127.0.0.1", 0)
    address = listener.getsockname()
    with serving_metrics(listener, lambda: b"metrics", ForeignPages(["127.0.0.1"])):
        silent = [socket.create_connection(address) for _ in range(16)]
        with socket.create_connection(address, timeout=60) as one_more:
            assert one_more.recv(100) == b""
        for connection in silent:
            connection.close()

        def answers():
            with suppress(httpx.TransportError):
                url = f"http://127.0.0.1:{address[1]}/metrics"
                return httpx.get(url, trust_env=False).text == "metrics"

        until(answers)


def test_a_refusal_is_logged_and_counted(catalogue):
    with serving(catalogue) as client:
        assert statuses(client, {"host": "evil.example"}) == [421, 421]
        text = client.get("/metrics").text
    assert 'regard_requests_total{path="/translate",status="421"} 1.0' in text
