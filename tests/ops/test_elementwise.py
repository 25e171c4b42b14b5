"""Sign and Ternary against the oracle."""

import numpy as np
import pytest

KERNEL = "ternary"

FLOATS = [np.float32, np.float16]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (8,), (17,), (3, 5), (2, 3, 5, 7), (0, 4)])
def test_sign_of_zeros_nan_and_infinities(assert_equals_oracle, specials, isa, dtype, shape):
    assert_equals_oracle("Sign", [specials(shape, dtype)])


def test_sign_of_every_half(assert_equals_oracle, isa):
    assert_equals_oracle("Sign", [np.arange(1 << 16, dtype=np.uint16).view(np.float16)])


@pytest.mark.parametrize("threads", [1, 2])
def test_sign_splits_large_inputs_among_threads(assert_equals_oracle, specials, isa, threads):
    assert_equals_oracle("Sign", [specials((3, 100_003))], threads=threads)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("shape", [(4, 1), (3, 33), (2, 5, 9), (2, 17, 3, 5), (1, 3, 0), (0, 3, 2)])
def test_ternary_compares_with_thresholds(
    assert_equals_oracle, specials, rng, isa, dtype, per_channel, shape
):
    threshold = rng.uniform(0, 1, shape[1] if per_channel else 1).astype(np.float32)

    assert_equals_oracle("Ternary", [specials(shape, dtype), threshold])


def test_ternary_is_strict_at_the_threshold_and_zero_where_both_hold(run_op, isa):
    values = [0.5, -0.5, np.nextafter(np.float32(0.5), 1), -0.75, 0.0, 1.0, np.nan]
    expected = [0, 0, 1, -1, 0, 0, 0]
    threshold = np.array([0.5, 0.5, 0.5, 0.5, -1.0, np.nan, 0.5], np.float32)
    shape = (2, 7, 9)  # rows of a whole vector and a rest

    x = np.broadcast_to(np.array(values, np.float32)[:, None], shape)
    (y,) = run_op("Ternary", [np.ascontiguousarray(x), threshold])

    np.testing.assert_array_equal(y, np.broadcast_to(np.array(expected)[:, None], shape))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("channels", [1, 3, 4096])
def test_ternary_splits_large_inputs_among_threads(
    assert_equals_oracle, specials, rng, threads, channels
):
    x = specials((2, channels, 1 << 18 >> channels.bit_length()))
    threshold = rng.uniform(0, 1, channels).astype(np.float32)

    assert_equals_oracle("Ternary", [x, threshold], dynamic=True, threads=threads)
