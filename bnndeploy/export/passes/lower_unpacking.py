"""Moves UnpackBits down, so that what lies above works on bits."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from bnndeploy.export.context import Context
from bnndeploy.export.graph import (
    add_constant,
    attribute,
    constant,
    dims,
    insert,
    is_op,
    is_ours,
    rank,
    replace,
    static_dim,
)
from bnndeploy.export.passes.pack_signs import packed_dims
from bnndeploy.export.pooling import pooling_of
from bnndeploy.ops.names import DOMAIN
from bnndeploy.ops.packing import WORD_BITS


class LowerUnpacking:
    """Exchanges UnpackBits with the operators that read it.

    1. ``MaxPool(UnpackBits(b))``: the greatest of signs is the OR of bits, MaxPoolBits.
    2. ``Reshape(UnpackBits(b))`` from ``[N, C, 1, 1]`` to ``[N, C]``: a reshape of words.
    3. ``Concat(UnpackBits(b0), …)`` along channels: a concatenation of words, where all but
       the last have whole words (channels a multiple of 32).
    4. ``Slice(UnpackBits(b))``: a slice of words, where channels are cut at multiples of 32;
       ``Split`` is one slice for each part.
    """

    name = "lower-unpacking"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        for node in list(graph):
            if not any(is_unpacked(value) for value in node.inputs):
                continue
            if is_op(node, "MaxPool"):
                self._pool(graph, node, context)
            elif is_op(node, "Reshape", "Flatten"):
                self._reshape(graph, node, context)
            elif is_op(node, "Concat"):
                self._concat(graph, node, context)
            elif is_op(node, "Slice"):
                self._slice(graph, node, context)
            elif is_op(node, "Split"):
                for part in _as_slices(graph, node):
                    self._slice(graph, part, context)

    def _pool(self, graph: ir.Graph, node: ir.Node, context: Context) -> None:
        pooling = pooling_of(node)
        if isinstance(pooling, str):
            context.declined(self.name, node, pooling)
            return
        bits, channels = bits_of(node.inputs[0])
        invert = np.zeros(-(-channels // WORD_BITS), np.uint32)
        pooled = insert(
            graph, node, "MaxPoolBits",
            [bits, add_constant(graph, invert, f"{node.name}.invert")], pooling,
            domain=DOMAIN, name=node.name, shape=packed_dims(node.outputs[0]),
            dtype=ir.DataType.UINT32,
        )  # fmt: skip
        self._finish(graph, node, pooled.outputs[0], channels)
        context.fired(self.name, node, "max-pool on bits")

    def _reshape(self, graph: ir.Graph, node: ir.Node, context: Context) -> None:
        bits, channels = bits_of(node.inputs[0])
        if rank(node.outputs[0]) != 2 or static_dim(node.outputs[0], 1) != channels:
            return  # a flatten of a map joins the product that reads it
        words = static_dim(bits, -1)
        target = add_constant(graph, np.array([-1, words], np.int64), f"{node.name}.shape")
        shape = dims(node.outputs[0])
        assert shape is not None
        reshaped = insert(
            graph, node, "Reshape", [bits, target], {"allowzero": 0}, name=node.name,
            shape=[shape[0], words], dtype=ir.DataType.UINT32,
        )  # fmt: skip
        self._finish(graph, node, reshaped.outputs[0], channels)
        context.fired(self.name, node, "reshape of words")

    def _concat(self, graph: ir.Graph, node: ir.Node, context: Context) -> None:
        if attribute(node, "axis") not in (1, 1 - (rank(node.outputs[0]) or 0)):
            context.declined(self.name, node, "not along the channels")
            return
        if not all(is_unpacked(value) for value in node.inputs):
            context.declined(self.name, node, "not all of its inputs are bits")
            return
        parts = [bits_of(value) for value in node.inputs]
        if any(channels % WORD_BITS for _, channels in parts[:-1]):
            context.declined(self.name, node, "a part's channels are not a multiple of 32")
            return
        joined = insert(
            graph, node, "Concat", [bits for bits, _ in parts], {"axis": -1}, name=node.name,
            shape=packed_dims(node.outputs[0]), dtype=ir.DataType.UINT32,
        )  # fmt: skip
        self._finish(graph, node, joined.outputs[0], sum(channels for _, channels in parts))
        context.fired(self.name, node, "concatenation of words")

    def _slice(self, graph: ir.Graph, node: ir.Node, context: Context) -> None:
        bits, channels = bits_of(node.inputs[0])
        cut = _words_of_slice(node, channels)
        kept = static_dim(node.outputs[0], 1)
        if isinstance(cut, str) or kept is None:
            reason = cut if isinstance(cut, str) else "its size is unknown"
            context.declined(self.name, node, reason)
            return
        operands = [
            add_constant(graph, np.array(numbers, np.int64), f"{node.name}.{name}")
            for name, numbers in zip(("starts", "ends", "axes", "steps"), cut, strict=True)
        ]
        sliced = insert(
            graph, node, "Slice", [bits, *operands], name=node.name,
            shape=packed_dims(node.outputs[0]), dtype=ir.DataType.UINT32,
        )  # fmt: skip
        self._finish(graph, node, sliced.outputs[0], kept)
        context.fired(self.name, node, "slice of words")

    def _finish(self, graph: ir.Graph, node: ir.Node, bits: ir.Value, channels: int) -> None:
        unpack = insert(
            graph, node, "UnpackBits", [bits], {"channels": channels}, domain=DOMAIN,
            name=f"{node.name}.floats", like=node.outputs[0],
        )  # fmt: skip
        replace(node.outputs[0], unpack.outputs[0])
        graph.remove(node, safe=True)


def _as_slices(graph: ir.Graph, node: ir.Node) -> list[ir.Node]:
    """Replaces a Split whose parts have known sizes by Slices; gives them back."""
    axis = attribute(node, "axis", 0)
    sizes = [static_dim(output, axis) for output in node.outputs]
    if None in sizes:
        return []
    slices, start = [], 0
    for output, size in zip(node.outputs, sizes, strict=True):
        assert size is not None
        operands = [
            add_constant(graph, np.array([number], np.int64), f"{node.name}.{name}")
            for name, number in (("start", start), ("end", start + size), ("axis", axis))
        ]
        part = insert(
            graph, node, "Slice", [node.inputs[0], *operands], name=node.name, like=output
        )
        replace(output, part.outputs[0])
        slices.append(part)
        start += size
    graph.remove(node, safe=True)
    return slices


def _words_of_slice(node: ir.Node, channels: int) -> list[list[int]] | str:
    """Returns starts, ends, axes and steps of a Slice for packed values, or why there are none."""
    arrays = [array for value in node.inputs[1:] if (array := constant(value)) is not None]
    axes_count = rank(node.outputs[0]) or 0
    if len(arrays) < max(3, len(node.inputs) - 1):
        return "its bounds are not constant"
    starts, ends, axes, *rest = ([int(n) for n in array.reshape(-1)] for array in arrays)
    steps = rest[0] if rest else [1] * len(axes)
    cut: list[list[int]] = [[], [], [], steps]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        moved = axis % axes_count
        if moved == 1:
            first, last, _ = slice(start, end).indices(channels)
            if step != 1 or first % WORD_BITS or (last % WORD_BITS and last != channels):
                return "its channels are not cut at multiples of 32"
            start, end = first // WORD_BITS, -(-last // WORD_BITS)
        for numbers, number in zip(
            cut, (start, end, _packed_axis(moved, axes_count)), strict=False
        ):
            numbers.append(number)
    return cut


def _packed_axis(axis: int, count: int) -> int:
    """Maps an axis of ``[N, C, …]`` to that of the packed ``[N, …, Cw]``."""
    return axis if axis == 0 else count - 1 if axis == 1 else axis - 1


def is_unpacked(value: ir.Value | None) -> bool:
    """Says whether an UnpackBits node makes ``value``."""
    return value is not None and is_ours(value.producer(), "UnpackBits")


def bits_of(value: ir.Value | None) -> tuple[ir.Value, int]:
    """Returns the bits and the channel count behind an unpacked value."""
    node = value.producer() if value is not None else None
    assert node is not None
    assert node.inputs[0] is not None
    return node.inputs[0], int(attribute(node, "channels"))
