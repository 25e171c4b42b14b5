"""The bit convention, element by element."""

import re

import numpy as np
import pytest

from bnndeploy.errors import OperatorError
from bnndeploy.ops.packing import (
    pack_bits,
    pack_mask,
    pack_ternary,
    unpack_bits,
    unpack_mask,
    unpack_ternary,
    word_count,
)

LENGTHS = [1, 7, 31, 32, 33, 63, 64, 65, 130]


@pytest.mark.parametrize("length", LENGTHS)
def test_element_i_is_bit_i_mod_32_of_word_i_div_32(length):
    for i in range(length):
        mask = np.zeros(length, bool)
        mask[i] = True

        words = pack_mask(mask)

        assert words.dtype == np.uint32
        assert [int(word) for word in words] == [
            (1 << i % 32) if word == i // 32 else 0 for word in range(word_count(length))
        ]


@pytest.mark.parametrize("length", LENGTHS)
def test_unpacking_gives_back_signs_masks_and_codes(length):
    rng = np.random.default_rng(length)
    signs = rng.choice([-1.0, 1.0], (2, 3, length)).astype(np.float32)
    codes = rng.integers(-1, 2, (2, 3, length)).astype(np.float32)

    np.testing.assert_array_equal(unpack_bits(pack_bits(signs), length), signs)
    np.testing.assert_array_equal(unpack_mask(pack_mask(signs > 0), length), signs > 0)
    np.testing.assert_array_equal(unpack_ternary(pack_ternary(codes), length), codes)


def test_zero_of_either_sign_packs_as_one_and_nan_as_zero():
    assert pack_bits([0.0, -0.0, np.nan, -1e-45, np.inf, -np.inf]) == 0b010011


def test_pad_bits_are_zero_and_are_never_read():
    assert pack_bits(np.ones(33)).tolist() == [0xFFFFFFFF, 1]
    assert unpack_bits(np.array([0xFFFFFFFF], np.uint32), 3).tolist() == [1.0, 1.0, 1.0]


def test_ternary_planes_mark_plus_one_first_and_minus_one_second():
    assert pack_ternary([1, 0, -1, 1]).tolist() == [[0b1001], [0b0100]]


def test_an_empty_batch_keeps_its_shape():
    assert pack_bits(np.zeros((0, 4, 33))).shape == (0, 4, 2)
    assert unpack_bits(np.zeros((0, 4, 2), np.uint32), 33).shape == (0, 4, 33)


def test_strided_words_unpack_like_a_copy_of_them():
    words = np.random.default_rng(0).integers(0, 2**32, (4, 6), dtype=np.uint32)

    np.testing.assert_array_equal(
        unpack_mask(words[:, ::2], 96), unpack_mask(words[:, ::2].copy(), 96)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pack_mask(True), "got a scalar, expected an array with at least one axis"),
        (
            lambda: unpack_bits(np.zeros((2, 3), np.uint32), 33),
            "got shape (2, 3), expected a last axis of 2 words for 33 bits",
        ),
        (
            lambda: unpack_ternary(np.full((2, 1), 4, np.uint32), 3),
            "a bit is set in both planes",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(OperatorError, match=re.escape(message)):
        call()
