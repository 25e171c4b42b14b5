"""XnorGemm, XnorConv, TernaryGemm and TernaryConv against the oracle."""

import numpy as np
import pytest

from bnndeploy.ops.oracle import run_op as oracle
from bnndeploy.ops.packing import pack_bits, pack_mask, pack_ternary

PLAIN_CONV = {
    "strides": [1, 1],
    "pads": [0, 0, 0, 0],
    "dilations": [1, 1],
    "group": 1,
    "pad_value": 0,
    "acc_min": -np.inf,
}


def vector(*values):
    return np.array(values, np.float32)


def neutral(dtype=np.float32):
    """scale, bias, residual, slope, shift, threshold that change nothing."""
    minus_zero = vector(-0.0)
    return [vector(1), minus_zero, minus_zero.astype(dtype), vector(1), minus_zero, vector(0)]


@pytest.fixture
def signs(rng):
    return lambda *shape: rng.choice([-1.0, 1.0], size=shape)


@pytest.fixture
def codes(rng):
    return lambda *shape: rng.choice([-1.0, 0.0, 1.0], size=shape)


@pytest.fixture
def full_epilogue(rng):
    """Random values for every input of the epilogue, per channel and with a full residual."""

    def make(channels, y_shape, dtype=np.float32):
        scale, bias, slope, shift, threshold = rng.normal(size=(5, channels)).astype(np.float32)
        residual = rng.normal(scale=3, size=y_shape).astype(dtype)
        return [scale, bias, residual, slope, shift, threshold]

    return make


@pytest.fixture
def weights(signs, codes, rng):
    """Returns packed weights and, for ternary ops, the two scales."""

    def make(op_type, *shape):
        if op_type.startswith("Xnor"):
            return [pack_bits(signs(*shape))]
        scales = rng.uniform(0.1, 2, (2, shape[0])).astype(np.float32)
        return [pack_ternary(codes(*shape)), *scales]

    return make


@pytest.mark.parametrize("k", [1, 7, 31, 32, 33, 63, 64, 65, 128, 255, 511, 512, 513, 1100, 4609])
def test_xnor_gemm_equals_float_matmul(run_op, signs, isa, k):
    for m, n in [(1, 1), (3, 5), (2, 70), (37, 33)]:
        a, b = signs(m, k), signs(n, k)

        y, y_bits = run_op(
            "XnorGemm", [pack_bits(a), pack_bits(b), *neutral()], k=k, acc_min=-np.inf
        )

        np.testing.assert_array_equal(y, a @ b.T)
        np.testing.assert_array_equal(y_bits, pack_bits(a @ b.T))


def test_ternary_gemm_equals_float_matmul(run_op, signs, codes, isa):
    for k in (1, 31, 33, 64, 500, 513):
        for m, n in [(1, 1), (3, 5), (19, 66)]:
            a, b = signs(m, k), codes(n, k)
            inputs = [pack_bits(a), pack_ternary(b), vector(1), vector(1), *neutral()]

            y, y_bits = run_op("TernaryGemm", inputs, k=k, acc_min=-np.inf)

            np.testing.assert_array_equal(y, a @ b.T)
            np.testing.assert_array_equal(y_bits, pack_bits(a @ b.T))


