"""The server of `regard watch`: its files, its answers, and whom it refuses."""

import http.client
import json
import re
import signal
import socket

import pytest

from processes import Process
from regard.cli import main
from regard.errors import InputError
from regard.watch.server import WatchServer, static_files
from trained import trained


@pytest.fixture
def server(tmp_path_factory):
    with WatchServer([trained(name, tmp_path_factory) for name in ("en-fr", "lm")]) as one:
        yield one


def get(server, path, host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_the_page_and_its_policy(server):
    answer, body = get(server, "/")
    policy = answer.headers["content-security-policy"]
    assert answer.status == 200 and b"regard watch" in body
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    for name, file in static_files().items():
        if name != "index.html":
            answer, body = get(server, f"/page/{name}")
            assert (answer.status, body) == (200, file.content)
    for path in ("/page/index.html", "/page/../server.py", "/page/", "/nothing", "/config.yaml"):
        assert get(server, path)[0].status == 404


def test_it_answers_to_its_own_address_only(server):
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1"):
        answer, body = get(server, "/updates", host)
        assert (answer.status, body) == (403, b"")
    assert get(server, "/updates", f"localhost:{server.port}")[0].status == 200


def test_updates_come_once(server):
    first = json.loads(get(server, "/updates")[1])
    assert [run["name"] for run in first["runs"]] == ["en-fr", "lm"]
    assert {run["state"] for run in first["runs"]} == {"finished"}
    steps = [row["step"] for row in first["runs"][0]["metrics"]["rows"]]
    assert steps[0] == 1 and steps[-1] == 90
    assert first["runs"][0]["samples"]["rows"][-1]["step"] == 90
    again = json.loads(get(server, f"/updates?after={first['cursor']}")[1])
    assert again["cursor"] == first["cursor"]
    assert all(not run["metrics"]["rows"] and not run["metrics"]["whole"] for run in again["runs"])
    for strange in ("x", "1.2", "1.-5_1.2_1.2_1.2", "_", "1.2.3_1_1_1"):
        whole = json.loads(get(server, f"/updates?after={strange}")[1])
        assert whole["runs"][0]["metrics"]["rows"] == first["runs"][0]["metrics"]["rows"]


def test_wrong_folders_and_ports(tmp_path, capsys, tmp_path_factory):
    for folder, said in ((tmp_path, "no config.yaml"), (tmp_path / "none", "no such folder")):
        assert main(["watch", str(folder)]) == 2
        assert said in capsys.readouterr().err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="cannot be listened at"):
            WatchServer([tmp_path], taken.getsockname()[1])
    with pytest.raises(InputError, match="65535"):
        WatchServer([tmp_path], 99999)


def test_an_interrupt_ends_it(tmp_path_factory):
    process = Process("watch", trained("lm", tmp_path_factory))
    address = re.search(r"at http://([\d.]+):(\d+)", process.stdout.readline())
    connection = http.client.HTTPConnection(address[1], int(address[2]), timeout=20)
    connection.request("GET", "/updates")
    assert json.loads(connection.getresponse().read())["runs"][0]["state"] == "finished"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == 0
