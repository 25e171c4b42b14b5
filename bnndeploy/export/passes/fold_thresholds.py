"""Folds what lies between a value and its sign into a threshold."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from bnndeploy.export.chain import Link, evaluate, is_elementwise, link_above
from bnndeploy.export.context import Context
from bnndeploy.export.crossing import BitsOf, Crossing, Float, cross_floats, cross_integers
from bnndeploy.export.graph import (
    QUANTIZER_KEY,
    add_constant,
    constant,
    insert,
    is_op,
    is_ours,
    rank,
    readers,
    static_dim,
)
from bnndeploy.export.passes.pack_signs import packed_dims
from bnndeploy.export.pooling import pooling_of
from bnndeploy.export.product import as_product
from bnndeploy.ops.names import DOMAIN
from bnndeploy.ops.packing import pack_mask

MAX_TABLE_CELLS = 1 << 28


class FoldThresholds:
    """Moves PackBits up, past element-wise operations and max-pools.

    1. Element-wise chain (batch-norm, scale, bias, hardtanh, …) whose results are read for
       their signs only: the chain becomes a sign (+1, or -1 where it falls) and a threshold
       per channel. They come from calling torch's own operations, on every integer that an
       accumulator can reach, or, below other values, by bisecting over the float32 numbers
       (monotone operations only).
    2. ``PackBits(MaxPool(x))``: MaxPoolBits of the bits of x; where the sign is -1 the window's
       bits are those of "not below", inverted after the OR.
    3. A chain whose values are read as floats too stays, but where the bits flip along the
       accumulator is kept for emit-bits, which makes the fused threshold exact with it.
    """

    name = "fold-thresholds"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        for node in list(graph):
            if is_ours(node, "PackBits"):
                while self._fold_chain(graph, node, context) or self._swap_pool(
                    graph, node, context
                ):
                    pass
                self._remember_crossing(node, context)

    def _fold_chain(self, graph: ir.Graph, node: ir.Node, context: Context) -> bool:
        links = _chain_above(node, through_floats=False)
        crossing = None
        while links and (crossing := _cross(node, links)) is None:
            context.declined(self.name, links[0].node, "the sign is not a threshold of its input")
            links = links[1:]
        if crossing is None:
            return False
        names = " + ".join(link.node.op_type for link in links)
        _rewrite(graph, node, links[0].data, crossing)
        context.fired(self.name, node, f"{names} became a threshold")
        return True

    def _swap_pool(self, graph: ir.Graph, node: ir.Node, context: Context) -> bool:
        value = node.inputs[0]
        pool = value.producer() if value is not None else None
        if pool is None or not is_op(pool, "MaxPool") or not _only_for_bits(value):
            return False
        pooling = pooling_of(pool)
        if isinstance(pooling, str):
            context.declined(self.name, pool, pooling)
            return False
        sign, threshold = _parameters(node)
        falling = sign < 0
        # -max(x) >= t  is  not any(x > -t), and x > a is x >= the next float after a.
        above = np.where(falling, np.nextafter(-threshold, np.float32(np.inf)), threshold)
        invert = pack_mask(np.broadcast_to(falling, (static_dim(value, 1) or 1,)))
        never = falling & (threshold == np.inf)  # stays "never": every bit set, then inverted
        above = np.where(never, -np.inf, above).astype(np.float32)
        data = pool.inputs[0]
        assert data is not None
        pooled = insert(
            graph, node, "MaxPoolBits",
            [node.outputs[0], add_constant(graph, invert, f"{pool.name}.invert")], pooling,
            domain=DOMAIN, name=pool.name, like=node.outputs[0], after=True,
        )  # fmt: skip
        _move_label(node.outputs[0], pooled.outputs[0])
        replace_readers(node.outputs[0], pooled)
        _rewrite(graph, node, data, Crossing(np.ones_like(sign), above))
        node.outputs[0].shape = ir.Shape(packed_dims(data))
        context.fired(self.name, pool, "max-pool on bits")
        return True

    def _remember_crossing(self, node: ir.Node, context: Context) -> None:
        links = _chain_above(node, through_floats=True)
        product = as_product(links[0].data) if links else None
        if product is None or product.accumulator_limit is None:
            return
        crossing = _cross(node, links)
        if crossing is not None:
            context.crossings[node] = (product.node, crossing)


def integer_limit(value: ir.Value | None) -> int | None:
    """Bounds the magnitude of a value that only holds integers: accumulators, also pooled."""
    node = value.producer() if value is not None else None
    while node is not None and is_op(node, "MaxPool", "Reshape", "Flatten"):
        value = node.inputs[0]
        node = value.producer() if value is not None else None
    product = as_product(value)
    return None if product is None else product.accumulator_limit


def replace_readers(value: ir.Value, node: ir.Node) -> None:
    """Lets all readers of ``value`` but ``node`` read the output of ``node``."""
    for reader, index in list(value.uses()):
        if reader is not node:
            reader.replace_input_with(index, node.outputs[0])


def _chain_above(node: ir.Node, *, through_floats: bool) -> list[Link]:
    """Returns the element-wise links above a PackBits node, topmost first."""
    links: list[Link] = []
    value = node.inputs[0]
    while value is not None and (through_floats or _only_for_bits(value)):
        link = link_above(value)
        if link is None:
            break
        links.insert(0, link)
        value = link.data
    return links


def _only_for_bits(value: ir.Value | None) -> bool:
    """Says whether ``value`` matters for signs only, directly or through a chain or pool."""
    if value is None or value.is_graph_output():
        return False
    for reader in readers(value):
        if is_ours(reader, "PackBits"):
            continue
        passes = (is_elementwise(reader) and link_above(reader.outputs[0])) or is_op(
            reader, "MaxPool"
        )
        if not passes or not all(_only_for_bits(output) for output in reader.outputs):
            return False
    return True


def _cross(node: ir.Node, links: list[Link]) -> Crossing | None:
    source = links[0].data
    channels = static_dim(source, 1)
    if channels is None:
        return None
    bits_of = _bits_of(node, links)
    limit = integer_limit(source)
    if limit is not None and (2 * limit + 1) * channels <= MAX_TABLE_CELLS:
        return cross_integers(bits_of, limit, channels)
    return cross_floats(bits_of, channels) if all(link.monotone for link in links) else None


def _bits_of(node: ir.Node, links: list[Link]) -> BitsOf:
    sign, threshold = _parameters(node)

    def bits_of(values: Float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        bits: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
        bits = evaluate(links, values) * sign >= threshold
        return bits

    return bits_of


def _parameters(node: ir.Node) -> tuple[Float, Float]:
    sign, threshold = (constant(value) for value in node.inputs[1:])
    assert sign is not None
    assert threshold is not None
    return np.broadcast_arrays(sign.astype(np.float32), threshold.astype(np.float32))  # type: ignore[return-value]


def _rewrite(graph: ir.Graph, node: ir.Node, source: ir.Value, crossing: Crossing) -> None:
    """Points PackBits at ``source``; a change of rank becomes a reshape of the words."""
    ranks = (rank(source), rank(node.inputs[0]))
    node.replace_input_with(0, source)
    node.replace_input_with(1, add_constant(graph, _shorten(crossing.sign), f"{node.name}.sign"))
    node.replace_input_with(
        2, add_constant(graph, _shorten(crossing.threshold), f"{node.name}.threshold")
    )
    if ranks == (4, 2) or ranks == (2, 4):
        bits = node.outputs[0]
        words = static_dim(bits, -1) or 1
        shape = [-1, words] if ranks == (4, 2) else [-1, 1, 1, words]
        target = add_constant(graph, np.array(shape, np.int64), f"{node.name}.shape")
        reshaped = insert(
            graph, node, "Reshape", [bits, target], {"allowzero": 0}, name=f"{node.name}/rows",
            like=bits, after=True,
        )  # fmt: skip
        _move_label(bits, reshaped.outputs[0])
        replace_readers(bits, reshaped)
    bits = node.outputs[0]
    bits.shape = ir.Shape(packed_dims(source))


def _shorten(vector: Float) -> Float:
    """Stores a vector of equal elements as one."""
    return vector[:1] if np.all(vector == vector[:1]) else vector


def _move_label(old: ir.Value, new: ir.Value) -> None:
    label = old.metadata_props.pop(QUANTIZER_KEY, None)
    if label is not None:
        new.metadata_props[QUANTIZER_KEY] = label
