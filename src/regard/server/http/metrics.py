"""Counts and times for Prometheus; no texts, no addresses."""

from __future__ import annotations

from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """The counters and histograms of one server."""

    def __init__(self) -> None:
        self.registry = own = CollectorRegistry()
        ProcessCollector(registry=own)
        times = partial(Histogram, buckets=SECONDS, registry=own)
        sizes = partial(Histogram, buckets=SENTENCES, registry=own)
        counter = partial(Counter, registry=own)
        self.requests = counter("regard_requests", "Requests answered.", ["path", "status"])
        self.seconds = times("regard_request_seconds", "From request to answer.", ["path"])
        self.characters = counter("regard_characters", "Characters of texts received.")
        self.batches = sizes("regard_batch_sentences", "Sentences translated together.")
        self.batch_seconds = times("regard_batch_seconds", "Time of one batch.")
        self.waiting = Gauge("regard_waiting_requests", "Requests not answered yet.", registry=own)

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
