"""The page on deployment: its proxies run as they stand there, before a server with two workers."""

import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from regard.server.http.settings import ServerSettings
from requirements import PATH
from servers import running, until
from trained import taught, trained

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "15-deploy.md"
CHINESE = GUIDE.parents[1] / "zh" / "guide" / GUIDE.name
NAME = "translate.example.org"
RATE = 20
FRENCH = taught("en-fr")
SOURCE, TARGET = FRENCH[0]
FIELDS = {"source": "en", "target": "fr"}

NGINX = """
{user}
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


def blocks(page, kind):
    """The fenced blocks of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)


def replaced(text, *pairs):
    """A configuration with other values, each of which must be there."""
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


def free_ports(number):
    """Ports where nothing listens now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for the name, and its key."""
    folder = tmp_path_factory.mktemp("certificate")
    paths = folder / "fullchain.pem", folder / "privkey.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            f"/CN={NAME}",
            "-addext",
            f"subjectAltName=DNS:{NAME}",
            "-out",
            paths[0],
            "-keyout",
            paths[1],
        ],
        check=True,
        capture_output=True,
    )
    return paths


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server behind a proxy at this computer."""
    model = str(trained("en-fr", tmp_path_factory))
    words = ["--model", model, "--workers", "2", "--rate", RATE, "--proxy", "127.0.0.1"]
    with running(*words, "--allowed-host", NAME) as server:
        yield server


@contextmanager
def proxying(words, folder, port):
    """A proxy's process, from when it accepts connections on."""
    with (folder / "output").open("wb") as output:
        environment = {"PATH": PATH, "HOME": str(folder)}
        process = subprocess.Popen(words, stdout=output, stderr=output, cwd=folder, env=environment)
    try:
        until(lambda: accepts(port) or process.poll() is not None)
        assert process.poll() is None, (folder / "output").read_text("utf-8")
        yield
    finally:
        process.terminate()
        process.wait()


def accepts(port):
    """Whether something listens at a port."""
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def client_of(port, certificate, address="127.0.0.1", host=NAME):
    """A client of the proxy at an address of its own."""
    context = ssl.create_default_context(cafile=str(certificate[0]))
    transport = httpx.HTTPTransport(local_address=address, verify=context)

    def name(request):
        request.extensions["sni_hostname"] = NAME

    with httpx.Client(
        base_url=f"https://127.0.0.1:{port}",
        transport=transport,
        trust_env=False,
        timeout=60,
        headers={"host": host},
        event_hooks={"request": [name]},
    ) as client:
        yield client


class Hesitant(BaseHTTPRequestHandler):
    """Sends one event, and another one when the test has received the first."""

    received = threading.Event()

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"event: word\n\n")
        self.received.wait(60)
        self.wfile.write(b"event: done\n\n")

    def log_message(self, *_):
        pass


@contextmanager
def hesitating():
    """The address of a server that streams hesitantly."""
    Hesitant.received.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Hesitant) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def check_stream(port, certificate):
    """An event comes before the next one is made: nothing on the way waits for more."""
    with (
        client_of(port, certificate) as client,
        client.stream("POST", "/v1/stream", json={}, timeout=30) as stream,
    ):
        received = stream.iter_raw()
        assert next(received) == b"event: word\n\n"
        Hesitant.received.set()
        assert b"".join(received) == b"event: done\n\n"


def check_proxy(server, port, certificate, addresses):
    """What the page says of a proxy, to clients at two addresses besides."""
    with client_of(port, certificate) as client:
        answer = client.post("/translate", json={**FIELDS, "q": SOURCE})
        assert answer.json()["translatedText"] == TARGET
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
        page = {"origin": f"https://{NAME}", "sec-fetch-site": "same-origin"}
        assert client.get("/languages", headers=page).status_code == 200
        assert client.get("/languages", headers={"origin": "https://a.example"}).status_code == 403
        assert client.get("/metrics").status_code == 404

        files = {"file": ("a.txt", SOURCE.encode())}
        url = client.post("/translate_file", data=FIELDS, files=files).json()["translatedFileUrl"]
        assert url.startswith(f"https://{NAME}/download_file/")
        assert client.get(url.removeprefix(f"https://{NAME}")).text == TARGET

        # the proxy passes on as long a body as the server reads, and no longer one; Caddy says so
        # with a 502 where the server has closed the connection before all was sent
        limit = ServerSettings().body_bytes
        form = {"content-type": "application/x-www-form-urlencoded"}
        for size, statuses in ((limit, (400,)), (limit + 1, (413, 502))):
            text = b"source=en&target=fr&q=".ljust(size, b"x")
            with client.stream("POST", "/translate", content=text, headers=form) as answer:
                assert answer.status_code in statuses

        streamed = client.post("/v1/stream", json={**FIELDS, "q": SOURCE}).text
        assert streamed.startswith("event: word") and streamed.count("event: done") == 1

    # the rate is of a client's own address, whatever it says of itself
    with client_of(port, certificate, addresses[0]) as other:

        def asked(number=0):
            headers = {"x-forwarded-for": f"192.0.2.{number}"}
            return other.post("/detect", json={"q": "x"}, headers=headers)

        answers = [asked(number) for number in range(RATE)]
        assert {answer.status_code for answer in answers} == {200}
        until(lambda: asked().status_code == 429)
        assert "Slowdown" in asked().json()["error"]
    with client_of(port, certificate, addresses[1]) as third:
        assert third.post("/detect", json={"q": "x"}).status_code == 200


