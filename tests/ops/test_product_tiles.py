"""Products of whole words of bits around the edges of tiles, stages and images.

Tensor cores take tiles of 64 and 128 positions and channels, and stages of 1024 bits.
"""

import numpy as np
import pytest

from bnndeploy.ops.packing import pack_bits, pack_ternary

KINDS = ("binary", "ternary of equal scales", "ternary")


@pytest.fixture(params=["", "7"])
def thread_order(request, monkeypatch):
    """Shuffles the order in which the host runs the threads of a CUDA block."""
    monkeypatch.setenv("BNNDEPLOY_HOST_CUDA_SEED", request.param)
    return request.param


def operands(rng, kind, x_shape, w_shape):
    """Returns the operator's prefix, X and what stands for W."""
    x = pack_bits(rng.choice([-1.0, 1.0], x_shape))
    if kind == "binary":
        return "Xnor", x, [pack_bits(rng.choice([-1.0, 1.0], w_shape))]
    weights = pack_ternary(rng.choice([-1.0, 0.0, 1.0], w_shape))
    one = np.ones(1, np.float32)
    scales = rng.uniform(0.1, 2, (2, w_shape[0])).astype(np.float32)
    return "Ternary", x, [weights, *((one, one) if kind == KINDS[1] else scales)]


def epilogue(rng, channels, y_shape, dtype):
    scale, bias, slope, shift, threshold = rng.normal(size=(5, channels)).astype(np.float32)
    residual = rng.normal(scale=3, size=y_shape).astype(dtype)
    return [scale, bias, residual, slope, shift, threshold]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        (4, 33, 64), (5, 1, 32), (63, 64, 96), (64, 65, 1024), (65, 31, 1056), (130, 130, 160),
        (257, 129, 128), (6, 257, 2080),
    ],
)  # fmt: skip
def test_matrices_around_the_edges_of_tiles(assert_equals_oracle, rng, isa, kind, m, n, k):
    prefix, x, w = operands(rng, kind, (m, k), (n, k))

    assert_equals_oracle(
        f"{prefix}Gemm", [x, *w, *epilogue(rng, n, (m, n), np.float32)], k=k, acc_min=-5.0
    )


CONVOLUTIONS = {
    "a map of 49": ((2, 7, 7, 64), (70, 3, 3), {"pads": [1, 1, 1, 1]}),
    "one word": ((3, 9, 8, 32), (33, 3, 3), {"pads": [1, 1, 1, 1]}),
    "three words": ((1, 11, 9, 96), (130, 3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 1]}),
    "wide rows": ((2, 6, 6, 128), (40, 3, 3), {"pads": [2, 2, 2, 2], "dilations": [2, 2]}),
    "uneven": ((2, 8, 13, 64), (64, 2, 5), {"pads": [0, 3, 2, 1], "strides": [3, 2]}),
    "taps far outside": ((2, 3, 3, 64), (65, 3, 3), {"pads": [6] * 4, "dilations": [3, 3]}),
    "a border within a dilated kernel": (
        (2, 7, 7, 64), (40, 3, 3), {"pads": [1, 1, 4, 2], "dilations": [3, 2]}
    ),
    "groups": ((2, 9, 9, 192), (96, 3, 3), {"pads": [1, 1, 1, 1], "group": 3}),
    "groups of wide rows": ((1, 12, 12, 256), (256, 1, 1), {"group": 2}),
    "a kernel as large as the map": ((70, 3, 3, 64), (33, 3, 3), {}),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pad_value", [-1, 0, 1])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions_around_the_edges_of_tiles(
    assert_equals_oracle, rng, isa, kind, pad_value, case
):
    x_shape, (outputs, *kernel), geometry = CONVOLUTIONS[case]
    attributes = {
        "channels": x_shape[-1], "strides": [1, 1], "pads": [0] * 4, "dilations": [1, 1],
        "group": 1, "pad_value": pad_value, "acc_min": -np.inf, **geometry,
    }  # fmt: skip
    depth = x_shape[-1] // attributes["group"]
    prefix, x, w = operands(rng, kind, x_shape, (outputs, *kernel, depth))
    height, width = (
        (x_shape[1 + axis] + attributes["pads"][axis] + attributes["pads"][axis + 2]
         - attributes["dilations"][axis] * (kernel[axis] - 1) - 1)
        // attributes["strides"][axis] + 1
        for axis in (0, 1)
    )  # fmt: skip
    dtype = np.float16 if pad_value == 0 else np.float32
    values = epilogue(rng, outputs, (x_shape[0], outputs, height, width), dtype)

    assert_equals_oracle(f"{prefix}Conv", [x, *w, *values], **attributes)


def test_any_order_of_threads_gives_the_same(assert_equals_oracle, rng, isa, thread_order):
    for kind in KINDS:
        prefix, x, w = operands(rng, kind, (70, 2080), (65, 2080))

        assert_equals_oracle(
            f"{prefix}Gemm",
            [x, *w, *epilogue(rng, 65, (70, 65), np.float32)],
            k=2080,
            acc_min=-np.inf,
        )
