"""The documentation's page on the HTTP API is made of a server that has no models."""

from regard.server.http.app import create_app
from regard.server.http.settings import ServerSettings
from regard.server.queue.catalogue import Catalogue
from regard.server.queue.service import Service


def test_a_server_without_models_describes_its_operations():
    service = Service(Catalogue([], threads=1), ServerSettings())
    try:
        paths = create_app(service).openapi()["paths"]
    finally:
        service.batcher.close()
        service.background.close()
    assert {"/translate", "/v1/trace"} <= set(paths)
