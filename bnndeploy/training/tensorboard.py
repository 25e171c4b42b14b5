"""Writes the metrics of a run for TensorBoard, where it is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from bnndeploy.training.listener import Listener


def installed() -> bool:
    """Tells whether TensorBoard can be used."""
    return importlib.util.find_spec("tensorboard") is not None


class TensorBoard(Listener):
    """Writes scalars of the epochs, and of each quantized layer, below ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: Any = None

    def start(self, total_steps: int, done: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        # Points after the checkpoint that a run goes on from are dropped.
        self._writer = SummaryWriter(str(self._folder), purge_step=done + 1)

    def epoch(self, row: dict[str, Any], layers: list[dict[str, Any]]) -> None:
        for key, value in row.items():
            if key not in ("epoch", "step"):
                self._writer.add_scalar(key, value, row["step"])
        for layer in layers:
            for key in ("flips", "zeros", "w_pos", "w_neg", "latent_mean"):
                self._writer.add_scalar(f"{key}/{layer['layer']}", layer[key], row["step"])
        self._writer.flush()

    def stop(self) -> None:
        if self._writer is not None:
            self._writer.close()
