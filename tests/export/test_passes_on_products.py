"""pack-products, join-ternary-planes, lower-levels, flatten-matrices."""

import numpy as np
import pytest
from _pass_cases import assert_equal_values, rewrite

from bnndeploy.export.passes.flatten_matrices import FlattenMatrices
from bnndeploy.export.passes.join_ternary_planes import JoinTernaryPlanes
from bnndeploy.export.passes.lower_levels import LowerLevels
from bnndeploy.export.passes.lower_unpacking import LowerUnpacking
from bnndeploy.export.passes.pack_products import PackProducts
from bnndeploy.export.passes.pack_signs import PackSigns
from bnndeploy.export.passes.simplify_shapes import SimplifyShapes
from bnndeploy.export.passes.split_planes import SplitPlanes

PASSES = [PackSigns(), LowerUnpacking(), JoinTernaryPlanes(), PackProducts()]
MAP = "float[N,64,5,6] x"
SIGN = "s = ai.bnndeploy.Sign(x) "


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def codes(rng, *shape, levels=(-1, 1)):
    return rng.choice(levels, shape).astype(np.float32)


def normal(rng, *shape):
    return rng.standard_normal(shape, np.float32)


@pytest.mark.parametrize(
    "geometry",
    ["", "pads=[1,1,1,1]", "strides=[2,1],pads=[0,1,2,1]", "dilations=[2,1]", "group=2"],
)
@pytest.mark.parametrize(
    ("levels", "op_type"), [((-1, 1), "XnorConv"), ((-1, 0, 1), "TernaryConv")]
)
def test_a_convolution_of_signs_takes_bits(rng, geometry, levels, op_type):
    inputs = 32 if "group" in geometry else 64
    conv = f"Conv<{geometry}>" if geometry else "Conv"
    case = rewrite(
        PASSES, MAP, f"{SIGN} y = {conv}(s, w, b)", "float[N,6,h,v] y",
        w=codes(rng, 6, inputs, 3, 3, levels=levels), b=np.arange(6, dtype=np.float32),
    )  # fmt: skip

    assert case.nodes == ["PackBits", op_type, "Add"]
    assert_equal_values(case, normal(rng, 2, 64, 5, 6))


@pytest.mark.parametrize("level", [-1, 0, 1])
def test_a_pad_in_front_becomes_the_pad_value(rng, level):
    case = rewrite(
        PASSES, MAP, f"{SIGN} p = Pad(s, amounts, level) y = Conv(p, w)", "float[N,6,5,7] y",
        amounts=np.array([0, 0, 1, 2, 0, 0, 1, 1]), level=np.float32(level),
        w=codes(rng, 6, 64, 3, 3),
    )  # fmt: skip

    assert case.nodes == ["PackBits", "XnorConv"]
    assert_equal_values(case, normal(rng, 2, 64, 5, 6))


def test_a_pad_of_another_value_keeps_its_node_and_floats(rng):
    case = rewrite(
        PASSES, MAP, f"{SIGN} p = Pad(s, amounts, level) y = Conv(p, w)", "float[N,6,5,6] y",
        amounts=np.array([0, 0, 1, 1, 0, 0, 1, 1]), level=np.float32(0.5),
        w=codes(rng, 6, 64, 3, 3),
    )  # fmt: skip

    assert case.nodes == ["PackBits", "UnpackBits", "Pad", "XnorConv"]
    assert_equal_values(case, normal(rng, 2, 64, 5, 6), atol=1e-4)


def test_binary_weights_on_real_values_take_floats(rng):
    case = rewrite(
        PASSES, "float[N,3,5,6] x", "y = Conv<pads=[1,1,1,1]>(x, w)", "float[N,6,5,6] y",
        w=codes(rng, 6, 3, 3, 3),
    )  # fmt: skip

    assert case.nodes == ["XnorConv"]
    assert_equal_values(case, normal(rng, 2, 3, 5, 6), atol=1e-5)


