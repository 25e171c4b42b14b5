"""MaxPoolBits against the oracle."""

import numpy as np
import pytest

KERNEL = "max_pool_bits"


def random_words(rng, *shape):
    """Sparse words, so that the OR of a window is not all ones."""
    words = rng.integers(0, 1 << 32, shape, dtype=np.uint32)
    return words & rng.integers(0, 1 << 32, shape, dtype=np.uint32)


@pytest.mark.parametrize("words", [1, 2, 7, 8, 9, 17])
@pytest.mark.parametrize(
    ("kernel", "strides", "pads"),
    [
        ((2, 2), (2, 2), (0, 0, 0, 0)),
        ((3, 3), (2, 2), (1, 1, 1, 1)),
        ((3, 2), (1, 3), (2, 0, 1, 1)),
        ((1, 5), (2, 1), (0, 4, 0, 3)),
        ((2, 2), (1, 1), (3, 3, 3, 3)),  # windows that lie in the padding alone
    ],
)
def test_ors_windows_and_inverts(assert_equals_oracle, rng, isa, words, kernel, strides, pads):
    bits = random_words(rng, 2, 7, 9, words)
    invert = random_words(rng, words)

    assert_equals_oracle(
        "MaxPoolBits", [bits, invert], kernel_shape=kernel, strides=strides, pads=pads
    )


def test_is_max_pooling_of_signs_and_min_pooling_where_inverted(run_op, rng, isa):
    x = rng.choice([-1.0, 1.0], (1, 4, 4, 32))
    flip = np.arange(32) % 2 == 1
    bits = np.packbits((x > 0) ^ flip, axis=-1, bitorder="little").view(np.uint32)
    invert = np.packbits(flip, bitorder="little").view(np.uint32)

    (y,) = run_op("MaxPoolBits", [bits, invert], kernel_shape=[2, 2], strides=[2, 2], pads=[0] * 4)

    blocks = x.reshape(1, 2, 2, 2, 2, 32)
    expected = np.where(flip, blocks.min((2, 4)), blocks.max((2, 4))) > 0
    np.testing.assert_array_equal(
        y, np.packbits(expected, axis=-1, bitorder="little").view(np.uint32)
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_splits_large_maps_among_threads(assert_equals_oracle, rng, isa, threads):
    inputs = [random_words(rng, 3, 64, 65, 4), random_words(rng, 4)]

    assert_equals_oracle(
        "MaxPoolBits",
        inputs,
        threads=threads,
        dynamic=True,
        kernel_shape=[3, 3],
        strides=[1, 1],
        pads=[1] * 4,
    )


def test_pools_an_empty_batch(assert_equals_oracle, isa):
    inputs = [np.zeros((0, 4, 4, 2), np.uint32), np.zeros(2, np.uint32)]

    assert_equals_oracle("MaxPoolBits", inputs, kernel_shape=[2, 2], strides=[2, 2], pads=[0] * 4)
