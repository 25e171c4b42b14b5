"""Fuses what follows a product into the product's epilogue."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as ir

from bnndeploy.export.chain import batch_norm_epsilon
from bnndeploy.export.context import Context
from bnndeploy.export.graph import (
    Float,
    attribute,
    channel_vector,
    constant,
    dims,
    has_one_reader,
    is_op,
    rank,
    readers,
    replace,
)
from bnndeploy.export.product import PRODUCTS, Product
from bnndeploy.ops.names import DOMAIN

# How many stages of the epilogue are taken once a stage is in use.
_ACC_MIN, _SCALE, _BIAS, _RESIDUAL, _SLOPE, _SHIFT = range(1, 7)


class FuseEpilogues:
    """Lets a product do the element-wise work after it, in the order of its epilogue.

    The reader must be the only one. With v the product's float output so far:

    1. ``Relu(v)`` or ``Clip(v, 0, none)`` of the bare accumulator: acc_min = 0.
    2. ``v * c``, ``v / c``: into scale (and bias).
    3. ``v + c``, ``v - c``: into bias; after the residual into shift.
    4. Batch-norm: scale and bias, folded in float64 and rounded once.
    5. ``v + r``: the residual, for r of the same shape.
    6. PRelu, LeakyRelu, Relu: slope. A shift taken before moves into the bias, which changes
       the order of two additions (RPReLU: ``prelu(x - a) + b``).

    Folding 2-4 rounds differently from the trained module in the last bits; where only signs
    follow, fold-thresholds has run before and nothing changes.
    """

    name = "fuse-epilogues"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        for node in list(graph):
            if node.domain == DOMAIN and node.op_type in PRODUCTS:
                product = Product(node)
                while self._fuse_reader(graph, product, context):
                    pass

    def _fuse_reader(self, graph: ir.Graph, product: Product, context: Context) -> bool:
        y = product.y
        if not has_one_reader(y):
            self._explain_readers(y, context)
            return False
        reader = readers(y)[0]
        fuse = _FUSIONS.get(reader.op_type) if reader.domain == "" else None
        if fuse is None:
            return False
        reason = fuse(graph, product, reader)
        if reason is not None:
            context.declined(self.name, reader, reason)
            return False
        context.fired(self.name, reader, f"into {product.node.name}")
        result = reader.outputs[0]
        y.shape = result.shape
        replace(result, y)
        graph.remove(reader, safe=True)
        return True

    def _explain_readers(self, y: ir.Value, context: Context) -> None:
        for reader in readers(y):
            if reader.domain == "" and reader.op_type in _FUSIONS and len(y.uses()) > 1:
                reason = f"its input is read by {len(y.uses())} nodes"
                context.declined(self.name, reader, reason)


def _relu(graph: ir.Graph, product: Product, reader: ir.Node) -> str | None:
    if product.stage == 0:
        product.set_acc_min(0.0)
        return None
    return _set_slope(graph, product, np.zeros(1, np.float32))


def _clip(graph: ir.Graph, product: Product, reader: ir.Node) -> str | None:
    low, high = (constant(value) for value in [*reader.inputs[1:], None, None][:2])
    if high is not None or low is None or low.item() != 0:
        return "only a lower bound of 0 fits the epilogue"
    return _relu(graph, product, reader)


def _prelu(graph: ir.Graph, product: Product, reader: ir.Node) -> str | None:
    slope = constant(reader.inputs[1])
    vector = None if slope is None else channel_vector(slope, rank(product.y) or 0)
    if vector is None:
        return "its slope is not one constant a channel"
    return _set_slope(graph, product, vector)


def _leaky_relu(graph: ir.Graph, product: Product, reader: ir.Node) -> str | None:
    return _set_slope(graph, product, np.array([attribute(reader, "alpha", 0.01)], np.float32))


def _set_slope(graph: ir.Graph, product: Product, slope: Float) -> str | None:
    if not product.is_neutral("slope"):
        return "the product already has a slope"
    if not product.is_neutral("shift"):
        product.set_vector(graph, "bias", _add(product.vector("bias"), product.vector("shift")))
        product.set_vector(graph, "shift", np.array([-0.0], np.float32))
    product.set_vector(graph, "slope", slope)
    return None


def _multiply(graph: ir.Graph, product: Product, reader: ir.Node) -> str | None:
    factor = _other_vector(product, reader)
    if factor is None:
        return "its factor is not one constant a channel"
    if product.stage > _BIAS:
        return "the product already adds a residual or bends"
    if is_op(reader, "Div"):
        if reader.inputs[0] is not product.y:
            return "it divides by the product"
        factor = (1 / factor.astype(np.float64)).astype(np.float32)
    _scale(graph, product, factor.astype(np.float64), np.zeros(1))
    return None


def _add_or_subtract(graph: ir.Graph, product: Product, reader: ir.Node) -> str | None:
    negated = is_op(reader, "Sub")
    vector = _other_vector(product, reader)
    if negated and reader.inputs[1] is product.y:
        if vector is None or product.stage > _BIAS:
            return "it subtracts the product"
        _scale(graph, product, np.array([-1.0]), vector.astype(np.float64))
        return None
    if vector is None:
        return "it subtracts a value" if negated else _set_residual(product, reader)
    name = "bias" if product.stage <= _BIAS else "shift"
    moved = -vector if negated else vector
    product.set_vector(graph, name, _add(product.vector(name), moved))
    return None


def _set_residual(product: Product, reader: ir.Node) -> str | None:
    left, right = reader.inputs
    other = right if left is product.y else left
    if other is None or other is product.y or constant(other) is not None:
        return "it does not add a second value"
    if product.stage > _BIAS:
        return "the product already adds a residual or bends"
    if dims(other) != dims(product.y) or other.dtype != product.y.dtype:
        return "the second value has another shape or type"
    if _depends_on(other, product.node):
        return "the second value depends on the product"
    product.set_residual(other)
    return None


def _batch_norm(graph: ir.Graph, product: Product, reader: ir.Node) -> str | None:
    vectors = [constant(value) for value in reader.inputs[1:]]
    if any(vector is None for vector in vectors):
        return "its statistics are not constant"
    if product.stage > _BIAS:
        return "the product already adds a residual or bends"
    gamma, beta, mean, variance = (np.asarray(v, np.float64) for v in vectors)
    factor = gamma / np.sqrt(variance + batch_norm_epsilon(reader))
    _scale(graph, product, factor, beta - mean * factor)
    return None


def _scale(
    graph: ir.Graph,
    product: Product,
    factor: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    offset: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> None:
    """Applies ``v * factor + offset`` to what scale and bias hold."""
    scale = product.vector("scale").astype(np.float64) * factor
    bias = product.vector("bias").astype(np.float64) * factor + offset
    product.set_vector(graph, "scale", scale)
    product.set_vector(graph, "bias", np.where(bias == 0, -0.0, bias))


def _add(left: Float, right: Float) -> Float:
    return (left.astype(np.float64) + right.astype(np.float64)).astype(np.float32)


def _other_vector(product: Product, reader: ir.Node) -> Float | None:
    left, right = reader.inputs
    array = constant(right if left is product.y else left)
    return None if array is None else channel_vector(array, rank(product.y) or 0)


def _depends_on(value: ir.Value, node: ir.Node) -> bool:
    """Says whether ``node`` is above ``value``."""
    stack, seen = [value], set()
    while stack:
        producer = stack.pop().producer()
        if producer is None or producer in seen:
            continue
        if producer is node:
            return True
        seen.add(producer)
        stack.extend(v for v in producer.inputs if v is not None)
    return False


_FUSIONS: dict[str, Callable[[ir.Graph, Product, ir.Node], str | None]] = {
    "Relu": _relu,
    "Clip": _clip,
    "PRelu": _prelu,
    "LeakyRelu": _leaky_relu,
    "Mul": _multiply,
    "Div": _multiply,
    "Add": _add_or_subtract,
    "Sub": _add_or_subtract,
    "BatchNormalization": _batch_norm,
}
