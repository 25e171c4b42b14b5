"""What a file says about itself: ``metadata_props`` with JSON values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import onnx
import onnx_ir as ir
from onnx import numpy_helper

from bnndeploy.export.graph import QUANTIZER_KEY, dims
from bnndeploy.export.product import bit_channels

FORMAT = 1
PREFIX = "bnndeploy."


def set_metadata(model: onnx.ModelProto, entries: Mapping[str, Any]) -> None:
    """Writes entries as ``bnndeploy.<key>`` with JSON values, sorted by key."""
    del model.metadata_props[:]
    for key in sorted(entries):
        value = json.dumps(entries[key], sort_keys=True, separators=(",", ":"))
        model.metadata_props.add(key=PREFIX + key, value=value)


def get_metadata(model: onnx.ModelProto) -> dict[str, Any]:
    """Reads the entries that :func:`set_metadata` wrote."""
    return {
        entry.key.removeprefix(PREFIX): json.loads(entry.value)
        for entry in model.metadata_props
        if entry.key.startswith(PREFIX)
    }


def versions() -> dict[str, str]:
    """Returns what made the file; thresholds are exact for this torch on this CPU capability."""
    import torch  # here, because reading a file's metadata must not need it

    packages = {name: version(name) for name in ("bnndeploy", "torch", "onnx", "numpy")}
    return {**packages, "cpu_capability": torch.backends.cpu.get_cpu_capability()}


def weights_sha256(model: onnx.ModelProto) -> str:
    """Hashes name, dtype, shape and bytes of every initializer, sorted by name.

    For each: ``name NUL dtype NUL shape NUL bytes`` in UTF-8, dtype as NumPy names it, shape as
    decimal numbers with commas, bytes little-endian in row order.
    """
    digest = hashlib.sha256()
    for tensor in sorted(model.graph.initializer, key=lambda tensor: tensor.name):
        array = numpy_helper.to_array(tensor)
        shape = ",".join(map(str, array.shape))
        digest.update(f"{tensor.name}\0{array.dtype.name}\0{shape}\0".encode())
        digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
    return digest.hexdigest()


def find_probes(graph: ir.Graph) -> dict[str, dict[str, Any]]:
    """Lists the values that equal a quantizer's output: name to module path, kind, channels.

    Bits stand for +1 and -1; a packed map is channels last and may be compared with a
    flattened output, whose order is C, H, W.
    """
    probes: dict[str, dict[str, Any]] = {}
    for node in graph:
        for output in node.outputs:
            path = output.metadata_props.get(QUANTIZER_KEY)
            shape = dims(output)
            if path is None or not output.name or shape is None:
                continue
            packed = output.dtype == ir.DataType.UINT32
            channels = bit_channels(output) if packed else shape[1] if len(shape) > 1 else 1
            kind = "bits" if packed else "float"
            probes[output.name] = {"module": path, "kind": kind, "channels": channels}
    return probes
