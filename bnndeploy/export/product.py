"""A readable view of the nodes XnorGemm, XnorConv, TernaryGemm and TernaryConv."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from bnndeploy.export.graph import (
    Array,
    Float,
    add_constant,
    attribute,
    constant,
    insert,
    is_op,
    is_ours,
    set_attribute,
    shared_constant,
    static_dim,
)
from bnndeploy.ops.names import DOMAIN, SIGNATURES
from bnndeploy.ops.packing import WORD_BITS, pack_bits, pack_ternary

PRODUCTS = ("XnorGemm", "XnorConv", "TernaryGemm", "TernaryConv")

NEUTRAL: dict[str, float] = {
    "w_pos": 1.0,
    "w_neg": 1.0,
    "scale": 1.0,
    "bias": -0.0,
    "residual": -0.0,
    "slope": 1.0,
    "shift": -0.0,
    "threshold": 0.0,
}
"""What each operand holds when it does nothing."""

_STAGES = ("acc_min", "scale", "bias", "residual", "slope", "shift")


def as_product(value: ir.Value | None) -> Product | None:
    """Returns the product whose float output ``value`` is, else None."""
    node = value.producer() if value is not None else None
    if node is None or not is_ours(node, *PRODUCTS) or node.outputs[0] is not value:
        return None
    return Product(node)


class Product:
    """Reads and writes the operands of one product node by the names of its signature."""

    def __init__(self, node: ir.Node) -> None:
        self.node = node
        self._names = SIGNATURES[node.op_type].inputs

    @property
    def y(self) -> ir.Value:
        return self.node.outputs[0]

    @property
    def y_bits(self) -> ir.Value:
        return self.node.outputs[1]

    @property
    def is_conv(self) -> bool:
        return self.node.op_type.endswith("Conv")

    def operand(self, name: str) -> ir.Value:
        value = self.node.inputs[self._names.index(name)]
        assert value is not None  # every input of a product is written
        return value

    def vector(self, name: str) -> Float:
        """Returns a constant operand; "residual" only while it is neutral."""
        array = constant(self.operand(name))
        assert array is not None
        return array

    def set_vector(self, graph: ir.Graph, name: str, vector: Array) -> None:
        array = np.asarray(vector, np.float32).reshape(-1)
        value = add_constant(graph, array, f"{self.node.name}.{name}")
        self.node.replace_input_with(self._names.index(name), value)

    def set_residual(self, value: ir.Value) -> None:
        self.node.replace_input_with(self._names.index("residual"), value)

    @property
    def acc_min(self) -> float:
        return float(attribute(self.node, "acc_min"))

    def set_acc_min(self, bound: float) -> None:
        set_attribute(self.node, "acc_min", float(bound))

    def is_neutral(self, name: str) -> bool:
        """Says whether a stage of the epilogue, or a pair of weight scales, does nothing."""
        if name == "acc_min":
            return self.acc_min == -np.inf
        array = constant(self.operand(name))
        return array is not None and bool(np.all(array == np.float32(NEUTRAL[name])))

    @property
    def stage(self) -> int:
        """Returns how many stages of the epilogue are taken: 0 none … 6 all up to shift."""
        taken = [i for i, name in enumerate(_STAGES) if not self.is_neutral(name)]
        return taken[-1] + 1 if taken else 0

    @property
    def takes_bits(self) -> bool:
        return self.node.inputs[0] is not None and self.node.inputs[0].dtype == ir.DataType.UINT32

    @property
    def accumulator_limit(self) -> int | None:
        """Bounds the magnitude of Y while Y is a plain integer accumulator, else None."""
        scales = [n for n in ("w_pos", "w_neg") if n in self._names]
        if not self.takes_bits or self.stage or not all(map(self.is_neutral, scales)):
            return None
        return self.depth

    @property
    def depth(self) -> int:
        """Returns K, how many products one accumulator sums."""
        if not self.is_conv:
            return int(attribute(self.node, "k"))
        kernel = self.operand("W").shape
        assert kernel is not None
        height, width = (int(size) for size in list(kernel.dims)[-3:-1])  # type: ignore[arg-type]
        group: int = attribute(self.node, "group")
        return height * width * int(attribute(self.node, "channels")) // group


def insert_product(
    graph: ir.Graph,
    anchor: ir.Node,
    kind: str,
    x: ir.Value,
    codes: Array,
    attributes: Mapping[str, Any],
    *,
    name: str,
    like: ir.Value,
    weight_scales: tuple[Float, Float] | None = None,
) -> Product:
    """Adds a product with a neutral epilogue before ``anchor``.

    Args:
        graph: The graph.
        anchor: The node that it replaces.
        kind: "Gemm" or "Conv".
        x: Bits or a float value.
        codes: Weights in {-1, 0, +1} with the depth on the last axis.
        attributes: All but acc_min.
        name: The layer's module path.
        like: Lends shape and type to Y.
        weight_scales: w_pos and w_neg; ternary only.
    """
    ternary = weight_scales is not None or bool(np.any(codes == 0))
    op_type = ("Ternary" if ternary else "Xnor") + kind
    packed = pack_ternary(codes) if ternary else pack_bits(codes)
    operands = {"X": x, "W": add_constant(graph, packed, f"{name}.weight_bits")}
    for operand in SIGNATURES[op_type].inputs[2:]:
        operands[operand] = _neutral(graph, operand)
    node = insert(
        graph,
        anchor,
        op_type,
        list(operands.values()),
        {**attributes, "acc_min": -np.inf},
        domain=DOMAIN,
        name=name,
        like=like,
        more_outputs=[ir.Value(name="")],
    )
    product = Product(node)
    if weight_scales is not None:
        product.set_vector(graph, "w_pos", weight_scales[0])
        product.set_vector(graph, "w_neg", weight_scales[1])
    return product


def _neutral(graph: ir.Graph, operand: str) -> ir.Value:
    number = NEUTRAL[operand]
    names = {1.0: "neutral.one", 0.0: "neutral.zero"}
    name = "neutral.minus_zero" if np.signbit(number) else names[number]
    return shared_constant(graph, np.array([number], np.float32), name)


def bit_channels(bits: ir.Value) -> int:
    """Returns how many bits of a packed value count, from what makes it."""
    node = bits.producer()
    assert node is not None  # a graph does not take bits as its input
    first = node.inputs[0]
    assert first is not None
    channels: int | None
    if is_ours(node, *PRODUCTS):
        rows = Product(node).operand("W").shape
        assert rows is not None
        channels = int(rows[-4 if node.op_type.endswith("Conv") else -2])  # type: ignore[arg-type]
    elif is_ours(node, "PackBits"):
        channels = static_dim(first, 1)
    elif is_op(node, "Concat"):  # all but the last fill their words
        parts = [value for value in node.inputs if value is not None]
        whole = sum(static_dim(part, -1) or 0 for part in parts[:-1])
        channels = WORD_BITS * whole + bit_channels(parts[-1])
    elif is_op(node, "Slice"):
        channels = _sliced_channels(node, bit_channels(first))
    else:
        channels = bit_channels(first)
    assert channels is not None
    return channels


def _sliced_channels(node: ir.Node, channels: int) -> int:
    """Returns what a slice of words leaves of the channels."""
    starts, ends, axes = (constant(value) for value in node.inputs[1:4])
    assert starts is not None
    assert ends is not None
    assert axes is not None
    for start, end, axis in zip(starts.tolist(), ends.tolist(), axes.tolist(), strict=True):
        if axis == len(node.outputs[0].shape or ()) - 1:
            return int(min(channels, WORD_BITS * end) - WORD_BITS * start)
    return channels