@pytest.mark.parametrize(
    ("weight", "geometry", "reason"),
    [
        (np.full((64, 1, 3, 3), 1.0), "group=64", "64 groups have 1 channels each"),
        (np.full((4, 64, 3, 3), 0.5), "group=1", "its weights are real"),
    ],
)
def test_other_convolutions_stay_standard_with_the_reason(rng, weight, geometry, reason):
    case = rewrite(
        PASSES, MAP, f"{SIGN} y = Conv<{geometry}>(s, w)", "float[N,c,3,4] y",
        w=weight.astype(np.float32),
    )  # fmt: skip

    assert case.nodes == ["PackBits", "UnpackBits", "Conv"]
    assert reason in case.declined[0]


def test_a_convolution_over_one_axis_is_declined(rng):
    case = rewrite(
        PASSES, "float[N,64,9] x", f"{SIGN} y = Conv(s, w)", "float[N,4,7] y",
        w=codes(rng, 4, 64, 3),
    )  # fmt: skip

    assert "it is a convolution over 1 axes; only two are supported" in case.declined


@pytest.mark.parametrize(
    ("node", "shape"),
    [
        ("Gemm<transB=1>(s, w, b)", (7, 70)),
        ("Gemm(s, w, b)", (70, 7)),
        ("MatMul(s, w)", (70, 7)),
    ],
)
def test_a_matrix_product_of_signs_takes_bits(rng, node, shape):
    case = rewrite(
        PASSES, "float[N,70] x", f"{SIGN} y = {node}", "float[N,7] y",
        w=codes(rng, *shape), b=normal(rng, 7),
    )  # fmt: skip

    assert case.nodes[:2] == ["PackBits", "XnorGemm"]
    assert_equal_values(case, normal(rng, 5, 70))


def test_a_scaled_gemm_is_declined(rng):
    case = rewrite(
        PASSES, "float[N,70] x", f"{SIGN} y = Gemm<alpha=0.5>(s, w)", "float[N,7] y",
        w=codes(rng, 70, 7),
    )  # fmt: skip

    assert "it scales or transposes its operands" in case.declined


def test_a_linear_after_a_flattened_map_is_a_convolution_with_the_map_as_kernel(rng):
    case = rewrite(
        PASSES, "float[N,40,3,2] x", f"{SIGN} f = Flatten(s) y = Gemm<transB=1>(f, w, b)",
        "float[N,7] y", w=codes(rng, 7, 240), b=normal(rng, 7),
    )  # fmt: skip

    assert case.nodes == ["PackBits", "XnorConv", "Reshape", "Add"]
    assert_equal_values(case, normal(rng, 3, 40, 3, 2))


def two_planes(rng, levels=(-1, 0, 1)):
    both = codes(rng, 6, 64, 3, 3, levels=levels)
    return {
        "p": np.maximum(both, 0),
        "n": np.maximum(-both, 0),
        "a": rng.random((6, 1, 1), np.float32),
        "b": rng.random((1, 1, 1), np.float32),
    }


TWO_PRODUCTS = """u = Conv<pads=[1,1,1,1]>(s, p) v = Conv<pads=[1,1,1,1]>(s, n)
    k = Mul(u, a) l = Mul(b, v) y = Sub(k, l)"""


@pytest.mark.parametrize("levels", [(-1, 0, 1), (-1, 1), (0, 1)])
def test_two_planes_join_into_one_ternary_product(rng, levels):
    case = rewrite(
        PASSES, MAP, f"{SIGN} {TWO_PRODUCTS}", "float[N,6,5,6] y", **two_planes(rng, levels)
    )

    assert case.nodes == ["PackBits", "TernaryConv"]
    assert_equal_values(case, normal(rng, 2, 64, 5, 6))


