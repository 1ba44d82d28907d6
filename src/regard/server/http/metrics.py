"""Counts and times for Prometheus; no texts, no addresses."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

CONTENT_TYPE = CONTENT_TYPE_LATEST
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """The counters and histograms of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "regard_requests", "Requests answered.", ["path", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "regard_request_seconds",
            "From request to answer.",
            ["path"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.characters = Counter(
            "regard_characters", "Characters of texts received.", registry=self.registry
        )
        self.batches = Histogram(
            "regard_batch_sentences",
            "Sentences translated together.",
            buckets=SENTENCES,
            registry=self.registry,
        )
        self.batch_seconds = Histogram(
            "regard_batch_seconds",
            "Time of one batch.",
            buckets=SECONDS,
            registry=self.registry,
        )
        self.waiting = Gauge(
            "regard_waiting_requests", "Requests not answered yet.", registry=self.registry
        )

    def watch(self, waiting: Callable[[], int]) -> None:
        """Where the number of waiting requests is read."""
        self.waiting.set_function(waiting)

    def batch(self, sentences: int, seconds: float) -> None:
        """A batch was translated."""
        self.batches.observe(sentences)
        self.batch_seconds.observe(seconds)

    def request(self, path: str, status: int, seconds: float, characters: int) -> None:
        """A request was answered."""
        self.requests.labels(path, str(status)).inc()
        self.seconds.labels(path).observe(seconds)
        self.characters.inc(characters)

    def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        return generate_latest(self.registry)
