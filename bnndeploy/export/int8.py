"""The int8 form: a float32 model quantised by onnxruntime's own tools, as a baseline."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static


def quantize_int8(
    model: onnx.ModelProto, calibration: Iterable[Mapping[str, np.ndarray]]
) -> onnx.ModelProto:
    """Quantises a model of standard operators statically: QDQ, int8 weights per channel.

    Activations are uint8, the pair that x86 and ARM dot-product instructions take.

    Args:
        model: A float32 model, such as :func:`bnndeploy.export.expand` gives.
        calibration: Inputs by name; their activations set the ranges.
    """
    with tempfile.TemporaryDirectory() as folder, _quiet_logging():
        path = Path(folder) / "int8.onnx"
        quantize_static(
            model,
            path,
            _Reader(calibration),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
        )
        return onnx.load(path)


class _Reader(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, inputs: Iterable[Mapping[str, np.ndarray]]) -> None:
        self._inputs: Iterator[Mapping[str, np.ndarray]] = iter(inputs)

    def get_next(self) -> Mapping[str, np.ndarray] | None:
        return next(self._inputs, None)


@contextmanager
def _quiet_logging() -> Iterator[None]:
    """Hides the tool's advice to run its own clean-up first, which our models do not need."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        yield
    finally:
        root.setLevel(level)
