"""The command as a process: it starts, drains, swaps models, and refuses what cannot be."""

import json
import re
import shutil
import signal
import socket
import threading
from contextlib import suppress

import httpx
import numpy as np
import pytest
import torch

import regard
from processes import Process
from regard.cli import main
from regard.folder import load_weights, save_weights
from regard.server.access.keys import make_key
from regard.server.queue.catalogue import Catalogue
from servers import until
from trained import taught, trained

FRENCH = taught("en-fr")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(trained("en-fr", tmp_path_factory))


def test_a_whole_life(folder):
    """Start on a free port, answer, swap models on SIGHUP, finish on SIGTERM what is under way."""
    server = Process("serve", "--model", folder, "--port", "0", "--threads", "1")
    log = []
    try:
        line = server.stdout.readline()
        address = re.search(r"Serving en-fr \(en-fr\) at (http://127\.0\.0\.1:\d+)", line)[1]
        reader = threading.Thread(target=lambda: log.extend(server.stderr))
        reader.start()
        long = " ".join(source for source, _ in FRENCH * 20)
        fields = {"q": FRENCH[0][0], "source": "en", "target": "fr"}
        with httpx.Client(base_url=address, trust_env=False, timeout=60) as client:
            assert client.post("/translate", json=fields).json()["translatedText"] == FRENCH[0][1]
            server.send_signal(signal.SIGHUP)
            until(lambda: sum("models loaded" in line for line in log) == 2)  # in both processes
            answers = []
            asking = threading.Thread(
                target=lambda: answers.append(
                    httpx.post(
                        f"{address}/translate",
                        json={**fields, "q": long},
                        timeout=60,
                        trust_env=False,
                    )
                )
            )
            asking.start()
            until(lambda: "regard_waiting_requests 1.0" in client.get("/metrics").text)
            server.send_signal(signal.SIGTERM)
        asking.join()
        assert answers[0].status_code == 200
        assert answers[0].json()["translatedText"] == " ".join(t for _, t in FRENCH * 20)
        assert server.wait(20) == 0
        reader.join()
    finally:
        server.kill()
        server.wait()
    lines = [json.loads(line) for line in log]
    assert [one["event"] for one in lines if one["event"] != "request"] == [
        "started",
        "models loaded",
        "models loaded",
        "stopped",
    ]
    assert FRENCH[0][0] not in "".join(log)


