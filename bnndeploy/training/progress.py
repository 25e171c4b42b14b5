"""Shows a progress bar on a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from bnndeploy.training.listener import Listener


class ProgressBar(Listener):
    """A bar over the steps, with the loss and the last validation accuracy beside it."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task = self._progress.add_task("training", total=None)
        self._accuracy = ""

    def start(self, total_steps: int, done: int) -> None:
        self._progress.update(self._task, total=total_steps, completed=done)
        self._progress.start()

    def step(self, step: int, loss: float) -> None:
        self._progress.update(
            self._task, completed=step, description=f"loss {loss:.4f}{self._accuracy}"
        )

    def epoch(self, row: dict[str, Any], layers: list[dict[str, Any]]) -> None:
        self._accuracy = f"  validation {100 * row['validation_accuracy']:.2f} %"

    def finding(self, text: str) -> None:
        self._progress.console.print(f"note: {text}", style="yellow", markup=False)

    def stop(self) -> None:
        self._progress.stop()
