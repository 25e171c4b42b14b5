"""Writes what is needed to see one difference again, away from the network it came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import ModelProto

from bnndeploy.errors import ExportError
from bnndeploy.parity._model import Array, save_arrays


def refuse_filled(folder: Path) -> None:
    """Raises if something could be overwritten.

    Raises:
        ExportError: If ``folder`` exists and is not an empty folder.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ExportError(f"{folder}: is not an empty folder; choose a new one for the reproducer")


@dataclass(frozen=True)
class Reproducer:
    """A small model with inputs and the outputs that it should give."""

    subject: str
    model: ModelProto
    inputs: dict[str, Array]
    expected: dict[str, Array]

    def write(self, folder: Path) -> list[Path]:
        """Writes model.onnx, inputs.npz and expected.npz into ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        model, inputs, expected = (
            folder / name for name in ("model.onnx", "inputs.npz", "expected.npz")
        )
        onnx.save(self.model, model)
        save_arrays(inputs, self.inputs)
        save_arrays(expected, self.expected)
        return [model, inputs, expected]