@contextmanager
def nginx(upstream, certificate, tmp_path):
    """The page's nginx: its ports for HTTP and HTTPS."""
    plain, port = free_ports(2)
    site = replaced(
        re.sub(r" *listen \[::\]:.*\n", "", blocks(GUIDE, "nginx")[0]),
        ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ("listen 443 ", f"listen 127.0.0.1:{port} "),
        ("127.0.0.1:5000", upstream),
        (f"/etc/letsencrypt/live/{NAME}/fullchain.pem", str(certificate[0])),
        (f"/etc/letsencrypt/live/{NAME}/privkey.pem", str(certificate[1])),
        ("/var/log/nginx/translate.log", str(tmp_path / "access.log")),
    )
    (tmp_path / "site.conf").write_text(site, encoding="utf-8")
    user = "user root;" if os.getuid() == 0 else ""  # or it could not enter this folder
    configuration = tmp_path / "nginx.conf"
    configuration.write_text(NGINX.format(user=user, folder=tmp_path), encoding="utf-8")
    program = shutil.which("nginx", path=PATH)
    words = [program, "-p", tmp_path, "-c", configuration, "-e", tmp_path / "error.log"]
    with proxying(words, tmp_path, port):
        yield plain, port


@pytest.mark.needs("nginx", "openssl")
def test_nginx(server, certificate, tmp_path):
    upstream = server.address.removeprefix("http://")
    with nginx(upstream, certificate, tmp_path) as (plain, port):
        check_proxy(server, port, certificate, ("127.0.0.2", "127.0.0.3"))
        with client_of(port, certificate, host="evil.example") as client:
            assert client.get("/languages").status_code == 421
        secret = {**FIELDS, "q": SOURCE, "api_key": "secret"}
        with client_of(port, certificate) as client:
            client.post("/translate", params=secret)
        answer = httpx.get(f"http://127.0.0.1:{plain}/x", headers={"host": NAME}, trust_env=False)
        assert answer.status_code == 301
        assert answer.headers["location"] == f"https://{NAME}/x"
    log = (tmp_path / "access.log").read_text("utf-8")
    assert "POST /translate" in log and "secret" not in log


@pytest.mark.needs("nginx", "openssl")
def test_nginx_streams(certificate, tmp_path):
    with hesitating() as upstream, nginx(upstream, certificate, tmp_path) as (_, port):
        check_stream(port, certificate)


@contextmanager
def caddy(upstream, certificate, tmp_path):
    """The page's Caddy: its port for HTTPS."""
    plain, port = free_ports(2)
    (site,) = [block for block in blocks(GUIDE, "text") if "reverse_proxy" in block]
    files = " ".join(map(str, certificate))
    site = replaced(
        site,
        ("{\n\tservers {", f"{{\n\tadmin off\n\thttp_port {plain}\n\tservers {{"),
        (f"{NAME} {{", f"{NAME}:{port} {{\n\tbind 127.0.0.1\n\ttls {files}"),
        ("127.0.0.1:5000", upstream),
    )
    (tmp_path / "Caddyfile").write_text(site, encoding="utf-8")
    words = [shutil.which("caddy", path=PATH), "run", "--config", "Caddyfile"]
    with proxying(words, tmp_path, port):
        yield port


@pytest.mark.needs("caddy", "openssl")
def test_caddy(server, certificate, tmp_path):
    with caddy(server.address.removeprefix("http://"), certificate, tmp_path) as port:
        check_proxy(server, port, certificate, ("127.0.0.4", "127.0.0.5"))


@pytest.mark.needs("caddy", "openssl")
def test_caddy_streams(certificate, tmp_path):
    with hesitating() as upstream, caddy(upstream, certificate, tmp_path) as port:
        check_stream(port, certificate)


@pytest.mark.needs("systemd-analyze")
def test_the_unit_is_right_and_shut(tmp_path):
    program = Path(sys.executable).with_name("regard")
    unit = tmp_path / "regard.service"
    unit.write_text(replaced(blocks(GUIDE, "ini")[0], ("/opt/regard/bin/regard", str(program))))
    analyze = [shutil.which("systemd-analyze", path=PATH), "--man=no"]
    for words in (["verify"], ["security", "--offline=yes", "--threshold=15", "--no-pager"]):
        done = subprocess.run([*analyze, *words, unit], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr


def test_both_languages_have_the_same_configurations():
    for kind in ("ini", "nginx", "sh", "text"):
        assert blocks(CHINESE, kind) == blocks(GUIDE, kind)
    assert blocks(GUIDE, "nginx")
