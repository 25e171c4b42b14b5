"""What a training tells whoever watches it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Listener:
    """Hears about the progress of a run; this one stays silent."""

    def start(self, total_steps: int, done: int) -> None:
        """The run begins, or goes on after ``done`` steps."""

    def step(self, step: int, loss: float) -> None:
        """A step is done; ``loss`` is the running mean of the epoch."""

    def epoch(self, row: dict[str, Any], layers: list[dict[str, Any]]) -> None:
        """An epoch is done: its row of metrics.csv and its rows of layers.csv."""

    def finding(self, text: str) -> None:
        """Something about the network will probably spoil the training; told once."""

    def stop(self) -> None:
        """The run ends, well or not."""


class Listeners(Listener):
    """Passes everything on to several listeners."""

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self._listeners = list(listeners)

    def start(self, total_steps: int, done: int) -> None:
        for listener in self._listeners:
            listener.start(total_steps, done)

    def step(self, step: int, loss: float) -> None:
        for listener in self._listeners:
            listener.step(step, loss)

    def epoch(self, row: dict[str, Any], layers: list[dict[str, Any]]) -> None:
        for listener in self._listeners:
            listener.epoch(row, layers)

    def finding(self, text: str) -> None:
        for listener in self._listeners:
            listener.finding(text)

    def stop(self) -> None:
        for listener in self._listeners:
            listener.stop()
