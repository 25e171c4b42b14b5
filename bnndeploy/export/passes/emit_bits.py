"""Keeps chains packed: a product returns the bits that follow it."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from bnndeploy.export.context import Context
from bnndeploy.export.crossing import Crossing
from bnndeploy.export.graph import Float, constant, is_dead, is_ours, readers, replace
from bnndeploy.export.passes.pack_signs import packed_dims
from bnndeploy.export.product import PRODUCTS, Product
from bnndeploy.ops.names import DOMAIN
from bnndeploy.ops.oracle import apply_epilogue


class EmitBits:
    """Replaces ``PackBits(Y)`` of a product by the product's second output.

    1. ``Y >= threshold``: taken as it is. Y itself goes where nothing else reads it.
    2. ``-Y >= threshold`` in some channels: where Y is read for these bits only and has no
       residual and no slope, scale, bias and shift change sign there, which rounds the same.
    3. Bits whose flip along the accumulator is known (see fold-thresholds): the threshold is Y
       at the flip, so the bits are those of the trained module although batch-norm is folded.
    """

    name = "emit-bits"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        for node in list(graph):
            if node.domain == DOMAIN and node.op_type in PRODUCTS:
                product = Product(node)
                for reader in readers(product.y):
                    if is_ours(reader, "PackBits"):
                        self._emit(graph, product, reader, context)

    def _emit(self, graph: ir.Graph, product: Product, pack: ir.Node, context: Context) -> None:
        if product.y_bits.name != "":
            context.declined(self.name, pack, "the product already returns other bits")
            return
        sign, threshold = (constant(value) for value in pack.inputs[1:])
        assert sign is not None
        assert threshold is not None
        exact = _exact_threshold(product, pack, context)
        if exact is not None:
            threshold = exact
        elif np.any(sign < 0):
            reason = self._negate(graph, product, sign)
            if reason is not None:
                context.declined(self.name, pack, reason)
                return
        product.set_vector(graph, "threshold", threshold)
        bits = product.y_bits
        bits.name = f"{product.node.name}.bits"
        bits.shape = ir.Shape(packed_dims(product.y))
        bits.type = ir.TensorType(ir.DataType.UINT32)
        replace(pack.outputs[0], bits)
        graph.remove(pack, safe=True)
        kept = "bits only" if is_dead(product.y) else "floats and bits"
        context.fired(self.name, product.node, f"returns {kept}")

    def _negate(self, graph: ir.Graph, product: Product, sign: Float) -> str | None:
        if len(product.y.uses()) > 1 or product.y.is_graph_output():
            return "its sign is -1 in some channels and the product's floats are needed too"
        if not product.is_neutral("residual") or not product.is_neutral("slope"):
            return "its sign is -1 in some channels and the product adds a residual or bends"
        for name in ("scale", "bias", "shift"):
            if name == "scale" or not product.is_neutral(name):
                product.set_vector(graph, name, product.vector(name) * sign)
        return None


def _exact_threshold(product: Product, pack: ir.Node, context: Context) -> Float | None:
    """Returns Y at the accumulator where the bits flip; None where that does not decide them."""
    node, crossing = context.crossings.get(pack, (None, None))
    if node is not product.node or crossing is None or not product.is_neutral("residual"):
        return None
    last = np.where(np.isfinite(crossing.threshold), crossing.threshold * crossing.sign, 0)
    beyond = last - crossing.sign
    y_set, y_unset = (_y_of(product, acc) for acc in (last, beyond))
    if np.any((y_unset >= y_set) & np.isfinite(crossing.threshold)):
        context.declined("emit-bits", pack, "rounding hides where the bits flip")
        return None
    if np.any(_falls(product, crossing)):
        return None
    return np.where(np.isfinite(crossing.threshold), y_set, crossing.threshold).astype(np.float32)


def _y_of(product: Product, acc: Float) -> Float:
    """Returns the product's float output for one accumulator a channel."""
    operands = [product.vector(n) for n in ("scale", "bias", "slope", "shift", "threshold")]
    scale, bias, slope, shift, threshold = operands
    residual = np.array([-0.0], np.float32)
    y, _ = apply_epilogue(
        acc[None].astype(np.float32), product.acc_min, scale, bias, residual, slope, shift,
        threshold,
    )  # fmt: skip
    row: Float = y[0]
    return row


def _falls(product: Product, crossing: Crossing) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Says in which channels Y does not move the way the bits do (a slope that bends it)."""
    negative: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = product.vector("slope") < 0
    return negative & np.isfinite(crossing.threshold)
