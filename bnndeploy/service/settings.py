"""The limits of the service."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Holds what a person may tune; times are in seconds, sizes in bytes."""

    max_batch: int = 32  # rows that are run together at most
    max_delay: float = 0.0  # how long the first waiting request waits for company
    queue_limit: int = 256  # waiting requests of one model; the next one is answered 503
    timeout: float = 30.0  # from the arrival of a request to its answer
    body_limit: int = 64 * 2**20
    poll: float = 2.0  # between two looks at the model files; 0 never looks again
    drain: float = 30.0  # for requests under way when the service is told to stop
    threads: int | None = None  # of each session; None lets ONNX Runtime choose
    portable: bool = False  # run the files' own functions, without our kernels
