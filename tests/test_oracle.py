"""The oracle against torch and plain arithmetic, and what it refuses."""

import re

import numpy as np
import pytest
import torch

from bnndeploy.errors import OperatorError
from bnndeploy.ops.oracle import run_op
from bnndeploy.ops.packing import pack_bits, pack_ternary, unpack_bits, unpack_mask

NEGATIVE_ZERO = np.full(1, -0.0, np.float32)
ONE = np.ones(1, np.float32)
ZERO = np.zeros(1, np.float32)
GEMM = {"k": 33, "acc_min": -np.inf}
CONV = {
    "channels": 33,
    "strides": [1, 1],
    "pads": [0, 0, 0, 0],
    "dilations": [1, 1],
    "group": 1,
    "pad_value": 0,
    "acc_min": -np.inf,
}


def neutral(**changes):
    values = {
        "scale": ONE,
        "bias": NEGATIVE_ZERO,
        "residual": NEGATIVE_ZERO,
        "slope": ONE,
        "shift": NEGATIVE_ZERO,
        "threshold": ZERO,
    }
    return list((values | changes).values())


def signs(rng, *shape):
    return rng.choice([-1.0, 1.0], shape).astype(np.float32)


def codes(rng, *shape):
    return rng.integers(-1, 2, shape).astype(np.float32)


def to_words(images):
    return pack_bits(np.moveaxis(images, 1, -1))


@pytest.mark.parametrize("k", [1, 31, 32, 33, 100])
def test_xnor_gemm_is_the_matrix_product_of_signs(k):
    rng = np.random.default_rng(k)
    x, w = signs(rng, 3, k), signs(rng, 34, k)
    attributes = {"k": k, "acc_min": -np.inf}

    y, bits = run_op("XnorGemm", [pack_bits(x), pack_bits(w), *neutral()], attributes)

    np.testing.assert_array_equal(y, x @ w.T)
    np.testing.assert_array_equal(bits, pack_bits(x @ w.T))


def test_ternary_gemm_weighs_the_two_planes_apart():
    rng = np.random.default_rng(1)
    x, w = signs(rng, 3, 33), codes(rng, 4, 33)
    w_pos, w_neg = (rng.normal(size=4).astype(np.float32) for _ in range(2))

    y, _ = run_op("TernaryGemm", [pack_bits(x), pack_ternary(w), w_pos, w_neg, *neutral()], GEMM)

    positive, negative = x @ (w == 1).T.astype(np.float32), x @ (w == -1).T.astype(np.float32)
    np.testing.assert_array_equal(y, positive * w_pos - negative * w_neg)


