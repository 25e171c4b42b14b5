"""Compares the outputs of one node, exactly or within the rounding of a float sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from onnx import NodeProto

from bnndeploy.ops.oracle import run_op
from bnndeploy.ops.packing import pack_mask
from bnndeploy.parity._model import Array, attributes, is_ours
from bnndeploy.parity._walk import NodeRun

_PRODUCTS = ("XnorGemm", "XnorConv", "TernaryGemm", "TernaryConv")

LARGEST = float(np.finfo(np.float64).max)
"""Stands for the difference between a number and NaN or infinity, which JSON does not know."""


@dataclass(frozen=True)
class Difference:
    """How two arrays differ: see the fields of the same name in ``Check``."""

    compared: int
    differing: int
    explained: int = 0
    worst: float = 0.0


def bits_differ(left: Array, right: Array, near: Array | None = None) -> Difference:
    """Counts differing bits of two arrays of words; ``near`` marks the bits rounding may flip."""
    flips = left ^ right
    total = int(np.bitwise_count(flips).sum())
    explained = 0 if near is None else int(np.bitwise_count(flips & near).sum())
    return Difference(left.size * 32, total - explained, explained)


def numbers_differ(left: Array, right: Array, band: Array | float = 0.0) -> Difference:
    """Counts numbers that differ by value, NaN equal to NaN; ``band`` bounds the explained."""
    a, b = left.astype(np.float64), right.astype(np.float64)
    unequal = (a != b) & ~(np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        error = np.where(unequal, np.abs(a - b), 0.0)
    beyond = unequal & ~(error <= band)  # NaN against a number is beyond every band
    finite = error[np.isfinite(error)]
    worst = float(finite.max(initial=0.0)) if finite.size == error.size else LARGEST
    return Difference(left.size, int(beyond.sum()), int(unequal.sum() - beyond.sum()), worst)


def outputs_differ(
    run: NodeRun, got: Sequence[Array], expected: Sequence[Array], slack: float = 1.0
) -> Difference:
    """Compares the wanted outputs of one of our nodes.

    Everything is exact, except products of float X: their sums may be taken in any order.
    ``slack`` widens that band, for two results of which neither is the oracle's.
    """
    band = None if is_exact(run) else rounding_band(run) * slack
    total = Difference(0, 0)
    for left, right in zip(got, expected, strict=True):
        if left.dtype != right.dtype or left.shape != right.shape:
            part = Difference(right.size, right.size, 0, LARGEST)
        elif right.dtype == np.uint32:
            part = bits_differ(left, right, None if band is None else _near_bits(run, band))
        else:
            part = numbers_differ(left, right, 0.0 if band is None else band)
        total = Difference(
            total.compared + part.compared,
            total.differing + part.differing,
            total.explained + part.explained,
            max(total.worst, part.worst),
        )
    return total


def is_product(node: NodeProto) -> bool:
    """Says whether a node is one of our four products."""
    return is_ours(node) and node.op_type in _PRODUCTS


def is_exact(run: NodeRun) -> bool:
    """Says whether every right implementation gives the very same values."""
    return not is_product(run.node) or run.inputs[0].dtype == np.uint32


def rounding_band(run: NodeRun) -> Array:
    """Bounds the error of Y when the sums of a float X are taken in any order.

    ``|error of acc| <= K 2^-24 sum|x|``, carried through the epilogue: times the scales and the
    slope, plus the rounding of its steps and of the type of Y.
    """
    x = run.inputs[0]
    scale, bias, residual, slope, shift, _ = (v.astype(np.float64) for v in run.inputs[-6:])
    with np.errstate(all="ignore"):
        error = _depth(run) * 2.0**-24 * _sum_of_magnitudes(run)
        if run.node.op_type.startswith("Ternary"):
            w_pos, w_neg = run.inputs[2:4]
            error = error * along_channels(np.abs(w_pos) + np.abs(w_neg), x.ndim)
        steepness = np.abs(scale) * np.maximum(1.0, np.abs(slope))
        y = np.abs(run.results[0].astype(np.float64))
        size = y + np.abs(residual) + along_channels(np.abs(bias) + np.abs(shift), x.ndim)
        step = 2.0**-10 if run.results[0].dtype == np.float16 else 2.0**-22
        band: Array = error * along_channels(steepness, x.ndim) + step * size
    return np.where(np.isfinite(band), band, 0.0)


def _near_bits(run: NodeRun, band: Array) -> Array:
    """Marks the bits of Ybits whose Y lies within the band of its threshold."""
    threshold = along_channels(run.inputs[-1], run.inputs[0].ndim)
    with np.errstate(invalid="ignore"):
        near = np.abs(run.results[0].astype(np.float64) - threshold) <= band
    return pack_mask(np.moveaxis(near, 1, -1))


def _sum_of_magnitudes(run: NodeRun) -> Array:
    """Sums |x| over each output's receptive field: the same product with all weights +1."""
    values = attributes(run.node) | {"acc_min": float("-inf")}
    if "pad_value" in values:
        values["pad_value"] = abs(values["pad_value"])
    ternary = run.node.op_type.startswith("Ternary")
    w = run.inputs[1][0] if ternary else run.inputs[1]
    length = values.get("k") or values["channels"] // values["group"]
    ones = np.broadcast_to(pack_mask(np.ones(length, np.bool_)), w.shape).copy()
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    x = np.abs(run.inputs[0].astype(np.float32))
    op_type = run.node.op_type.replace("Ternary", "Xnor")
    return run_op(op_type, [x, ones, one, zero, zero, one, zero, zero], values)[0]


def _depth(run: NodeRun) -> int:
    """Returns K, the number of terms of one sum."""
    values, w = attributes(run.node), run.inputs[1]
    if "k" in values:
        return int(values["k"])
    return int(w.shape[-3] * w.shape[-2] * (values["channels"] // values["group"]))


def along_channels(vector: Array, rank: int) -> Array:
    """Views a [1] or [C] vector along channel axis 1."""
    return vector.astype(np.float64).reshape(1, -1, *(1,) * (rank - 2))