def test_overlapping_planes_stay_two_products(rng):
    constants = two_planes(rng)
    constants["n"][0, 0, 0, 0] = constants["p"][0, 0, 0, 0] = 1
    case = rewrite(PASSES, MAP, f"{SIGN} {TWO_PRODUCTS}", "float[N,6,5,6] y", **constants)

    assert "its masks overlap" in case.declined
    assert case.nodes.count("TernaryConv") == 2
    assert_equal_values(case, normal(rng, 2, 64, 5, 6))


LEVELS = [PackSigns(), LowerUnpacking(), LowerLevels(), PackProducts()]


@pytest.mark.parametrize("border", [0, 1])
def test_levels_0_and_1_run_on_bits(rng, border):
    nodes = f"""{SIGN} h = Mul(s, half) z = Sub(half, h) p = Pad(z, amounts, border)
        y = Conv(p, w, b)"""
    case = rewrite(
        LEVELS, MAP, nodes, "float[N,6,5,6] y",
        half=np.float32(0.5), amounts=np.array([0, 0, 1, 1, 0, 0, 1, 1]),
        border=np.float32(border), w=codes(rng, 6, 64, 3, 3, levels=(-1, 0, 1)), b=normal(rng, 6),
    )  # fmt: skip

    assert case.nodes == ["PackBits", "TernaryConv", "Mul", "Add"]
    assert_equal_values(case, normal(rng, 2, 64, 5, 6), atol=1e-5)


def test_a_border_between_the_levels_is_declined(rng):
    case = rewrite(
        LEVELS, MAP, f"{SIGN} z = Add(s, third) y = Conv<pads=[1,1,1,1]>(z, w)", "float[N,6,5,6] y",
        third=np.float32(1 / 3), w=codes(rng, 6, 64, 3, 3),
    )  # fmt: skip

    assert "its border of 0 is none of its levels" in case.declined


def test_products_of_higher_rank_run_on_rows_and_share_their_signs(rng):
    nodes = f"""{SIGN} m = MatMul(s, w) k = Mul(m, a) l = Add(k, b)
        n = MatMul(s, v) y = Concat<axis=-1>(l, n)"""
    case = rewrite(
        [FlattenMatrices(), *PASSES], "float[N,7,70] x", nodes, "float[N,7,9] y",
        w=codes(rng, 70, 5), v=codes(rng, 70, 4), a=normal(rng, 5), b=normal(rng, 5),
    )  # fmt: skip

    assert case.nodes.count("PackBits") == 1
    assert case.nodes.count("XnorGemm") == 2
    order = case.nodes
    assert order.index("Mul") < order.index("Concat")
    assert_equal_values(case, normal(rng, 2, 7, 70))


def test_two_dynamic_axes_are_declined(rng):
    case = rewrite(
        [FlattenMatrices()], "float[N,T,70] x", f"{SIGN} y = MatMul(s, w)", "float[N,T,5] y",
        w=codes(rng, 70, 5),
    )  # fmt: skip

    assert case.declined == ["more than one of its axes is dynamic"]


PLANES = [PackSigns(), LowerUnpacking(), LowerLevels(), SplitPlanes(), PackProducts()]
STEPS = "b = Clip(x, zero, one) c = Mul(b, n) d = Round(c) s = Div(d, n) "


def steps(bits):
    return {"zero": np.float32(0), "one": np.float32(1), "n": np.float32(2**bits - 1)}


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize("levels", [(-1, 1), (-1, 0, 1)])
def test_k_bit_activations_run_as_k_planes(rng, bits, levels):
    case = rewrite(
        PLANES, MAP, f"{STEPS} y = Conv<pads=[1,0,1,2]>(s, w, e)", "float[N,6,5,6] y",
        w=codes(rng, 6, 64, 3, 3, levels=levels), e=normal(rng, 6), **steps(bits),
    )  # fmt: skip
    x = rng.random((2, 64, 5, 6), np.float32) * np.float32(1.5) - np.float32(0.25)

    op_type = "XnorConv" if len(levels) == 2 else "TernaryConv"
    assert case.nodes.count("PackBits") == case.nodes.count(op_type) == bits
    assert_equal_values(case, x, atol=2e-5)


