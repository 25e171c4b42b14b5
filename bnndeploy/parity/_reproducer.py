"""Writes what is needed to see one difference again, away from the network it came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import ModelProto

from bnndeploy.parity._model import Array, save_arrays


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
