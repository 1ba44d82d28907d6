"""Counts and times for Prometheus; no texts, no addresses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import prometheus_client.values
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from regard.server.workers.shared import SharedState

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
FILE_KINDS = ("counter", "histogram", "gauge_livesum")
FILE_BYTES = 1 << 18  # more than all our counters take


class Metrics:
    """The counters and histograms of one server.

    Workers count each in files of its own, which `text` adds; a worker that is replaced leaves its
    counts to the next one of its number.
    """

    def __init__(self, shared: SharedState | None = None, number: int = 0) -> None:
        if shared is not None:
            _count_in_files(shared.metrics, number)
        own = CollectorRegistry()
        times = partial(Histogram, buckets=SECONDS, registry=own)
        sizes = partial(Histogram, buckets=SENTENCES, registry=own)
        counter = partial(Counter, registry=own)
        self.requests = counter("regard_requests", "Requests answered.", ["path", "status"])
        self.seconds = times("regard_request_seconds", "From request to answer.", ["path"])
        self.characters = counter("regard_characters", "Characters of texts received.")
        self.batches = sizes("regard_batch_sentences", "Sentences translated together.")
        self.batch_seconds = times("regard_batch_seconds", "Time of one batch.")
        self.waiting = Gauge(
            "regard_waiting_requests",
            "Requests not answered yet.",
            registry=own,
            multiprocess_mode="livesum",
        )
        if shared is None:
            ProcessCollector(registry=own)
            self.registry = own
        else:
            self.registry = CollectorRegistry()
            self.registry.register(_sum_of_files(shared.metrics))
            self.registry.register(WorkerProcesses(shared))

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


class WorkerProcesses(Collector):
    """Memory, processor time and files of each worker's process, labeled by its number from 1."""

    def __init__(self, shared: SharedState) -> None:
        self.shared = shared

    def collect(self) -> Iterator[Metric]:
        """The metrics of the processes that run."""
        whole: dict[str, Metric] = {}
        for number, pid in enumerate(self.shared.pids, start=1):
            process = ProcessCollector(pid=partial(int, pid), registry=None)
            for metric in process.collect() if pid else ():
                known = whole.setdefault(
                    metric.name, Metric(metric.name, metric.documentation, metric.type)
                )
                for sample in metric.samples:
                    known.add_sample(sample.name, {"worker": str(number)}, sample.value)
        yield from whole.values()


def _count_in_files(folder: Path, number: int) -> None:
    """Have the metrics of this process count in files of a folder, under a worker's number.

    The files are allocated, as a full disk would kill a process that writes to a hole of one.
    """
    for kind in FILE_KINDS:
        with (folder / f"{kind}_{number}.db").open("ab") as file:
            os.posix_fallocate(file.fileno(), 0, FILE_BYTES)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    values: Any = prometheus_client.values  # it carries no types
    values.ValueClass = values.MultiProcessValue(lambda: number)


def _sum_of_files(folder: Path) -> Collector:
    collector: Any = MultiProcessCollector  # it carries no types
    return cast(Collector, collector(None, str(folder)))
