"""Who may ask, how often, and what is written down of it."""

import json
import logging
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processes import run
from regard.errors import InputError
from regard.server.access.keys import find_key, make_key, read_keys, revoke_key
from regard.server.access.rates import RateLimiter, client_network
from regard.server.http.log import LOGGER, JsonFormatter
from servers import serving, until
from trained import taught

SOURCE, TARGET = taught("en-fr")[0]
FIELDS = {"q": SOURCE, "source": "en", "target": "fr"}


def test_keys_are_kept_as_hashes(tmp_path):
    path = tmp_path / "keys"
    one, two = make_key(path, "one", rate=5), make_key(path, "two", admin=True)
    assert one != two and len(one) >= 40
    assert one not in path.read_text() and two not in path.read_text()
    keys = read_keys(path)
    assert [(key.name, key.rate, key.admin) for key in keys] == [
        ("one", 5, False),
        ("two", None, True),
    ]
    assert find_key(one, keys).name == "one" and find_key(two, keys).name == "two"
    assert find_key(one[:-1], keys) is None and find_key("\ud800", keys) is None
    with pytest.raises(InputError, match="there is a key one already"):
        make_key(path, "one")
    with pytest.raises(InputError, match="a key's name must be"):
        make_key(path, "a\nb")
    path.write_text("nonsense\n")
    with pytest.raises(InputError, match="line 1: this is no key"):
        read_keys(path)


def test_a_keys_file_keeps_what_its_owner_wrote(tmp_path):
    path = tmp_path / "keys"
    make_key(path, "zoe", rate=5)
    path.write_text(f"# the office\n\n{path.read_text()}# the others", encoding="utf-8")
    before = path.read_text()
    make_key(path, "ann")
    assert path.read_text().startswith(before + "\nann ")
    assert [key.name for key in read_keys(path)] == ["zoe", "ann"]
    after = path.read_text()
    with pytest.raises(InputError, match="rate must not be negative, got -5"):
        make_key(path, "bad", rate=-5)
    assert path.read_text() == after


def test_a_keys_file_stays_readable_for_whom_it_was(tmp_path):
    path = tmp_path / "keys"
    make_key(path, "ann")
    owner = (12345, 12346) if os.getuid() == 0 else (os.getuid(), os.getgid())
    os.chown(path, *owner)
    path.chmod(0o640)
    make_key(path, "zoe")
    revoke_key(path, "ann")
    after = path.stat()
    assert (after.st_uid, after.st_gid, after.st_mode & 0o777) == (*owner, 0o640)


def test_a_required_key(catalogue, tmp_path):
    path = tmp_path / "keys"
    good = make_key(path, "good")
    with serving(catalogue, read_keys(path), key_required=True) as client:
        for wrong in ({}, {"api_key": "wrong"}, {"api_key": ""}):
            answer = client.post("/translate", json={**FIELDS, **wrong})
            assert answer.status_code == 403 and set(answer.json()) == {"error"}
        assert client.post("/translate", json={**FIELDS, "api_key": good}).status_code == 200
        assert client.post("/translate", data={**FIELDS, "api_key": good}).status_code == 200
        assert client.post("/detect", json={"q": "x"}).status_code == 403
        assert client.post("/v1/reload", json={"api_key": good}).status_code == 403
        assert client.get("/frontend/settings").json()["keyRequired"] is True
        assert client.get("/languages").status_code == 200


def test_a_key_that_is_not_needed(client):
    assert client.post("/translate", json={**FIELDS, "api_key": "any"}).status_code == 200
    assert client.post("/v1/reload", json={"api_key": "any"}).status_code == 403