def test_a_hangup_while_models_are_read_ends_nothing(folder):
    """A form that is broken is told as JSON too."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = Process("serve", "--model", folder, "--port", port, "--threads", "1")

    def listens():
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        return server.poll() is not None

    try:
        until(listens, seconds=60)  # the models are read after that
        server.send_signal(signal.SIGHUP)
        assert "Serving en-fr" in server.stdout.readline()
        headers = {"content-type": "multipart/form-data; boundary=x"}
        answer = httpx.post(
            f"http://127.0.0.1:{port}/translate",
            content=b"nonsense",
            headers=headers,
            trust_env=False,
        )
        assert answer.status_code == 400
        server.send_signal(signal.SIGTERM)
        _, log = server.communicate(timeout=20)
    finally:
        server.kill()
        server.wait()
    events = [json.loads(line)["event"] for line in log.splitlines()]
    assert "started" in events and events[-1] == "stopped"
    assert "message of python_multipart.multipart" in events


def test_a_model_is_of_one_version_until_it_is_loaded_again(folder, tmp_path):
    """Its folder is overwritten, then removed; the network is first read after that."""
    served, other = tmp_path / "served", tmp_path / "other"
    for copy in (served, other):
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("checkpoints", "engine"))
    weights = load_weights(other / "model.safetensors")
    for name in ("source.vectors.weight", "target.vectors.weight", "output.weight"):
        if name in weights:  # the words with the ids from 5 on, in another order
            weights[name] = torch.cat([weights[name][:5], weights[name][5:].flip(0)])
    save_weights(other / "model.safetensors", weights)
    expected = {
        path: regard.load(path).translate(FRENCH[0][0], attention=True) for path in (served, other)
    }
    old, new = expected.values()
    assert old.text != new.text
    server = Process("serve", "--model", served, "--port", "0", "--threads", "1")
    log = []
    try:
        address = re.search(r" at (http://127\.0\.0\.1:\d+)", server.stdout.readline())[1]
        reader = threading.Thread(target=lambda: log.extend(server.stderr))
        reader.start()
        with httpx.Client(base_url=address, trust_env=False, timeout=60) as client:

            def check(translation):
                fields = {"q": FRENCH[0][0], "source": "en", "target": "fr"}
                answer = client.post("/v1/translate", json={**fields, "maps": [{"kind": "cross"}]})
                assert answer.status_code == 200, answer.text
                assert answer.json()["text"] == translation.text
                (sentence,) = answer.json()["sentences"]
                wanted = [m for m in translation.attention if m.kind == "cross"]
                assert len(sentence["maps"]) == sum(m.weights.shape[1] for m in wanted)
                first = np.array(sentence["maps"][0]["weights"])
                assert first == pytest.approx(np.array(wanted[0].weights[0, 0].tolist()), abs=2e-3)

            shutil.copytree(other, served, dirs_exist_ok=True)
            check(old)
            shutil.rmtree(served)
            check(old)
            server.send_signal(signal.SIGHUP)
            until(lambda: sum("models kept" in line for line in log) == 2)
            check(old)
            shutil.copytree(other, served)
            server.send_signal(signal.SIGHUP)
            until(lambda: sum("models loaded" in line for line in log) == 2)
            check(new)
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
        reader.join()
    finally:
        server.kill()
        server.wait()


def test_errors_for_clients_have_no_paths(folder):
    catalogue = Catalogue([folder], threads=1)
    sentence = f"{folder}: the weights cannot be read."
    assert catalogue.hide_folders(sentence) == "en-fr: the weights cannot be read."


def test_doors(folder, tmp_path):
    """Keys are read again on SIGHUP; metrics have a port of their own; other names are refused."""
    path = tmp_path / "keys"
    old = make_key(path, "old")
    server = Process(
        "serve",
        "--model",
        folder,
        "--port",
        "0",
        "--threads",
        "1",
        "--keys",
        path,
        "--require-key",
        "--metrics-port",
        "0",
        "--allowed-host",
        "translate.example.org",
    )
    log = []
    try:
        metrics = re.fullmatch(
            r"Metrics at (http://127\.0\.0\.1:\d+/metrics)\n", server.stdout.readline()
        )[1]
        address = re.search(r" at (http://127\.0\.0\.1:\d+)", server.stdout.readline())[1]
        reader = threading.Thread(target=lambda: log.extend(server.stderr))
        reader.start()
        with httpx.Client(base_url=address, trust_env=False, timeout=60) as client:

            def asked(key, **headers):
                fields = {"q": "x", "api_key": key}
                return client.post("/detect", json=fields, headers=headers).status_code

            assert asked(old) == asked(old, host="translate.example.org") == 200
            assert asked(old, host="evil.example") == 421
            assert client.get("/metrics").status_code == 404
            assert main(["serve", "--revoke-key", "old", "--keys", str(path)]) == 0
            new = make_key(path, "new")
            server.send_signal(signal.SIGHUP)
            until(lambda: any("keys changed" in line for line in log))
            assert (asked(old), asked(new)) == (403, 200)
            path.write_text("damaged\n")
            server.send_signal(signal.SIGHUP)
            until(lambda: any("keys kept" in line for line in log))
            assert (asked(old), asked(new)) == (403, 200)
        with httpx.Client(trust_env=False, timeout=60) as client:
            answer = client.get(metrics)
            assert answer.headers["content-type"].startswith("text/plain")
            assert 'regard_requests_total{path="/detect",status="421"} 1.0' in answer.text
            assert client.get(metrics.replace("/metrics", "/other")).status_code == 404
            assert client.head(metrics).headers["content-length"] != "0"
            assert client.get(metrics, headers={"host": "evil.example"}).status_code == 421
            assert client.get(metrics, headers={"origin": "https://a.example"}).status_code == 403
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
        reader.join()
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no model was given"),
        (["--model", "NONE"], "NONE"),
        (["--model", "FOLDER", "--require-key"], "--require-key needs --keys"),
        (["--model", "FOLDER", "--keys", "NONE"], "NONE"),
        (["--model", "FOLDER", "--rate", "-1"], "rate must be at least 0, got -1"),
        (["--model", "FOLDER", "--host", "203.0.113.1"], "cannot listen at 203.0.113.1"),
        (
            ["--model", "FOLDER", "--port", "70000"],
            "port 70000: a port is a number from 0 to 65535.\n",
        ),
        (["--model", "FOLDER", "--port", "-1"], "port -1: a port is a number from 0 to 65535.\n"),
        (["--model", "FOLDER", "--timeout", "nan"], "timeout must be above 0"),
        (["--model", "FOLDER", "--timeout", "inf"], "timeout must be above 0"),
        (["--make-key", "me", "--keys", "NONE", "--key-rate", "-5"], "rate must not be negative"),
        (["--make-key", "me"], "--make-key needs --keys"),
        (["--revoke-key", "me"], "--revoke-key needs --keys"),
        (["--revoke-key", "me", "--keys", "NONE"], "NONE: no such file"),
        (["--model", "FOLDER", "--allowed-host", "https://example.org"], "name without scheme"),
        (["--model", "FOLDER", "--wrong-keys", "-1"], "wrong_keys must be at least 0"),
        (["--model", "FOLDER", "--metrics-port", "70000"], "port 70000: a port is a number from"),
        (
            ["--model", "FOLDER", "--no-metrics", "--metrics-port", "0"],
            "--no-metrics and --metrics-port exclude each other",
        ),
    ],
)
def test_what_cannot_be_served(folder, words, said, capsys):
    assert main(["serve", *(folder if word == "FOLDER" else word for word in words)]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1


def test_make_key(tmp_path, capsys):
    path = tmp_path / "keys"
    assert main(["serve", "--make-key", "me", "--keys", str(path), "--key-rate", "60"]) == 0
    made = capsys.readouterr().out
    assert re.fullmatch(r"[\w-]{43}\n", made)
    assert path.read_text().startswith("me ") and "rate=60" in path.read_text()
    assert made.strip() not in path.read_text()