@pytest.mark.parametrize("pad_value", [-1, 0, 1])
@pytest.mark.parametrize(
    ("strides", "pads", "dilations", "group"),
    [((1, 1), (0, 0, 0, 0), (1, 1), 1), ((2, 3), (1, 2, 0, 1), (2, 1), 3)],
)
@pytest.mark.parametrize("ternary", [False, True])
def test_convolutions_are_those_of_torch(ternary, strides, pads, dilations, group, pad_value):
    rng = np.random.default_rng(2)
    x = signs(rng, 2, 33, 7, 8)
    w = (codes if ternary else signs)(rng, 6, 33 // group, 3, 2)
    layout = np.moveaxis(w, 1, -1)
    weight = [pack_ternary(layout), ONE, ONE] if ternary else [pack_bits(layout)]
    top, left, bottom, right = pads
    padded = torch.nn.functional.pad(
        torch.from_numpy(x), (left, right, top, bottom), value=float(pad_value)
    )
    expected = torch.nn.functional.conv2d(
        padded, torch.from_numpy(w), stride=strides, dilation=dilations, groups=group
    ).numpy()
    geometry = {"strides": strides, "pads": pads, "dilations": dilations, "group": group}
    op_type = "TernaryConv" if ternary else "XnorConv"

    for data in (to_words(x), x):
        attributes = CONV | geometry | {"pad_value": pad_value}
        y, bits = run_op(op_type, [data, *weight, *neutral()], attributes)

        np.testing.assert_array_equal(y, expected)
        np.testing.assert_array_equal(bits, to_words(expected))


def test_the_epilogue_runs_in_the_order_of_its_formula_and_rounds_every_step():
    rng = np.random.default_rng(3)
    x, w = signs(rng, 5, 33), signs(rng, 4, 33)
    scale, bias, slope, shift, threshold = (rng.normal(size=4).astype(np.float32) for _ in range(5))
    residual = rng.normal(size=(5, 4)).astype(np.float32)
    epilogue = [scale, bias, residual, slope, shift, threshold]

    y, bits = run_op("XnorGemm", [pack_bits(x), pack_bits(w), *epilogue], {"k": 33, "acc_min": 0.0})

    v = np.maximum(x @ w.T, np.float32(0))
    v = v * scale
    v = v + bias
    v = v + residual
    v = np.where(v >= 0, v, v * slope)
    v = v + shift
    np.testing.assert_array_equal(y, v)
    np.testing.assert_array_equal(unpack_mask(bits, 4), v >= threshold)


def test_y_is_rounded_to_the_type_of_the_residual_before_its_bits_are_taken():
    almost_two = np.full(1, 1.0 - 2.0**-14, np.float32)  # added to acc = 1
    inputs = [pack_bits(np.ones((1, 1))), pack_bits(np.ones((1, 1)))]
    epilogue = neutral(
        bias=almost_two,
        residual=NEGATIVE_ZERO.astype(np.float16),
        threshold=np.full(1, 2.0, np.float32),
    )

    y, bits = run_op("XnorGemm", [*inputs, *epilogue], {"k": 1, "acc_min": -np.inf})

    assert (y.dtype, y.item(), bits.item()) == (np.float16, 2.0, 1)


def test_nan_stays_nan_through_clamp_and_slope_and_gives_bit_zero():
    x = np.array([[np.nan, 1.0]], np.float32)
    inputs = [x, pack_bits(np.ones((1, 2)))]

    y, bits = run_op("XnorGemm", [*inputs, *neutral()], {"k": 2, "acc_min": 0.0})

    assert np.isnan(y).all()
    assert bits.tolist() == [[0]]


def test_sign_and_ternary_decide_at_their_edges_as_defined():
    x = np.array([[0.0, -0.0, np.nan, 0.5, -0.5, 0.75, -0.75]], np.float32)

    (sign,) = run_op("Sign", [x], {})
    (ternary,) = run_op("Ternary", [x, np.full(1, 0.5, np.float32)], {})

    assert sign.tolist() == [[1, 1, -1, 1, -1, 1, -1]]
    assert ternary.tolist() == [[0, 0, 0, 0, 0, 1, -1]]


def test_pack_bits_turns_a_negative_gamma_by_sign_and_unpack_bits_turns_channels_back():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(2, 33, 3, 2)).astype(np.float32)
    sign, threshold = signs(rng, 33), rng.normal(size=33).astype(np.float32)

    (words,) = run_op("PackBits", [x, sign, threshold], {})
    (values,) = run_op("UnpackBits", [words], {"channels": 33})

    expected = x * sign[:, None, None] >= threshold[:, None, None]
    np.testing.assert_array_equal(values > 0, expected)
    assert words.shape == (2, 3, 2, 2)


def test_max_pool_bits_is_the_maximum_of_the_signs_then_inverted():
    rng = np.random.default_rng(5)
    x = signs(rng, 2, 33, 6, 5)
    invert = rng.integers(0, 2, 33).astype(bool)
    pool = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [0, 0, 0, 0]}

    (words,) = run_op("MaxPoolBits", [to_words(x), pack_bits(np.where(invert, 1, -1))], pool)

    pooled = torch.nn.functional.max_pool2d(torch.from_numpy(x), (3, 2), (2, 1)).numpy()
    expected = np.where(invert[:, None, None], -pooled, pooled)
    np.testing.assert_array_equal(np.moveaxis(unpack_bits(words, 33), -1, 1), expected)


def test_padding_of_a_pool_counts_as_minus_one():
    pool = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [2, 2, 0, 0]}
    bits = np.ones((1, 2, 2, 1), np.uint32)

    (words,) = run_op("MaxPoolBits", [bits, np.zeros(1, np.uint32)], pool)

    assert words[0, :, :, 0].tolist() == [[0, 0], [0, 1]]


def gemm_inputs(**changes):
    names = ["x", "w", "scale", "bias", "residual", "slope", "shift", "threshold"]
    values = [np.zeros((2, 2), np.uint32), np.zeros((3, 2), np.uint32), *neutral()]
    return list((dict(zip(names, values, strict=True)) | changes).values())


