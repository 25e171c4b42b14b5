"""Inputs for every operator, with the edges where a portable function could go wrong.

Float X takes quarters of small integers: their sums are exact, so that every order of
summation gives the same value and results can be compared without a tolerance. The vectors
of the epilogue are arbitrary, so that a fused or reordered step would show.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bnndeploy.ops.packing import pack_bits, pack_ternary

INFINITY = float("inf")
FINITE_EDGES = [0.0, -0.0, 1e-30, -1e-30]
EDGES = [*FINITE_EDGES, np.nan, np.inf, -np.inf]


@dataclass
class Case:
    name: str
    op_type: str
    inputs: list[np.ndarray]
    attributes: dict[str, Any]

    def __str__(self):
        return f"{self.op_type}-{self.name}"


def quarters(rng, shape, dtype=np.float32):
    return (rng.integers(-8, 9, shape) / 4).astype(dtype)


def normals(rng, shape, dtype=np.float32):
    return rng.normal(size=shape).astype(dtype)


def epilogue(rng, channels, shape, dtype=np.float32, full=True):
    """Scale, bias, residual, slope, shift, threshold: full vectors, or the neutral values."""
    if not full:
        one, zero = np.ones(1, np.float32), np.full(1, -0.0, np.float32)
        return [one, zero, zero.astype(dtype), one, zero, np.zeros(1, np.float32)]
    scale, bias, slope, shift, threshold = (normals(rng, channels) for _ in range(5))
    return [scale, bias, normals(rng, shape, dtype), slope, shift, threshold]


def gemm(
    rng, name, m, n, k, *, x=None, ternary=False, dtype=np.float32, full=True, acc_min=-INFINITY
):
    values = rng.choice([-1.0, 1.0], (m, k))
    data = pack_bits(values) if x is None else quarters(rng, (m, k), x)
    if ternary:
        weights = [pack_ternary(rng.integers(-1, 2, (n, k)))]
        weights += [normals(rng, n if full else 1) for _ in range(2)]
    else:
        weights = [pack_bits(rng.choice([-1.0, 1.0], (n, k)))]
    inputs = [data, *weights, *epilogue(rng, n, (m, n), dtype, full)]
    op_type = "TernaryGemm" if ternary else "XnorGemm"
    return Case(name, op_type, inputs, {"k": k, "acc_min": acc_min})


def conv(
    rng,
    name,
    image,
    filters,
    *,
    x=None,
    ternary=False,
    dtype=np.float32,
    full=True,
    acc_min=-INFINITY,
    strides=(1, 1),
    pads=(0, 0, 0, 0),
    dilations=(1, 1),
    group=1,
    pad_value=0,
):
    """Image is (N, C, H, W), filters is (O, kh, kw)."""
    batch, channels, height, width = image
    codes_shape = (*filters, channels // group)
    if x is None:
        data = pack_bits(rng.choice([-1.0, 1.0], (batch, height, width, channels)))
    else:
        data = quarters(rng, image, x)
    if ternary:
        weights = [pack_ternary(rng.integers(-1, 2, codes_shape))]
        weights += [normals(rng, filters[0] if full else 1) for _ in range(2)]
    else:
        weights = [pack_bits(rng.choice([-1.0, 1.0], codes_shape))]
    spans = [(size - 1) * step + 1 for size, step in zip(filters[1:], dilations, strict=True)]
    rows = (height + pads[0] + pads[2] - spans[0]) // strides[0] + 1
    columns = (width + pads[1] + pads[3] - spans[1]) // strides[1] + 1
    shape = (batch, filters[0], rows, columns)
    attributes = {
        "channels": channels,
        "strides": list(strides),
        "pads": list(pads),
        "dilations": list(dilations),
        "group": group,
        "pad_value": pad_value,
        "acc_min": acc_min,
    }
    inputs = [data, *weights, *epilogue(rng, filters[0], shape, dtype, full)]
    return Case(name, "TernaryConv" if ternary else "XnorConv", inputs, attributes)


def with_edges(case, index=0, edges=EDGES):
    """Plants NaN, infinities and signed zeros among the values of one float input."""
    flat = case.inputs[index].reshape(-1)
    flat[: len(edges)] = edges[: flat.size]
    return case


def product_cases(rng, ternary):
    options = {"ternary": ternary}
    # Under the code 0 an infinity may count as 0 * inf = NaN or not at all.
    edges = FINITE_EDGES if ternary else EDGES
    half = np.float16
    return [
        gemm(rng, "one bit", 1, 1, 1, **options),
        gemm(rng, "odd sizes", 3, 5, 31, **options),
        gemm(rng, "whole words, neutral", 2, 33, 64, full=False, **options),
        gemm(rng, "past a word, relu", 4, 7, 33, acc_min=0.0, **options),
        gemm(rng, "empty batch", 0, 5, 40, **options),
        gemm(rng, "float x", 3, 5, 45, x=np.float32, **options),
        gemm(rng, "float16", 3, 34, 70, x=half, dtype=half, **options),
        gemm(rng, "float16 output", 3, 5, 45, dtype=half, **options),
        with_edges(gemm(rng, "float edges", 9, 5, 7, x=np.float32, **options), 0, edges),
        with_edges(gemm(rng, "edges in bias", 3, 9, 7, **options), index=-5),
        conv(rng, "one by one", (1, 1, 1, 1), (1, 1, 1), **options),
        conv(rng, "odd channels", (2, 33, 5, 4), (5, 3, 3), pads=(1, 1, 1, 1), **options),
        conv(rng, "pad +1", (1, 40, 4, 5), (35, 3, 2), pads=(2, 0, 1, 1), pad_value=1, **options),
        conv(rng, "pad -1", (1, 7, 4, 5), (3, 3, 3), pads=(1, 1, 1, 1), pad_value=-1, **options),
        conv(rng, "stride and dilation", (2, 5, 9, 11), (4, 3, 2), strides=(2, 3),
             dilations=(2, 3), pads=(1, 2, 0, 1), pad_value=1, **options),
        conv(rng, "two groups", (1, 64, 4, 4), (6, 3, 3), group=2, pads=(1, 1, 1, 1), **options),
        conv(rng, "neutral, relu", (1, 9, 3, 3), (4, 3, 3), full=False, acc_min=0.0, **options),
        conv(rng, "empty batch", (0, 33, 4, 4), (3, 3, 3), pads=(1, 1, 1, 1), **options),
        conv(rng, "float x", (2, 3, 6, 5), (33, 3, 3), x=np.float32, pads=(1, 1, 1, 1),
             pad_value=1, **options),
        conv(rng, "float16", (2, 33, 4, 4), (5, 3, 3), x=half, dtype=half, **options),
        with_edges(conv(rng, "float edges", (1, 2, 5, 5), (3, 2, 2), x=np.float32, **options),
                   0, edges),
    ]  # fmt: skip


def activation_cases(rng):
    def tensor(*shape, dtype=np.float32):
        values = quarters(rng, shape, dtype)
        values.reshape(-1)[: len(EDGES)] = EDGES[: values.size]
        return values

    def floats(*values):
        return np.array(values, np.float32)

    def words(*shape):
        return rng.integers(0, 2**32, shape, dtype=np.uint32)

    per_channel = quarters(rng, 33)
    signs = rng.choice([-1.0, 1.0], 33).astype(np.float32)
    return [
        Case("scalar", "Sign", [np.array(-0.0, np.float32)], {}),
        Case("image", "Sign", [tensor(2, 3, 4, 5)], {}),
        Case("float16", "Sign", [tensor(3, 33, dtype=np.float16)], {}),
        Case("empty", "Sign", [tensor(0, 3)], {}),
        Case("matrix", "Ternary", [tensor(3, 33), per_channel], {}),
        Case("image", "Ternary", [tensor(2, 33, 3, 2), np.abs(per_channel)], {}),
        Case("one threshold", "Ternary", [tensor(2, 33, 3, 2), floats(0.5)], {}),
        Case("float16", "Ternary", [tensor(2, 33, 3, dtype=np.float16), per_channel], {}),
        Case("matrix", "PackBits", [tensor(3, 33), signs, per_channel], {}),
        Case("image", "PackBits", [tensor(2, 33, 3, 2), signs, per_channel], {}),
        Case("neutral", "PackBits", [tensor(2, 64, 3, 2), floats(1), floats(0)], {}),
        Case("float16", "PackBits", [tensor(2, 5, 3, dtype=np.float16), floats(-1), floats(-0.0)],
             {}),
        Case("empty", "PackBits", [tensor(0, 33, 2, 2), signs, per_channel], {}),
        Case("NaN threshold", "PackBits", [tensor(2, 3), floats(1), floats(0, np.nan, np.inf)], {}),
        Case("matrix", "UnpackBits", [words(3, 2)], {"channels": 33}),
        Case("image", "UnpackBits", [words(2, 3, 2, 2)], {"channels": 64}),
        Case("sequence", "UnpackBits", [words(2, 5, 1)], {"channels": 1}),
        Case("empty", "UnpackBits", [words(0, 3, 2, 2)], {"channels": 40}),
        Case("two by two", "MaxPoolBits", [words(2, 4, 6, 2), words(2)],
             {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0, 0, 0, 0]}),
        Case("overlapping, padded", "MaxPoolBits", [words(2, 5, 6, 1), words(1)],
             {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 1, 0, 1]}),
        Case("a window of padding alone", "MaxPoolBits", [words(1, 2, 2, 1), words(1)],
             {"kernel_shape": [2, 2], "strides": [1, 1], "pads": [2, 2, 2, 2]}),
        Case("empty", "MaxPoolBits", [words(0, 4, 4, 2), words(2)],
             {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0, 0, 0, 0]}),
    ]  # fmt: skip


def all_cases():
    rng = np.random.default_rng(20)
    return [*activation_cases(rng), *product_cases(rng, False), *product_cases(rng, True)]