@pytest.mark.parametrize("op_type", ["XnorGemm", "TernaryGemm"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_gemm_applies_the_whole_epilogue(
    assert_equals_oracle, signs, weights, full_epilogue, isa, op_type, dtype
):
    for m, n, k in [(1, 33, 65), (5, 70, 130), (34, 1, 256)]:
        inputs = [pack_bits(signs(m, k)), *weights(op_type, n, k)]
        epilogue = full_epilogue(n, (m, n), dtype)

        assert_equals_oracle(op_type, inputs + epilogue, k=k, acc_min=-7.0)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("op_type", ["XnorGemm", "TernaryGemm", "XnorConv", "TernaryConv"])
def test_constant_and_computed_inputs_give_the_same(
    assert_equals_oracle, signs, weights, full_epilogue, op_type, dynamic
):
    if op_type.endswith("Gemm"):
        x, w = pack_bits(signs(6, 70)), weights(op_type, 35, 70)
        attributes = {"k": 70, "acc_min": 0.0}
        y_shape = (6, 35)
    else:
        x, w = pack_bits(signs(2, 5, 6, 70)), weights(op_type, 35, 3, 3, 70)
        attributes = PLAIN_CONV | {"channels": 70}
        y_shape = (2, 35, 3, 4)

    assert_equals_oracle(
        op_type, [x, *w, *full_epilogue(35, y_shape)], dynamic=dynamic, **attributes
    )


@pytest.mark.parametrize("pad_value", [-1, 0, 1])
@pytest.mark.parametrize("channels", [1, 31, 32, 33, 64, 130])
@pytest.mark.parametrize("op_type", ["XnorConv", "TernaryConv"])
def test_conv_with_every_padding(
    assert_equals_oracle, signs, weights, full_epilogue, isa, op_type, channels, pad_value
):
    x = pack_bits(signs(2, 5, 6, channels))
    inputs = [x, *weights(op_type, 34, 3, 3, channels), *full_epilogue(34, (2, 34, 5, 6))]

    assert_equals_oracle(
        op_type,
        inputs,
        **PLAIN_CONV | {"channels": channels, "pads": [1] * 4, "pad_value": pad_value},
    )


GEOMETRIES = {
    "stride 2": ((3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "1x1 stride 2": ((1, 1), {"strides": [2, 2]}),
    "uneven pads": ((3, 3), {"pads": [0, 2, 1, 0]}),
    "pads beyond the kernel": ((2, 2), {"pads": [3, 3, 3, 3]}),
    "dilation": ((3, 3), {"dilations": [2, 3], "pads": [2, 3, 2, 3]}),
    "dilation and stride": ((2, 3), {"dilations": [3, 1], "strides": [1, 2], "pads": [1, 1, 1, 1]}),
    "kernel of the map": ((7, 8), {}),
    "row kernel": ((1, 5), {"strides": [3, 1], "pads": [0, 2, 0, 2]}),
    "5x5": ((5, 5), {"pads": [2, 2, 2, 2]}),
}


@pytest.mark.parametrize("pad_value", [-1, 0, 1])
@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("op_type", ["XnorConv", "TernaryConv"])
def test_conv_geometry(assert_equals_oracle, signs, weights, isa, op_type, geometry, pad_value):
    kernel, changed = GEOMETRIES[geometry]
    inputs = [pack_bits(signs(2, 7, 8, 48)), *weights(op_type, 5, *kernel, 48), *neutral()]

    assert_equals_oracle(
        op_type, inputs, **PLAIN_CONV | {"channels": 48, "pad_value": pad_value} | changed
    )


@pytest.mark.parametrize("group", [2, 3])
@pytest.mark.parametrize("op_type", ["XnorConv", "TernaryConv"])
def test_conv_groups_of_whole_words(
    assert_equals_oracle, signs, weights, full_epilogue, isa, op_type, group
):
    for group_outputs in (1, 20, 32):
        outputs = group * group_outputs
        x = pack_bits(signs(2, 4, 5, 32 * group))
        inputs = [x, *weights(op_type, outputs, 3, 3, 32)]
        epilogue = full_epilogue(outputs, (2, outputs, 4, 5))

        assert_equals_oracle(
            op_type,
            inputs + epilogue,
            **PLAIN_CONV | {"channels": 32 * group, "group": group, "pads": [1] * 4},
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("group", [1, 2, 6])
@pytest.mark.parametrize("op_type", ["XnorConv", "TernaryConv"])
def test_conv_of_whole_numbers_is_exact(
    assert_equals_oracle, weights, rng, isa, op_type, group, dtype
):
    x = rng.integers(-20, 20, (2, 6, 7, 5)).astype(dtype)
    w = weights(op_type, 18, 3, 2, 6 // group)
    if op_type == "TernaryConv":
        w[1:] = [vector(0.5), vector(2)]

    for pad_value in (-1, 0, 1):
        assert_equals_oracle(
            op_type,
            [x, *w, *neutral(dtype)],
            **PLAIN_CONV
            | {"channels": 6, "group": group, "pads": [1, 0, 2, 1], "pad_value": pad_value},
        )


@pytest.mark.parametrize("op_type", ["XnorGemm", "TernaryGemm"])
def test_gemm_of_floats_stays_within_the_bound(run_op, weights, rng, isa, op_type):
    for m, n, k in [(1, 3, 7), (5, 33, 70), (3, 40, 784)]:
        x = rng.normal(size=(m, k)).astype(np.float32)
        inputs = [x, *weights(op_type, n, k), *neutral()]
        attributes = {"k": k, "acc_min": -np.inf}

        y, y_bits = run_op(op_type, inputs, **attributes)

        expected = oracle(op_type, inputs, attributes)[0]
        bound = k * 2.0**-24 * np.abs(x).sum(1, keepdims=True) * 4  # scales of up to 2, two sums
        assert np.all(np.abs(y - expected) <= bound)
        np.testing.assert_array_equal(y_bits, pack_bits(y))


def test_nan_spreads_to_every_sum_it_is_part_of(run_op, weights, isa):
    x = np.ones((2, 3, 4, 4), np.float32)
    x[1, 2, 0, 0] = np.nan
    for op_type in ("XnorConv", "TernaryConv"):
        inputs = [x, *weights(op_type, 4, 2, 2, 3), *neutral()]
        if op_type == "TernaryConv":
            inputs[1] = pack_ternary(np.ones((4, 2, 2, 3)))

        y, y_bits = run_op(op_type, inputs, **PLAIN_CONV | {"channels": 3, "acc_min": 0.0})

        assert np.isnan(y[1, :, 0, 0]).all()
        assert np.isnan(y).sum() == 4
        np.testing.assert_array_equal(y_bits, pack_mask(np.moveaxis(y >= 0, 1, -1)))


@pytest.mark.parametrize("op_type", ["XnorGemm", "TernaryGemm"])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("outputs", [40, 140])
@pytest.mark.parametrize("rows", [1, 70])
def test_infinity_and_nan_in_x_spread_as_the_oracle_says(
    assert_equals_oracle, weights, isa, op_type, special, outputs, rows
):
    x = np.ones((rows, 40), np.float32)
    x[0, 7] = special

    inputs = [x, *weights(op_type, outputs, 40), *neutral()]
    assert_equals_oracle(op_type, inputs, k=40, acc_min=-np.inf)
    if op_type == "TernaryGemm":
        inputs[2] = inputs[3] = vector(0.5)  # one sum serves both planes
        assert_equals_oracle(op_type, inputs, k=40, acc_min=-np.inf)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, -0.0, 0.0])
@pytest.mark.parametrize("place", range(6))
def test_special_values_in_the_epilogue(assert_equals_oracle, signs, isa, place, special):
    inputs = [pack_bits(signs(3, 40)), pack_bits(signs(35, 40)), *neutral()]
    inputs[2 + place] = vector(special)

    assert_equals_oracle("XnorGemm", inputs, k=40, acc_min=0.0)


def test_acc_min_is_applied_before_the_scale(run_op, isa):
    x, w = pack_bits(-np.ones((1, 4))), pack_bits(np.ones((2, 4)))
    inputs = [x, w, *neutral()]
    inputs[2] = vector(-1, 2)

    y, y_bits = run_op("XnorGemm", inputs, k=4, acc_min=-3.0)

    np.testing.assert_array_equal(y, [[3, -6]])
    np.testing.assert_array_equal(y_bits, [[1]])


def test_each_step_is_rounded_on_its_own(run_op, isa):
    # 3 * (1 + 2^-23) rounds to 3 + 2^-21; a fused multiply-add would keep 3 + 3 * 2^-23.
    step = np.float32(1 + 2.0**-23)
    inputs = [pack_bits(np.ones((1, 3))), pack_bits(np.ones((40, 3))), *neutral()]
    inputs[2], inputs[3] = vector(step), vector(-3)

    y, _ = run_op("XnorGemm", inputs, k=3, acc_min=-np.inf)

    np.testing.assert_array_equal(y, np.full((1, 40), np.float32(3) * step - np.float32(3)))


@pytest.mark.parametrize("outputs", [("Y", ""), ("", "Ybits"), ("Y", "Ybits")])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_each_output_alone_equals_the_pair(run_op, signs, full_epilogue, isa, outputs, dtype):
    x, w = pack_bits(signs(3, 4, 4, 64)), pack_bits(signs(40, 3, 3, 64))
    inputs = [x, w, *full_epilogue(40, (3, 40, 2, 2), dtype)]
    attributes = PLAIN_CONV | {"channels": 64}
    both = dict(zip(("Y", "Ybits"), oracle("XnorConv", inputs, attributes), strict=True))

    found = run_op("XnorConv", inputs, outputs=outputs, **attributes)

    wanted = [name for name in outputs if name]
    assert len(found) == len(wanted)
    for got, name in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, both[name], strict=True)


def test_bits_of_y_compare_the_rounded_half(run_op, isa):
    # 2049 * 1 rounds to the half 2048, so it is not >= 2049.
    x, w = pack_bits(np.ones((1, 2049))), pack_bits(np.ones((1, 2049)))
    inputs = [x, w, *neutral(np.float16)]
    inputs[-1] = vector(2049)

    y, y_bits = run_op("XnorGemm", inputs, k=2049, acc_min=-np.inf)

    assert y.dtype == np.float16
    assert (y.item(), y_bits.item()) == (2048, 0)


@pytest.mark.parametrize("op_type", ["XnorGemm", "TernaryGemm", "XnorConv", "TernaryConv"])
def test_an_empty_batch_gives_empty_outputs(run_op, signs, weights, isa, op_type):
    if op_type.endswith("Gemm"):
        x, w, attributes = (0, 40), (5, 40), {"k": 40, "acc_min": 0.0}
        shapes = [(0, 5), (0, 1)]
    else:
        x, w, attributes = (0, 4, 4, 40), (5, 3, 3, 40), PLAIN_CONV | {"channels": 40}
        shapes = [(0, 5, 2, 2), (0, 2, 2, 1)]
    floats = np.zeros((0, 40, 4, 4) if len(x) == 4 else x, np.float32)

    for values in (pack_bits(np.zeros(x)), floats):
        found = run_op(op_type, [values, *weights(op_type, *w), *neutral()], **attributes)
        assert [value.shape for value in found] == shapes


def test_pad_bits_of_activations_are_not_looked_at(run_op, signs, weights, isa):
    for op_type in ("XnorConv", "TernaryConv"):
        clean = pack_bits(signs(2, 4, 4, 40))
        dirty = clean | np.array([0, 0xFFFFFF00], np.uint32)
        w = weights(op_type, 9, 3, 3, 40)
        attributes = PLAIN_CONV | {"channels": 40, "pads": [1] * 4}

        expected = run_op(op_type, [clean, *w, *neutral()], **attributes)
        found = run_op(op_type, [dirty, *w, *neutral()], **attributes)

        for got, want in zip(found, expected, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch", [1, 3])
def test_work_is_split_among_threads(
    assert_equals_oracle, signs, weights, full_epilogue, isa, threads, batch
):
    x = pack_bits(signs(batch, 13, 17, 96))
    for op_type in ("XnorConv", "TernaryConv"):
        inputs = [x, *weights(op_type, 100, 3, 3, 96), *full_epilogue(100, (batch, 100, 13, 17))]
        assert_equals_oracle(
            op_type, inputs, threads=threads, **PLAIN_CONV | {"channels": 96, "pads": [1] * 4}
        )