def conv_inputs(**changes):
    names = ["x", "w", "scale", "bias", "residual", "slope", "shift", "threshold"]
    values = [np.zeros((1, 4, 4, 2), np.uint32), np.zeros((6, 3, 3, 2), np.uint32), *neutral()]
    return list((dict(zip(names, values, strict=True)) | changes).values())


def words(*shape, value=0):
    return np.full(shape, value, np.uint32)


POOL = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0, 0, 0, 0]}


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "message"),
    [
        ("Xnor", [], {}, "operator 'Xnor' is unknown"),
        ("Sign", [], {}, "Sign: got 0 inputs and attributes [], expected inputs ('X',)"),
        ("XnorGemm", gemm_inputs(), {"k": 33}, "expected inputs ('X', 'W'"),
        ("Sign", [np.zeros(2)], {}, "type of X: got float64, expected float32 or float16"),
        ("Ternary", [np.zeros(2, np.float32), ONE], {}, "rank of X: got 1, expected at least 2"),
        ("Ternary", [np.zeros((1, 2), np.float32), np.ones(3, np.float32)], {},
         "length of threshold: got 3, expected 1 or 2"),
        ("UnpackBits", [words(1, 2)], {"channels": 65}, "got 2, expected 3 for 65 bits"),
        ("UnpackBits", [words(1, 2)], {"channels": 0}, "channels: got 0, expected 1 to"),
        ("MaxPoolBits", [words(1, 2, 2, 1), words(2)], POOL, "length of invert: got 2, expected 1"),
        ("MaxPoolBits", [words(1, 1, 2, 1), words(1)], POOL, "padded height of the input: got 1"),
        ("MaxPoolBits", [words(1, 2, 2, 1), words(1)], POOL | {"pads": [0, 0]}, "pads: got [0, 0]"),
        ("XnorGemm", gemm_inputs(), GEMM | {"k": 65}, "words of X: got 2, expected 3 for 65 bits"),
        ("XnorGemm", gemm_inputs(), GEMM | {"k": 1 << 25}, "k: got 33554432"),
        ("XnorGemm", gemm_inputs(w=words(3, 2, value=7)), GEMM, "pad bits of W"),
        ("XnorGemm", gemm_inputs(w=np.zeros((3, 2), np.int64)), GEMM, "type of W: got int64"),
        ("XnorGemm", gemm_inputs(x=np.zeros((2, 32), np.float32)), GEMM, "columns of X: got 32"),
        ("XnorGemm", gemm_inputs(bias=np.zeros(2, np.float32)), GEMM, "length of bias: got 2"),
        ("XnorGemm", gemm_inputs(scale=np.ones(3, np.float16)), GEMM, "type of scale: got float16"),
        ("XnorGemm", gemm_inputs(residual=np.zeros((3, 2), np.float32)), GEMM,
         "shape of residual: got (3, 2), expected one element or (2, 3)"),
        ("XnorGemm", gemm_inputs(x=np.zeros((2, 33), np.float16)), GEMM,
         "type of residual: got float32, expected that of X, float16"),
        ("TernaryGemm", [words(2, 2), words(3, 3, 2), ONE, ONE, *neutral()], GEMM,
         "planes of W: got 3, expected 2"),
        ("TernaryGemm", [words(2, 2), words(2, 3, 2, value=1), ONE, ONE, *neutral()], GEMM,
         "a bit is set in both planes"),
        ("XnorConv", conv_inputs(), CONV | {"group": 2}, "group: got 2, expected a divisor"),
        ("XnorConv", conv_inputs(), CONV | {"pad_value": 2}, "pad_value: got 2, expected -1 to 1"),
        ("XnorConv", conv_inputs(), CONV | {"strides": [0, 1]}, "strides: got [0, 1]"),
        ("XnorConv", conv_inputs(), CONV | {"pads": [0, -1, 0, 0]}, "pads: got [0, -1, 0, 0]"),
        ("XnorConv", conv_inputs(), CONV | {"dilations": [2, 1]}, "padded height"),
        ("XnorConv", conv_inputs(w=words(5, 3, 3, 1)), CONV | {"group": 3}, "filters of W: got 5"),
        ("XnorConv", conv_inputs(w=words(6, 900, 900, 2)), CONV, "depth of one sum: got 26730000"),
    ],
)  # fmt: skip
def test_what_an_operator_does_not_accept_is_named(op_type, inputs, attributes, message):
    with pytest.raises(OperatorError, match=re.escape(message)):
        run_op(op_type, inputs, attributes)
