"""The int8 form: the standard form, quantised by onnxruntime's own tools; a baseline."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from bnndeploy.errors import ExportError, MissingExtraError

Array = NDArray[Any]

QUANTISED = (
    "Conv", "Gemm", "MatMul", "MaxPool", "AveragePool", "GlobalAveragePool",
    "Mul", "Add", "Relu", "Concat",
)  # fmt: skip
"""What becomes int8: all that computes. onnxruntime's tool would also take the Where of a sign
and the Pad of a border: the conversions that they then need make a binary network up to twice as
slow."""


def quantize_int8(
    model: onnx.ModelProto, calibration: Iterable[Mapping[str, Array]]
) -> onnx.ModelProto:
    """Quantises a standard float32 model statically: int8 weights a channel, uint8 activations.

    This is what onnxruntime's documentation recommends for x86-64: pre-processing (folds
    batch-norms), then QDQ nodes, which its graph optimiser turns into integer kernels. Signs and
    borders stay float. The operator-oriented format measured no faster.

    Args:
        model: A model in ai.onnx operators.
        calibration: Inputs by name; their ranges set the scales.

    Raises:
        ExportError: If there is no calibration input, or onnxruntime cannot quantise the model.
        MissingExtraError: If onnxruntime is not installed.
    """
    batches = [dict(batch) for batch in calibration]
    if not batches:
        raise ExportError("int8: got no calibration input, expected at least one; give some data")
    try:
        from onnxruntime import quantization
        from onnxruntime.quantization.shape_inference import quant_pre_process
    except ImportError as error:
        raise MissingExtraError("onnxruntime", "cpu") from error

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._left = iter(batches)

        def get_next(self) -> dict[str, Array] | None:
            return next(self._left, None)

    with tempfile.TemporaryDirectory() as folder, _quiet():
        source, prepared, target = (Path(folder) / f"{n}.onnx" for n in ("in", "prepared", "out"))
        onnx.save(model, source)
        try:
            # Symbolic shape inference needs sympy and adds nothing: every shape but the batch
            # is known.
            quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
            quantization.quantize_static(
                str(prepared),
                str(target),
                Reader(),
                op_types_to_quantize=list(QUANTISED),
                quant_format=quantization.QuantFormat.QDQ,
                per_channel=True,
                activation_type=quantization.QuantType.QUInt8,
                weight_type=quantization.QuantType.QInt8,
            )
        except Exception as error:  # onnxruntime raises many kinds
            raise ExportError(f"int8: onnxruntime cannot quantise the model: {error}") from error
        quantized = onnx.load(target)
    used = {node.domain for node in quantized.graph.node} | {""}
    unused = [entry for entry in quantized.opset_import if entry.domain not in used]
    for entry in unused:
        quantized.opset_import.remove(entry)
    return quantized


def batches_of(model: onnx.ModelProto, inputs: Iterable[Array]) -> list[dict[str, Array]]:
    """Cuts inputs (one array for each input of the model) into batches of one sample.

    Batches of a model whose batch is fixed have its size.
    """
    rows = max(1, _fixed_batch(model))
    named = dict(zip((value.name for value in model.graph.input), inputs, strict=True))
    count = min(len(array) for array in named.values()) // rows
    return [
        {name: np.ascontiguousarray(array[i * rows :][:rows]) for name, array in named.items()}
        for i in range(count)
    ]


def _fixed_batch(model: onnx.ModelProto) -> int:
    """Returns the size of axis 0 of the first input, 0 where it is free."""
    sizes = model.graph.input[0].type.tensor_type.shape.dim if model.graph.input else []
    return int(sizes[0].dim_value) if sizes else 0


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps onnxruntime's advice (run pre-processing, …) off the user's terminal."""
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.ERROR)
    try:
        yield
    finally:
        root.setLevel(before)