def test_too_many_requests_are_429(catalogue, tmp_path):
    path = tmp_path / "keys"
    free = make_key(path, "free", rate=0)
    with serving(catalogue, read_keys(path), rate=2) as client:
        statuses = [client.post("/detect", json={"q": "x"}).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
        answer = client.post("/translate", json=FIELDS)
        assert answer.status_code == 429 and 1 <= int(answer.headers["retry-after"]) <= 30
        for _ in range(4):
            assert client.post("/detect", json={"q": "x", "api_key": free}).status_code == 200


@given(st.lists(st.floats(0, 30), max_size=60), st.integers(1, 20))
def test_no_minute_has_more_than_twice_the_rate(pauses, rate):
    now = 0.0
    rates = RateLimiter(clock=lambda: now)
    admitted = []
    for pause in pauses:
        now += pause
        wait = rates.wait("somebody", rate)
        assert wait >= 0
        if not wait:
            admitted.append(now)
    for start in admitted:
        assert sum(start <= at < start + 60 for at in admitted) <= 2 * rate


FORKED = """
import os
from regard.server.access.rates import RateLimiter

rates = RateLimiter(clock=lambda: 0.0)
reader, writer = os.pipe()
for _ in range(4):
    if os.fork() == 0:
        os.write(writer, bytes(1 for _ in range(200) if not rates.wait("client", 100)))
        os._exit(0)
for _ in range(4):
    os.wait()
os.close(writer)
print(len(os.read(reader, 10_000)))
"""


def test_processes_share_the_buckets():
    assert run(code=FORKED).stdout == "100\n"


@given(st.ip_addresses(v=4))
def test_an_address_of_ipv4_is_itself_however_it_is_written(address):
    assert client_network(f"::ffff:{address}") == client_network(str(address)) == str(address)


def test_buckets_do_not_pile_up():
    now = 0.0
    rates = RateLimiter(clock=lambda: now, max_clients=3)
    for number in range(20):
        assert rates.wait(f"address {number}", 1) == 0
        now += 0.001
    assert rates.wait("address 19", 1) > 0
    assert rates.wait("address 0", 1) == 0  # it was given up for later ones


def test_swapping_models_by_a_key(catalogue, tmp_path):
    path = tmp_path / "keys"
    admin = make_key(path, "admin", admin=True)
    with serving(catalogue, read_keys(path)) as client:
        before = catalogue.models
        answer = client.post("/v1/reload", json={"api_key": admin})
        assert answer.status_code == 200
        assert [one["name"] for one in answer.json()] == ["en-fr", "rnn", "en-zh"]
        assert catalogue.models[0].translator is not before[0].translator
        assert client.post("/translate", json=FIELDS).json()["translatedText"] == TARGET
        folders, catalogue.folders = catalogue.folders, ("/nowhere",)
        try:
            assert client.post("/v1/reload", json={"api_key": admin}).status_code == 503
        finally:
            catalogue.folders = folders
        assert client.post("/translate", json=FIELDS).json()["translatedText"] == TARGET


def test_pages_of_other_origins(catalogue, client):
    headers = {"origin": "https://example.org"}
    assert "access-control-allow-origin" not in client.get("/health", headers=headers).headers
    with serving(catalogue, cors=("https://example.org",)) as other:
        answer = other.get("/health", headers=headers)
        assert answer.headers["access-control-allow-origin"] == "https://example.org"
        asked = {
            **headers,
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type",
        }
        assert other.options("/translate", headers=asked).status_code == 200
        assert answer.headers["access-control-expose-headers"] == "Retry-After"
        headers["origin"] = asked["origin"] = "https://elsewhere.example"
        refused = other.options("/translate", headers=asked)
        assert refused.status_code == 400 and set(refused.json()) == {"error"}
        assert refused.headers["content-type"] == "application/json"
        assert "access-control-allow-origin" not in refused.headers
        assert "access-control-allow-origin" not in other.get("/health", headers=headers).headers


def test_a_page_of_another_origin_sees_errors_too(catalogue, monkeypatch):
    def fails(*_, **__):
        raise KeyError

    with serving(catalogue, cors=("*",)) as client:
        monkeypatch.setattr(client.service.admission, "check", fails)
        answer = client.post("/translate", json=FIELDS, headers={"origin": "https://a.example"})
    assert answer.status_code == 500 and set(answer.json()) == {"error"}
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["x-content-type-options"] == "nosniff"


class Kept(logging.Handler):
    """The lines as they would be written."""

    def __init__(self):
        super().__init__()
        self.lines = []
        self.setFormatter(JsonFormatter())

    def emit(self, record):
        self.lines.append(self.format(record))


@pytest.fixture
def kept():
    """All lines that are logged."""
    kept = Kept()
    LOGGER.setLevel(logging.INFO)
    yield kept
    LOGGER.setLevel(logging.NOTSET)


def test_no_text_is_logged(catalogue, kept, monkeypatch):
    monkeypatch.setattr(LOGGER, "handlers", [kept])
    secret = "Xyzzy"
    with serving(catalogue) as client:
        fields = {**FIELDS, "q": f"{SOURCE} {secret}"}
        client.post("/translate", json=fields)
        client.post("/translate", params=fields)
        client.post("/translate", json={**fields, "source": secret})
        client.get(f"/{secret}")
        client.request(secret.upper(), "/health")

        def fails(*_, **__):
            raise KeyError(secret)

        monkeypatch.setattr(client.service.admission, "check", fails)
        answer = client.post("/translate", json=fields)
        assert answer.status_code == 500 and set(answer.json()) == {"error"}
        metrics = client.get("/metrics").text
    lines = [json.loads(line) for line in kept.lines]
    requests = [line for line in lines if line["event"] == "request"]
    assert [line["status"] for line in requests] == [200, 200, 400, 404, 405, 500, 200]
    assert requests[0]["path"] == "/translate" and requests[3]["path"] == "other"
    assert requests[0]["characters"] == len(fields["q"]) and requests[0]["ms"] > 0
    assert requests[5]["error"] == "KeyError" and requests[5]["places"]
    assert secret.lower() not in "".join(kept.lines).lower()
    assert secret.lower() not in metrics.lower()
    assert 'regard_requests_total{path="other",status="404"} 1.0' in metrics


def test_what_others_log_is_told_without_their_words():
    record = logging.LogRecord("python_multipart", 30, "", 0, "bad: %s", ("secret",), None)
    line = json.loads(JsonFormatter().format(record))
    assert line["event"] == "message of python_multipart" and line["level"] == "warning"


def test_metrics_can_be_left_out(catalogue):
    with serving(catalogue, metrics=False) as client:
        assert client.get("/metrics").status_code == 404


def test_wrong_keys_are_counted_by_address_and_lock_nobody_out(catalogue, tmp_path):
    path = tmp_path / "keys"
    good = make_key(path, "good")
    with serving(catalogue, read_keys(path), wrong_keys=3) as client:
        wrong = [client.post("/detect", json={"q": "x", "api_key": f"k{n}"}) for n in range(4)]
        assert [answer.status_code for answer in wrong] == [403, 403, 403, 429]
        assert 1 <= int(wrong[3].headers["retry-after"]) <= 20
        assert wrong[3].json()["error"] == "Slowdown: 3 wrong API keys per 1 minute"
        assert client.post("/detect", json={"q": "x", "api_key": good}).status_code == 200
        assert client.post("/detect", json={"q": "x"}).status_code == 200
        assert client.post("/detect", json={"q": "x", "api_key": "k9"}).status_code == 429


def test_wrong_keys_are_counted_without_being_told(catalogue, tmp_path):
    path = tmp_path / "keys"
    make_key(path, "good")
    with serving(catalogue, read_keys(path)) as client:

        def asked():
            return client.post("/detect", json={"q": "x", "api_key": "no"}).status_code

        assert {asked() for _ in range(60)} == {403}
        until(lambda: asked() == 429)


def test_a_revoked_key_is_refused_from_the_next_reading_on(catalogue, tmp_path, kept, monkeypatch):
    monkeypatch.setattr(LOGGER, "handlers", [kept])
    path = tmp_path / "keys"
    admin, other = make_key(path, "admin", admin=True), make_key(path, "other")
    with serving(catalogue, read_keys(path), keys_file=str(path), key_required=True) as client:

        def asked(key):
            return client.post("/detect", json={"q": "x", "api_key": key}).status_code

        def reloaded():
            return client.post("/v1/reload", json={"api_key": admin}).status_code

        revoke_key(path, "other")
        new = make_key(path, "new")
        assert (asked(other), asked(new)) == (200, 403)
        assert reloaded() == 200
        assert (asked(other), asked(new), asked(admin)) == (403, 200, 200)
        good = path.read_bytes()
        for damage in (b"nonsense\n", good[:-9], b"\xff\xfe", None):
            path.unlink() if damage is None else path.write_bytes(damage)
            assert reloaded() == 503
            assert (asked(new), asked(other)) == (200, 403)
        path.write_text("# none\n")
        assert reloaded() == 200
        assert (asked(new), asked(admin), reloaded()) == (403, 403, 403)
    lines = [json.loads(line) for line in kept.lines]
    events = [line for line in lines if line["event"].startswith("keys")]
    assert events[0]["new"] == ["new"] and events[0]["gone"] == ["other"]
    assert [line["event"] for line in events[1:5]] == ["keys kept: reading them again failed"] * 4
    assert events[5]["gone"] == ["admin", "new"] and len(events) == 6
    assert not any(key in "".join(kept.lines) for key in (admin, other, new))


def test_revoking_a_key_leaves_all_other_lines(tmp_path):
    path = tmp_path / "keys"
    for name in ("zoe", "ann", "ann.b"):
        make_key(path, name)
    path.write_text("# the office: ann\n\n" + path.read_text().replace("\nann.b", "\n# b\nann.b"))
    lines = path.read_text().splitlines(keepends=True)
    revoke_key(path, "ann")
    assert path.read_text() == "".join(line for line in lines if not line.startswith("ann "))
    assert [key.name for key in read_keys(path)] == ["zoe", "ann.b"]
    with pytest.raises(InputError, match=r"no key ann; its keys are zoe, ann\.b"):
        revoke_key(path, "ann")


def test_metrics_want_a_key_where_all_requests_do(catalogue, tmp_path):
    path = tmp_path / "keys"
    good = make_key(path, "good")
    with serving(catalogue, read_keys(path), key_required=True, wrong_keys=3) as client:

        def asked(**headers):
            return client.get("/metrics", headers=headers).status_code

        assert asked() == asked(authorization="Basic eDp5") == 403
        assert (
            asked(authorization=f"Bearer {good}") == asked(authorization=f"bearer  {good}") == 200
        )
        wrong = [asked(authorization=f"Bearer {'x' * 300}") for _ in range(4)]
        assert wrong == [403, 403, 403, 429]
    with serving(catalogue, read_keys(path)) as client:
        assert client.get("/metrics").status_code == 200
