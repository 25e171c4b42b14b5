"""raise-signs, pack-signs, lower-unpacking, restore-signs."""

import numpy as np
import pytest
from _pass_cases import assert_equal_values, rewrite

from bnndeploy.export.passes.lower_unpacking import LowerUnpacking
from bnndeploy.export.passes.pack_signs import PackSigns
from bnndeploy.export.passes.raise_signs import RaiseSigns
from bnndeploy.export.passes.restore_signs import RestoreSigns

MAP = "float[N,40,5,6] x"


@pytest.fixture
def x():
    values = np.random.default_rng(0).standard_normal((3, 40, 5, 6)).astype(np.float32)
    values[0, 0, 0, :3] = 0.0, -0.0, np.nan
    return values


def test_a_hardtanh_before_a_sign_is_dropped(x):
    case = rewrite(
        [RaiseSigns()], MAP, "c = Clip(x, low, high) y = ai.bnndeploy.Sign(c)", "float[N,40,5,6] y",
        low=np.float32(-1), high=np.float32(1),
    )  # fmt: skip

    assert case.nodes == ["Sign"]
    assert_equal_values(case, x)


def test_a_relu6_before_a_sign_stays_because_it_hides_negative_values(x):
    case = rewrite(
        [RaiseSigns()], MAP, "c = Clip(x, low, high) y = ai.bnndeploy.Sign(c)", "float[N,40,5,6] y",
        low=np.float32(0), high=np.float32(6),
    )  # fmt: skip

    assert case.nodes == ["Clip", "Sign"]
    assert case.declined == ["its bounds do not lie on both sides of 0"]
    assert_equal_values(case, x)


def test_a_sign_moves_above_a_flatten(x):
    case = rewrite(
        [RaiseSigns()], MAP, "f = Flatten(x) y = ai.bnndeploy.Sign(f)", "float[N,1200] y"
    )

    assert case.nodes == ["Sign", "Flatten"]
    assert_equal_values(case, x)


def test_a_sign_does_not_move_above_a_reshape_that_is_no_flatten(x):
    case = rewrite(
        [RaiseSigns()], MAP, "f = Reshape(x, s) y = ai.bnndeploy.Sign(f)", "float[N,20,60] y",
        s=np.array([-1, 20, 60]),
    )  # fmt: skip

    assert case.nodes == ["Reshape", "Sign"]


def test_signs_of_one_value_share_one_packing(x):
    case = rewrite(
        [PackSigns()], MAP, "a = ai.bnndeploy.Sign(x) b = ai.bnndeploy.Sign(x) y = Add(a, b)",
        "float[N,40,5,6] y",
    )  # fmt: skip

    assert case.nodes == ["PackBits", "UnpackBits", "UnpackBits", "Add"]
    assert_equal_values(case, x)


def test_a_sign_of_unknown_channels_stays():
    case = rewrite([PackSigns()], "float[N,C] x", "y = ai.bnndeploy.Sign(x)", "float[N,C] y")

    assert case.nodes == ["Sign"]
    assert case.declined == ["the size of its channel axis 1 is unknown"]


@pytest.mark.parametrize(
    ("node", "shape", "expected"),
    [
        ("MaxPool<kernel_shape=[2,2],strides=[2,1],pads=[0,1,1,0]>(s)", "3,6", "MaxPoolBits"),
        ("MaxPool<kernel_shape=[2,2],strides=[2,2],ceil_mode=1>(s)", "3,3", "MaxPoolBits"),
        ("Slice(s, starts, ends, axes)", "2,6", "Slice"),
    ],
)
def test_what_reads_signs_works_on_words(x, node, shape, expected):
    case = rewrite(
        [PackSigns(), LowerUnpacking()], MAP, f"s = ai.bnndeploy.Sign(x) y = {node}",
        f"float[N,c,{shape}] y",
        starts=np.array([32, 1]), ends=np.array([99, -2]), axes=np.array([1, 2]),
    )  # fmt: skip

    assert case.nodes == ["PackBits", expected, "UnpackBits"]
    assert_equal_values(case, np.nan_to_num(x))


@pytest.mark.parametrize(
    ("node", "constants", "reason"),
    [
        ("MaxPool<kernel_shape=[2,2],dilations=[2,2]>(s)", {}, "its window is dilated"),
        (
            "Slice(s, a, b, c)",
            {"a": np.array([8]), "b": np.array([40]), "c": np.array([1])},
            "its channels are not cut at multiples of 32",
        ),
        ("Concat<axis=1>(s, x)", {}, "not all of its inputs are bits"),
        ("Concat<axis=1>(s, s)", {}, "a part's channels are not a multiple of 32"),
        ("Concat<axis=2>(s, s)", {}, "not along the channels"),
    ],
)
def test_what_does_not_fit_words_stays_with_its_reason(x, node, constants, reason):
    case = rewrite(
        [PackSigns(), LowerUnpacking()], MAP, f"s = ai.bnndeploy.Sign(x) y = {node}",
        "float[N,c,h,w] y", **constants,
    )  # fmt: skip

    assert case.declined == [reason]
    assert_equal_values(case, np.nan_to_num(x))


def test_bits_are_concatenated_word_by_word():
    nodes = "a = ai.bnndeploy.Sign(x) b = ai.bnndeploy.Sign(z) y = Concat<axis=1>(a, b, a)"
    case = rewrite(
        [PackSigns(), LowerUnpacking()], "float[N,64,2,2] x, float[N,32,2,2] z", nodes,
        "float[N,160,2,2] y",
    )  # fmt: skip
    rng = np.random.default_rng(1)

    assert case.nodes == ["PackBits", "PackBits", "Concat", "UnpackBits"]
    assert_equal_values(
        case,
        rng.standard_normal((2, 64, 2, 2)).astype(np.float32),
        rng.standard_normal((2, 32, 2, 2)).astype(np.float32),
    )


def test_a_flatten_of_one_pixel_is_a_reshape_of_words():
    case = rewrite(
        [PackSigns(), LowerUnpacking()], "float[N,40,1,1] x",
        "s = ai.bnndeploy.Sign(x) y = Flatten(s)", "float[N,40] y",
    )  # fmt: skip

    assert case.nodes == ["PackBits", "Reshape", "UnpackBits"]
    assert_equal_values(case, np.random.default_rng(2).standard_normal((3, 40, 1, 1), np.float32))


def test_packing_that_nothing_took_up_is_undone(x):
    nodes = "s = ai.bnndeploy.Sign(x) y = GlobalAveragePool(s)"
    case = rewrite([PackSigns(), LowerUnpacking(), RestoreSigns()], MAP, nodes, "float[N,40,1,1] y")

    assert case.nodes == ["Sign", "GlobalAveragePool"]
    assert_equal_values(case, x)


def test_packing_stays_where_bits_are_read_too(x):
    nodes = """s = ai.bnndeploy.Sign(x) y = GlobalAveragePool(s)
        z = MaxPool<kernel_shape=[2,2]>(s)"""
    case = rewrite(
        [PackSigns(), LowerUnpacking(), RestoreSigns()], MAP, nodes,
        "float[N,40,1,1] y, float[N,40,4,5] z",
    )  # fmt: skip

    assert sorted(case.nodes) == [
        "GlobalAveragePool", "MaxPoolBits", "PackBits", "UnpackBits", "UnpackBits",
    ]  # fmt: skip
    assert_equal_values(case, np.nan_to_num(x))
