"""PackBits and UnpackBits against the oracle."""

import numpy as np
import pytest

KERNEL = "pack_bits"

ONE = np.ones(1, np.float32)
ZERO = np.zeros(1, np.float32)
CHANNELS = [1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 127, 130]
INNER = [(), (1,), (2,), (7, 7), (4, 4), (5, 13)]


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("inner", INNER)
def test_packs_signs_channels_last(assert_equals_oracle, specials, isa, channels, inner):
    assert_equals_oracle("PackBits", [specials((3, channels, *inner)), ONE, ZERO])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("shape", [(3, 33), (2, 32, 3, 5), (2, 70, 33), (1, 5, 64, 3)])
def test_packs_with_sign_and_threshold(
    assert_equals_oracle, specials, rng, isa, dtype, per_channel, shape
):
    count = shape[1] if per_channel else 1
    sign = rng.choice(np.array([-1, 1], np.float32), count)
    threshold = rng.normal(size=count).astype(np.float32)

    assert_equals_oracle("PackBits", [specials(shape, dtype), sign, threshold])


@pytest.mark.parametrize("shape", [(0, 3), (0, 33, 4, 4), (2, 0), (2, 3, 0, 5)])
def test_packs_nothing_from_an_empty_tensor(assert_equals_oracle, isa, shape):
    assert_equals_oracle("PackBits", [np.zeros(shape, np.float32), ONE, ZERO])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(3, 64, 61, 67), (70, 4100), (1, 3, 300, 301)])
def test_packing_splits_large_inputs_among_threads(
    assert_equals_oracle, specials, isa, threads, shape
):
    assert_equals_oracle("PackBits", [specials(shape), ONE, ZERO], dynamic=True, threads=threads)


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("inner", INNER)
def test_unpacks_to_plus_and_minus_one(assert_equals_oracle, rng, isa, channels, inner):
    words = -(-channels // 32)
    # Random pad bits too: they must not be looked at.
    bits = rng.integers(0, 1 << 32, (3, *inner, words), dtype=np.uint32)

    assert_equals_oracle("UnpackBits", [bits], channels=channels)


@pytest.mark.parametrize("threads", [1, 2])
def test_unpacking_splits_large_inputs_among_threads(assert_equals_oracle, rng, isa, threads):
    bits = rng.integers(0, 1 << 32, (5, 40, 41, 2), dtype=np.uint32)

    assert_equals_oracle("UnpackBits", [bits], channels=50, threads=threads)


def test_unpacks_an_empty_batch(assert_equals_oracle, isa):
    assert_equals_oracle("UnpackBits", [np.zeros((0, 3, 3, 2), np.uint32)], channels=40)
