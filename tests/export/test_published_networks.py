"""Networks of the literature: how far they are fused, how large they are, what they compute."""

import pytest
import torch
from _exported import export, oracle_difference, randomise

from bnndeploy.networks import build

SMALL = {"input_shape": (3, 32, 32), "classes": 10}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "products", "packings", "left"),
    [
        # One operator a block: convolution, batch-norm, shortcut, activation, the next sign.
        ("reactnet-18", "XnorConv", 1, set()),
        ("quicknet-small", "XnorConv", 4, {"Relu"}),
        # Each block concatenates floats, which batch-norms of their own then binarise.
        ("meliusnet-22", "XnorConv", 34, {"Concat", "Relu"}),
        ("ttq-resnet-20", "TernaryConv", 0, {"Relu", "Pad"}),
    ],
)
def test_a_network_is_fused_small_and_equal(name, products, packings, left):
    module = build(name, **SMALL)
    binary = sum(type(layer).__name__ == "QuantConv2d" for layer in module.modules())
    torch.manual_seed(0)
    x = torch.randn(2, 3, 32, 32)
    report = export(randomise(module, 0), x)

    assert report.nodes_after[products] == binary
    assert report.nodes_after.get("PackBits", 0) == packings
    real = {"Conv", "Gemm", "BatchNormalization", "AveragePool", "MaxPool", "ReduceMean", "Reshape"}
    assert set(report.nodes_after) - real - {products, "PackBits"} <= left
    kept = ("one_bit", "two_bit", "float")
    assert report.size <= 1.02 * sum(report.bytes_by_kind[kind] for kind in kept) + (64 << 10)
    assert max(oracle_difference(report, module, x)) < 1e-4
