"""What counts as a difference, and what the rounding of float sums explains."""

import numpy as np
import pytest
from onnx import helper

from bnndeploy.ops.names import DOMAIN
from bnndeploy.ops.oracle import run_op
from bnndeploy.ops.packing import pack_bits, pack_ternary
from bnndeploy.parity._compare import (
    LARGEST,
    bits_differ,
    numbers_differ,
    outputs_differ,
    rounding_band,
)
from bnndeploy.parity._trained import _compare
from bnndeploy.parity._walk import NodeRun

ONE, ZERO = np.ones(1, np.float32), np.zeros(1, np.float32)
CONV = {
    "channels": 3,
    "strides": [1, 1],
    "pads": [1, 1, 1, 1],
    "dilations": [1, 1],
    "group": 1,
    "pad_value": -1,
    "acc_min": -np.inf,
}


def node_run(op_type, inputs, attributes):
    outputs = ["y", "bits"]
    node = helper.make_node(op_type, list("abcdefghij")[: len(inputs)], outputs, domain=DOMAIN)
    node.attribute.extend(helper.make_attribute(name, v) for name, v in attributes.items())
    results = run_op(op_type, inputs, attributes)
    return NodeRun(node, inputs, results, dict(zip(outputs, results, strict=True)))


def float_gemm(k=1000, threshold=ZERO):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, k)).astype(np.float32)
    w = rng.choice([-1.0, 1.0], (4, k)).astype(np.float32)
    epilogue = [np.full(4, 3, np.float32), ZERO, ZERO, ONE, ZERO, threshold]
    return x, w, node_run("XnorGemm", [x, pack_bits(w), *epilogue], {"k": k, "acc_min": -np.inf})


def summed_in_another_order(x, w):
    total = np.zeros((len(x), len(w)), np.float32)
    for column in reversed(range(x.shape[1])):
        total += x[:, column : column + 1] * w[:, column]
    return total * np.float32(3)


def test_a_sum_in_another_order_is_explained():
    x, w, run = float_gemm()
    y = summed_in_another_order(x, w)

    found = outputs_differ(run, [y, run.results[1]], run.results)

    assert found.differing == 0
    assert found.explained > 0
    assert found.worst > 0


def test_a_wrong_weight_is_not_explained():
    x, w, run = float_gemm()
    column = np.abs(x).min(axis=0).argmax()  # no row has a tiny value there
    w[2, column] *= -1

    found = outputs_differ(run, [summed_in_another_order(x, w), run.results[1]], run.results)

    assert found.differing == len(x)


def test_a_bit_is_explained_only_where_its_value_is_at_the_threshold():
    _, _, run = float_gemm()
    at_threshold = np.array([run.results[0][0, 0]] * 4, np.float32)
    _, _, run = float_gemm(threshold=at_threshold)
    wrong = run.results[1].copy()
    wrong[0] ^= 1  # the value that is its own threshold
    wrong[1] ^= 2

    found = outputs_differ(run, [run.results[0], wrong], run.results)

    assert (found.explained, found.differing) == (1, 1)


@pytest.mark.parametrize("op_type", ["XnorConv", "TernaryConv"])
def test_the_band_holds_for_convolutions_with_padding(op_type):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 3, 6, 6)).astype(np.float32)
    codes = rng.choice([-1.0, 1.0], (5, 3, 3, 3))
    weights = [pack_bits(codes)]
    if op_type == "TernaryConv":
        weights = [pack_ternary(codes), ONE * 2, ONE]
    run = node_run(op_type, [x, *weights, ONE, ZERO, ZERO, ONE, ZERO, ZERO], CONV)

    band = rounding_band(run)

    assert band.shape == run.results[0].shape
    assert np.all(band > 0)
    assert np.all(band < 1e-3)  # 27 terms of about 1: far below one weight's worth


def test_products_of_bits_have_no_band():
    rng = np.random.default_rng(2)
    x, w = (pack_bits(rng.choice([-1.0, 1.0], (3, 40))) for _ in range(2))
    inputs = [x, w, ONE, ZERO, ZERO, ONE, ZERO, ZERO]
    run = node_run("XnorGemm", inputs, {"k": 40, "acc_min": -np.inf})
    y = run.results[0] + np.float32(1e-6)

    assert outputs_differ(run, [y, run.results[1]], run.results).differing > 0


def test_nan_equals_nan_and_zeros_of_both_signs_are_equal():
    left, right = np.array([np.nan, 0.0, np.inf]), np.array([np.nan, -0.0, np.inf])

    assert numbers_differ(left, right).differing == 0


def test_nan_against_a_number_is_beyond_every_band():
    found = numbers_differ(np.array([np.nan, 1.0]), np.array([1.0, 1.0]), band=10.0)

    assert (found.differing, found.worst) == (1, LARGEST)


def test_bits_are_counted_one_by_one():
    left, right = np.array([0b1011], np.uint32), np.array([0b0001], np.uint32)

    assert bits_differ(left, right).differing == 2
    assert bits_differ(left, right, near=np.array([0b0010], np.uint32)).explained == 1


def test_another_shape_or_type_differs_everywhere():
    _, _, run = float_gemm()
    y, bits = run.results

    assert outputs_differ(run, [y[:2], bits], run.results).differing == y.size
    assert outputs_differ(run, [y.astype(np.float64), bits], run.results).differing == y.size


def standard_run(op_type, value):
    node = helper.make_node(op_type, ["x"], ["y"])
    return NodeRun(node, [value], (value,), {"y": value})


@pytest.mark.parametrize(
    ("op_type", "step", "explained"),
    [
        ("Mul", 0.5e-4, True),
        ("Mul", 2e-4, False),
        ("Cast", 2.0**-10, True),  # a whole place of float16
        ("Cast", 2.0**-9, False),
    ],
)
def test_a_standard_operator_may_move_a_real_value_by_rounding_only(op_type, step, explained):
    expected = np.array([1.0, -1.0, 0.5], np.float32)
    moved = expected * np.float32(1 + step)

    found = _compare(standard_run(op_type, moved), moved, expected, exact=False)

    assert (found.differing == 0) == explained


def test_exact_values_of_a_standard_operator_may_not_move_at_all():
    expected = np.array([1.0, -1.0, 3.0], np.float32)
    moved = np.nextafter(expected, 4, dtype=np.float32)

    assert _compare(standard_run("Relu", moved), moved, expected, exact=True).differing == 3
