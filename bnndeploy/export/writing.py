"""Checks models and writes them whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import onnx
from onnx.external_data_helper import convert_model_to_external_data

from bnndeploy.errors import ExportError

LARGE = 1 << 20
"""Bytes of weights beyond which one is checked by itself."""

PROTOBUF_LIMIT = (1 << 31) - (1 << 20)
"""Bytes of weights beyond which they go into a file beside the model."""


def refuse_existing(path: Path, force: bool) -> None:
    """Raises unless ``path`` can be written.

    Raises:
        ExportError: If it exists and ``force`` is off, or its folder does not exist.
    """
    if path.is_dir():
        raise ExportError(f"{path}: is a folder, expected a file name; give one such as model.onnx")
    if path.exists() and not force:
        raise ExportError(f"{path}: exists already; choose another name or use --force")
    if not path.parent.is_dir():
        raise ExportError(f"{path}: its folder does not exist; create it first")


def write_model(
    model: onnx.ModelProto, path: Path, *, force: bool = False, limit: int = PROTOBUF_LIMIT
) -> int:
    """Checks the model and writes it beside its target, then renames: never a half file.

    Weights above ``limit`` bytes go to ``<path>.data``. Returns the bytes written.

    Raises:
        ExportError: If the checker finds a fault or the file cannot be written.
    """
    weights = sum(len(tensor.raw_data) for tensor in model.graph.initializer)
    external = weights > limit
    for target in [path, *([data_path(path)] if external else [])]:
        refuse_existing(target, force)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
            data = _write_into(Path(folder), model, path, external=external)
            size = 0
            # The weights first: a model is never there before its weights.
            for written, target in [*data, (Path(folder) / path.name, path)]:
                size += written.stat().st_size
                written.replace(target)
            return size
    except OSError as error:
        raise ExportError(f"{path}: cannot be written: {error.strerror or error}") from error


def _write_into(
    folder: Path, model: onnx.ModelProto, path: Path, *, external: bool
) -> list[tuple[Path, Path]]:
    """Writes and checks the model in ``folder``; returns the data files and their targets."""
    written = folder / path.name
    if not external:
        check(model, path.name)
        with written.open("wb") as stream:
            stream.write(model.SerializeToString(deterministic=True))
            stream.flush()
            os.fsync(stream.fileno())
        return []
    location = data_path(path).name
    outside = onnx.ModelProto()
    outside.CopyFrom(model)
    convert_model_to_external_data(outside, location=location, size_threshold=1024)
    onnx.save(outside, written)
    check(written, path.name)
    return [(folder / location, data_path(path))]


def data_path(path: Path) -> Path:
    """Returns where the weights of a large model go."""
    return path.with_name(f"{path.name}.data")


def check(model: onnx.ModelProto | Path, name: str) -> None:
    """Runs the full ONNX checker.

    Raises:
        ExportError: If it finds a fault.
    """
    try:
        if isinstance(model, Path):
            onnx.checker.check_model(str(model), full_check=True)
            return
        for tensor in _large_weights(model.graph):
            onnx.checker.check_tensor(tensor)
        onnx.checker.check_model(_without_large_weights(model), full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        reason = " ".join(str(error).split())
        raise ExportError(f"{name}: the ONNX checker refuses it: {reason}") from error


def _large_weights(graph: onnx.GraphProto) -> list[onnx.TensorProto]:
    return [tensor for tensor in graph.initializer if len(tensor.raw_data) > LARGE]


def _without_large_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Copies a model but for its large weights, which become inputs of their shape and type.

    The checker copies a model twice; of weights that large it reads no number.
    """
    graph = model.graph
    large = _large_weights(graph)
    names = {tensor.name for tensor in large}
    as_inputs = [
        onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        for tensor in large
    ]
    light = onnx.GraphProto(
        name=graph.name, node=graph.node, input=[*graph.input, *as_inputs], output=graph.output,
        value_info=graph.value_info, quantization_annotation=graph.quantization_annotation,
        sparse_initializer=graph.sparse_initializer,
        initializer=[tensor for tensor in graph.initializer if tensor.name not in names],
    )  # fmt: skip
    return onnx.ModelProto(
        ir_version=model.ir_version, opset_import=model.opset_import, graph=light,
        functions=model.functions, metadata_props=model.metadata_props,
    )  # fmt: skip
