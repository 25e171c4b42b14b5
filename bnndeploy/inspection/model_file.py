"""Lists the nodes of a model file with their shapes, bits and bytes.

Reads the file with onnx, which the extra [tools] brings; torch is not needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from onnx import helper

from bnndeploy.errors import ModelFileError
from bnndeploy.export.metadata import weights_sha256
from bnndeploy.export.reading import load_checked_model
from bnndeploy.export.report import bytes_by_kind, tensor_bytes
from bnndeploy.ops.names import DOMAIN
from bnndeploy.runtime.metadata import read_metadata

Shape = tuple[int | str, ...]

_FLOAT_BYTES = 4
_UINT32 = onnx.TensorProto.UINT32
_PRODUCTS = {"XnorGemm": 1, "XnorConv": 1, "TernaryGemm": 2, "TernaryConv": 2}  # bits a weight
_BITS_OUTPUT = {"PackBits": 0, "MaxPoolBits": 0} | dict.fromkeys(_PRODUCTS, 1)
_LONG = ("sample", "probes")  # of use to verify-parity only


@dataclass(frozen=True)
class NodeReport:
    """Describes one node.

    Attributes:
        name: Name in the graph.
        op: Operator, ours without its domain.
        input: Shape of the first input; a free size has a name or is "?".
        output: Shape of the first output that is wanted.
        input_bits: Bits of one input value: 1 where activations come packed, else 32.
        weight_bits: Bits of one weight: 1, 2 (ternary), 32; None without weights.
        weights: Number of weights.
        bytes: Size of all constants that this node is the first to use.
        float32_bytes: Size of the same constants with every weight a 32-bit float.
    """

    name: str
    op: str
    input: Shape | None
    output: Shape | None
    input_bits: int
    weight_bits: int | None
    weights: int
    bytes: int
    float32_bytes: int


@dataclass(frozen=True)
class FileReport:
    """Describes a model file.

    Attributes:
        path: The file.
        size: Its bytes.
        nodes: Its nodes in order.
        bytes_by_kind: The bytes split by what they hold.
        float32_bytes: Bytes of all constants with every weight a 32-bit float.
        metadata: What bnndeploy export wrote, without long binary parts.
        weights_intact: Whether the weights still have the hash of the metadata; None without.
    """

    path: str
    size: int
    nodes: tuple[NodeReport, ...]
    bytes_by_kind: Mapping[str, int]
    float32_bytes: int
    metadata: Mapping[str, Any]
    weights_intact: bool | None

    @property
    def constant_bytes(self) -> int:
        """Returns the bytes of all constants."""
        return sum(node.bytes for node in self.nodes)


def inspect_file(path: Path) -> FileReport:
    """Describes a model file.

    Raises:
        ModelFileError: If the file is missing, damaged or not a model.
    """
    model = load_checked_model(path)
    shapes = _shapes(model)
    packed = {
        tensor.name for tensor in model.graph.initializer if tensor.data_type == _UINT32
    } | _packed_values(model)
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    unseen = dict(constants)
    nodes = tuple(_describe(node, shapes, packed, constants, unseen) for node in model.graph.node)
    metadata = read_metadata({entry.key: entry.value for entry in model.metadata_props}).values
    digest = metadata.get("weights_sha256")
    return FileReport(
        path=str(path),
        size=path.stat().st_size,
        nodes=nodes,
        bytes_by_kind=bytes_by_kind(model),
        float32_bytes=sum(node.float32_bytes for node in nodes),
        metadata={key: value for key, value in metadata.items() if key not in _LONG},
        weights_intact=None if digest is None else weights_sha256(model) == digest,
    )


def _shapes(model: onnx.ModelProto) -> dict[str, Shape]:
    """Returns the shapes that the file states or that follow from them."""
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except Exception:  # a shape that cannot be inferred is shown as unknown
        graph = model.graph
    shapes: dict[str, Shape] = {t.name: tuple(t.dims) for t in graph.initializer}
    for value in (*graph.value_info, *graph.input, *graph.output):
        if value.type.tensor_type.HasField("shape"):
            dims = value.type.tensor_type.shape.dim
            shapes[value.name] = tuple(
                dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?" for dim in dims
            )
    return shapes


def _packed_values(model: onnx.ModelProto) -> set[str]:
    """Returns the values that hold bits: what our operators and reshapes of them give."""
    packed: set[str] = set()
    for node in model.graph.node:
        if node.domain == DOMAIN:
            bits = _BITS_OUTPUT.get(node.op_type)
            packed |= set(node.output[bits : bits + 1] if bits is not None else ())
        elif node.input and node.input[0] in packed:
            packed |= set(node.output)
    return packed - {""}


def _describe(
    node: onnx.NodeProto,
    shapes: Mapping[str, Shape],
    packed: set[str],
    constants: Mapping[str, onnx.TensorProto],
    unseen: dict[str, onnx.TensorProto],
) -> NodeReport:
    """Takes the node's constants out of ``unseen``: shared ones count for their first user."""
    own = [tensor for name in node.input if (tensor := unseen.pop(name, None))]
    size = sum(tensor_bytes(tensor) for tensor in own)
    weight_bits, weights = _weights(node, constants)
    float32_bytes = size
    if weight_bits in (1, 2) and any(tensor.name == node.input[1] for tensor in own):
        float32_bytes += weights * _FLOAT_BYTES - tensor_bytes(constants[node.input[1]])
    first_output = next(filter(None, node.output), "")
    return NodeReport(
        name=node.name or first_output,
        op=node.op_type,
        input=shapes.get(node.input[0]) if node.input else None,
        output=shapes.get(first_output),
        input_bits=1 if node.input and node.input[0] in packed else 32,
        weight_bits=weight_bits,
        weights=weights,
        bytes=size,
        float32_bytes=float32_bytes,
    )


def _weights(
    node: onnx.NodeProto, constants: Mapping[str, onnx.TensorProto]
) -> tuple[int | None, int]:
    """Returns bits of one weight and how many there are, for a node that has weights."""
    if len(node.input) < 2 or node.input[1] not in constants:
        return None, 0
    weight = constants[node.input[1]]
    if node.domain == DOMAIN and node.op_type in _PRODUCTS:
        bits = _PRODUCTS[node.op_type]
        # Everything but the words of a row, and for ternary weights but the two planes.
        return bits, math.prod(weight.dims[bits - 1 : -1]) * _depth(node)
    if node.domain == "" and node.op_type in ("Conv", "Gemm", "MatMul"):
        return 8 * _itemsize(weight), math.prod(weight.dims)
    return None, 0


def _depth(node: onnx.NodeProto) -> int:
    """Returns how many weights a row of words holds."""
    values = {entry.name: helper.get_attribute_value(entry) for entry in node.attribute}
    try:
        return int(values["k"] if "k" in values else values["channels"] // values["group"])
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise ModelFileError(
            f"node {node.name} ({node.op_type}): got attributes {sorted(values)}, expected k, or "
            "channels and a positive group; export the model again"
        ) from error


def _itemsize(tensor: onnx.TensorProto) -> int:
    return int(helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize)
