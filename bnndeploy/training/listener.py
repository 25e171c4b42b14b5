"""What a training tells whoever watches it."""

from __future__ import annotations

from typing import Any


class Listener:
    """Hears about the progress of a run; this one stays silent."""

    def start(self, total_steps: int, done: int) -> None:
        """The run begins, or goes on after ``done`` steps."""

    def step(self, step: int, loss: float) -> None:
        """A step is done; ``loss`` is the running mean of the epoch."""

    def epoch(self, row: dict[str, Any]) -> None:
        """An epoch is done; ``row`` is its row of metrics.csv."""

    def stop(self) -> None:
        """The run ends, well or not."""
