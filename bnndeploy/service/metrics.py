"""What the service counts, in the text format of Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector

from bnndeploy.service.request_error import RequestError

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """Owns a registry of its own, so that several services fit into one process.

    The label ``model`` only takes names of loaded models: a client cannot invent series.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        model = ("model", "version")
        self.requests = Counter(
            "bnndeploy_requests",
            "Inference requests that reached a model, by HTTP status.",
            (*model, "status"),
            registry=self.registry,
        )
        self.request_seconds = Histogram(
            "bnndeploy_request_seconds",
            "From the whole body of a request to its answer.",
            model,
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.batch_rows = Histogram(
            "bnndeploy_batch_rows",
            "Rows run together.",
            model,
            buckets=_ROWS,
            registry=self.registry,
        )
        self.batch_seconds = Histogram(
            "bnndeploy_batch_seconds",
            "One run of the model.",
            model,
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.pending = Gauge(
            "bnndeploy_pending_requests",
            "Requests that wait for a run or are in one.",
            model,
            registry=self.registry,
        )
        self.loads = Counter(
            "bnndeploy_model_loads",
            "Attempts to load a model file.",
            ("model", "outcome"),
            registry=self.registry,
        )

        self.refusals = Counter(
            "bnndeploy_refusals",
            "Requests of any kind answered with an error, by HTTP status.",
            ("status",),
            registry=self.registry,
        )

    @contextmanager
    def count_request(self, name: str, version: int) -> Iterator[None]:
        """Counts and times one request to a model; an error counts under its status."""
        started = time.monotonic()
        status = 500
        try:
            yield
            status = 200
        except RequestError as error:
            status = error.status
            raise
        finally:
            labels = (name, str(version))
            self.requests.labels(*labels, str(status)).inc()
            self.request_seconds.labels(*labels).observe(time.monotonic() - started)

    def render(self) -> bytes:
        """Returns the exposition text."""
        return generate_latest(self.registry)
