"""fuse-epilogues and emit-bits."""

import numpy as np
import pytest
from _pass_cases import assert_equal_values, rewrite

from bnndeploy.export.passes.emit_bits import EmitBits
from bnndeploy.export.passes.fold_thresholds import FoldThresholds
from bnndeploy.export.passes.fuse_epilogues import FuseEpilogues
from bnndeploy.export.passes.lower_unpacking import LowerUnpacking
from bnndeploy.export.passes.pack_products import PackProducts
from bnndeploy.export.passes.pack_signs import PackSigns

FUSE = [PackSigns(), LowerUnpacking(), PackProducts(), FoldThresholds(), FuseEpilogues()]
EMIT = [*FUSE, EmitBits()]
INPUTS = "float[N,64,3,4] x, float[N,6,3,4] r"
CONV = "s = ai.bnndeploy.Sign(x) c = Conv(s, w) "


@pytest.fixture
def constants():
    rng = np.random.default_rng(1)
    vectors = {name: rng.standard_normal((6, 1, 1), np.float32) for name in "abde"}
    return {
        "w": rng.choice([-1.0, 1.0], (6, 64, 1, 1)).astype(np.float32),
        **vectors,
        "gamma": rng.standard_normal(6, np.float32),
        "beta": rng.standard_normal(6, np.float32),
        "mean": rng.standard_normal(6, np.float32),
        "var": rng.random(6, np.float32) + np.float32(0.1),
        "slope": rng.random((6, 1, 1), np.float32),
        "zero": np.float32(0),
        "one": np.float32(1),
        "minus": np.float32(-1),
    }


@pytest.fixture
def values():
    rng = np.random.default_rng(2)
    return [rng.standard_normal(shape, np.float32) for shape in ((2, 64, 3, 4), (2, 6, 3, 4))]


BN = "BatchNormalization({}, gamma, beta, mean, var)"


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Relu(c)",
        "y = Clip(c, zero)",
        "y = Mul(c, a)",
        "y = Div(c, d)",
        "y = Add(b, c)",
        "y = Sub(c, b)",
        "y = Sub(b, c)",
        f"y = {BN.format('c')}",
        f"k = Mul(c, a) l = Add(k, b) y = {BN.format('l')}",
        "y = Add(r, c)",
        "y = PRelu(c, slope)",
        "y = LeakyRelu<alpha=0.1>(c)",
        f"k = {BN.format('c')} y = Relu(k)",
        f"k = {BN.format('c')} l = Add(k, r) m = Add(l, b) n = PRelu(m, slope) y = Add(n, e)",
        f"k = Relu(c) l = {BN.format('k')} m = Add(r, l) n = LeakyRelu<alpha=0.3>(m) y = Sub(n, e)",
    ],
)
def test_what_follows_a_product_joins_its_epilogue(nodes, constants, values):
    case = rewrite(FUSE, INPUTS, CONV + nodes, "float[N,6,3,4] y", **constants)

    assert case.nodes == ["PackBits", "XnorConv"]
    assert_equal_values(case, *values, atol=2e-5)


@pytest.mark.parametrize(
    ("nodes", "left", "reason"),
    [
        ("k = Add(c, r) y = Mul(k, a)", ["Mul"], "already adds a residual or bends"),
        ("k = Add(c, r) y = Add(k, r)", ["Add"], "already adds a residual or bends"),
        (f"k = Relu(c) l = Add(k, r) y = {BN.format('l')}", ["BatchNormalization"], "bends"),
        ("k = PRelu(c, slope) y = PRelu(k, slope)", ["PRelu"], "already has a slope"),
        ("y = Clip(c, minus, one)", ["Clip"], "only a lower bound of 0"),
        ("y = Mul(c, r)", ["Mul"], "its factor is not one constant a channel"),
        ("y = Div(one, c)", ["Div"], "it divides by the product"),
        ("y = Sub(c, r)", ["Sub"], "it subtracts a value"),
        ("y = Add(c, c)", ["Add"], "its input is read by 2 nodes"),
        ("k = Relu(c) y = Add(k, c)", ["Relu", "Add"], "its input is read by 2 nodes"),
    ],
)
def test_what_does_not_fit_the_epilogue_stays_with_its_reason(
    nodes, left, reason, constants, values
):
    case = rewrite(FUSE, INPUTS, CONV + nodes, "float[N,6,3,4] y", **constants)

    assert case.nodes == ["PackBits", "XnorConv", *left]
    assert any(reason in text for text in case.declined)
    assert_equal_values(case, *values, atol=2e-5)


def test_a_residual_that_depends_on_the_product_is_refused(constants, values):
    nodes = CONV + "t = ai.bnndeploy.Sign(c) k = Add(c, t) y = Mul(k, a)"
    case = rewrite(EMIT, INPUTS, nodes, "float[N,6,3,4] y", **constants)

    assert "Add" in case.nodes
    assert_equal_values(case, *values)


def test_a_product_returns_floats_and_bits_for_a_residual_block(constants, values):
    nodes = f"""{CONV} k = {BN.format("c")} l = Add(k, r) n = PRelu(l, slope)
        t = ai.bnndeploy.Sign(n) y = Conv(t, w2) z = Mul(n, a)"""
    w2 = np.sign(np.random.default_rng(3).standard_normal((5, 6, 1, 1))).astype(np.float32)
    case = rewrite(EMIT, INPUTS, nodes, "float[N,5,3,4] y, float[N,6,3,4] z", w2=w2, **constants)

    assert case.nodes == ["PackBits", "XnorConv", "XnorConv", "Mul"]
    assert_equal_values(case, *values, atol=2e-5)


def test_a_falling_batch_norm_turns_the_scale_and_never_the_weights(constants, values):
    nodes = f"""{CONV} k = {BN.format("c")} t = ai.bnndeploy.Sign(k) y = Conv(t, w2)"""
    w2 = np.ones((5, 6, 1, 1), np.float32)
    case = rewrite(EMIT, INPUTS, nodes, "float[N,5,3,4] y", w2=w2, **constants)

    assert case.nodes == ["PackBits", "XnorConv", "XnorConv"]
    np.testing.assert_array_equal(case.constant("XnorConv", 2), np.sign(constants["gamma"]))
    assert np.all(case.constant("XnorConv", 7) % 1 == 0)
    assert_equal_values(case, *values)


def test_two_different_thresholds_keep_one_packing_apart(constants, values):
    nodes = f"""{CONV} k = {BN.format("c")} t = ai.bnndeploy.Sign(k) u = ai.bnndeploy.Sign(c)
        y = Conv(t, w2) z = Conv(u, w2)"""
    w2 = np.ones((5, 6, 1, 1), np.float32)
    case = rewrite(EMIT, INPUTS, nodes, "float[N,5,3,4] y, float[N,5,3,4] z", w2=w2, **constants)

    assert case.nodes.count("PackBits") == 2
    assert_equal_values(case, *values)


def test_a_negative_sign_is_refused_where_a_residual_is_added(constants, values):
    nodes = f"""{CONV} k = Add(c, r) l = {BN.format("k")} t = ai.bnndeploy.Sign(l)
        y = Conv(t, w2)"""
    w2 = np.ones((5, 6, 1, 1), np.float32)
    case = rewrite(EMIT, INPUTS, nodes, "float[N,5,3,4] y", w2=w2, **constants)

    assert case.nodes == ["PackBits", "XnorConv", "PackBits", "XnorConv"]
    assert "its sign is -1 in some channels" in case.declined[-1]
    assert_equal_values(case, *values)