@pytest.mark.parametrize(("low", "high"), [(-2, 1), (-8, 7), (-1, 6), (0, 2), (0, 3)])
@pytest.mark.parametrize("scaled", ["s = Mul(d, step)", "s = Div(d, step)", "s = Identity(d)"])
def test_levels_between_whole_bounds_run_as_planes(rng, low, high, scaled):
    case = rewrite(
        [SimplifyShapes(), *PLANES], MAP,
        f"a = Div(x, step) b = Clip(a, low, high) d = Round(b) {scaled} "
        "y = Conv<pads=[1,0,1,2]>(s, w, e)", "float[N,6,5,6] y",
        w=codes(rng, 6, 64, 3, 3), e=normal(rng, 6), step=np.float32(0.5),
        low=np.float32(low), high=np.float32(high),
    )  # fmt: skip
    x = normal(rng, 2, 64, 5, 6)

    bits = (high - low).bit_length()
    assert case.nodes.count("PackBits") == case.nodes.count("XnorConv") == bits
    assert_equal_values(case, x, atol=2e-4)


def test_a_clamp_is_one_clip(rng):
    case = rewrite(
        [SimplifyShapes()], "float[N,70] x", "a = Max(x, low) y = Min(a, high)", "float[N,70] y",
        low=np.float32(-0.5), high=np.array([1], np.float32),
    )  # fmt: skip

    assert case.nodes == ["Clip"]
    assert_equal_values(case, normal(rng, 4, 70))


def test_a_clamp_with_bounds_a_channel_stays(rng):
    case = rewrite(
        [SimplifyShapes()], "float[N,70] x", "a = Max(x, low) y = Min(a, low)", "float[N,70] y",
        low=normal(rng, 70),
    )  # fmt: skip

    assert case.nodes == ["Max", "Min"]


def test_products_of_one_value_share_its_planes(rng):
    case = rewrite(
        PLANES, "float[N,70] x", f"{STEPS} y = Gemm(s, w) z = Gemm<transB=1>(s, v)",
        "float[N,7] y, float[N,3] z", w=codes(rng, 70, 7), v=codes(rng, 3, 70), **steps(2),
    )  # fmt: skip

    assert case.nodes.count("PackBits") == 2
    assert case.nodes.count("XnorGemm") == 4
    assert_equal_values(case, rng.random((4, 70), np.float32), atol=2e-5)


@pytest.mark.parametrize(
    ("nodes", "bits", "reason"),
    [
        (f"{STEPS} y = Conv(s, w)", 5, "its input has 5 bits, more than 4"),
        (f"{STEPS} p = Pad(s, amounts, one) y = Conv(p, w)", 2, "its border is not 0"),
        (
            "b = Clip(x, one, n) c = Round(b) y = Conv<pads=[1,1,1,1]>(c, w)",
            2,
            "its border of 0 is none of its levels",
        ),
    ],
)
def test_other_k_bit_activations_stay_real_inputs(rng, nodes, bits, reason):
    case = rewrite(
        PLANES, MAP, nodes, "float[N,6,h,v] y", w=codes(rng, 6, 64, 3, 3),
        amounts=np.array([0, 0, 1, 1, 0, 0, 1, 1]), **steps(bits),
    )  # fmt: skip

    assert case.declined == [reason]
    assert case.nodes.count("XnorConv") == 1
    assert_equal_values(case, rng.random((2, 64, 5, 6), np.float32), atol=2e-5)


def test_rounding_without_a_clip_is_not_a_step_function(rng):
    nodes = "c = Mul(x, n) d = Round(c) s = Div(d, n) y = Conv(s, w)"
    case = rewrite(PLANES, MAP, nodes, "float[N,6,3,4] y", w=codes(rng, 6, 64, 3, 3), **steps(2))

    assert "PackBits" not in case.nodes
