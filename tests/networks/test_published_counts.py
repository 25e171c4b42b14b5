"""Parameters and multiply-accumulates of the networks against the numbers of their sources."""

import itertools

import pytest
import torch

from bnndeploy import networks
from bnndeploy.networks.summary import summary


def total(network, **settings):
    with torch.device("meta"):
        module = networks.build(network, **settings)
    return summary(module, networks.options(network)["input_shape"]).total


# tests/snapshots/model_summaries of the larq zoo (github.com/larq/zoo): 1-bit parameters, 32-bit
# parameters with batch-norms folded, 1-bit and 32-bit multiply-accumulates at 224x224.
LARQ_SUMMARIES = {
    "binary-alexnet": (61_827_776, 20_944, 768_512_000, 72_855_552),
    "binary-densenet-28": (4_202_496, 929_000, 3_587_383_296, 202_484_224),
    "binary-densenet-37": (7_593_984, 1_108_264, 4_506_808_320, 199_738_368),
    "binary-densenet-45": (12_349_440, 1_540_072, 6_430_556_160, 244_103_424),
    "binary-resnet-e-18": (10_985_472, 704_168, 1_676_279_808, 137_793_536),
    "birealnet-18": (10_985_472, 704_040, 1_676_279_808, 137_793_536),
    "meliusnet-22": (6_119_424, 825_160, 4_624_220_160, 136_388_608),
    "real-to-binary-18": (10_985_472, 1_001_448, 1_676_279_808, 138_087_936),
    "xnor-alexnet": (58_236_928, 4_150_176, 1_025_744_896, 113_379_328),
}


@pytest.mark.parametrize("network", LARQ_SUMMARIES)
def test_parameters_and_macs_equal_the_summaries_of_the_larq_zoo(network):
    counts = total(network)

    assert (
        counts.binary_parameters,
        counts.float_parameters,
        counts.binary_macs,
        counts.float_macs,
    ) == LARQ_SUMMARIES[network]


# README of github.com/liuzechun/ReActNet: hundreds of millions of operations, cut off. 64 binary
# ones make one.
@pytest.mark.parametrize(("network", "operations"), [("birealnet-18", 163), ("reactnet-a", 87)])
def test_operations_equal_the_readme_of_reactnets_code(network, operations):
    counts = total(network)

    assert (counts.binary_macs / 64 + counts.float_macs) // 1e6 == operations


def test_bireal_net_34_has_the_convolutions_of_a_resnet_34():
    counts = total("birealnet-34")

    # Stages of 3, 4, 6 and 3 blocks of two 3x3 convolutions, on maps of 56, 28, 14 and 7 pixels.
    macs, weights, inputs = 0, 0, 64
    stages = [(3, 64, 56), (4, 128, 28), (6, 256, 14), (3, 512, 7)]
    for blocks, width, side in stages:
        here = 9 * (inputs * width + (2 * blocks - 1) * width**2)
        macs, weights, inputs = macs + here * side**2, weights + here, width
    assert (counts.binary_macs, counts.binary_parameters) == (macs, weights)


def test_reactnet_18_adds_four_numbers_a_channel_to_birealnet_18():
    bireal, reactnet = total("birealnet-18"), total("reactnet-18")
    outputs = [64] * 4 + [128] * 4 + [256] * 4 + [512] * 4
    inputs = [64, *outputs[:-1]]

    assert reactnet.binary_parameters == bireal.binary_parameters
    # A threshold for each channel that a sign reads, three RPReLU numbers for each that is summed.
    assert reactnet.float_parameters == bireal.float_parameters + sum(inputs) + 3 * sum(outputs)


# Docstrings of the larq zoo 2.x (larq_zoo/sota/quicknet.py): parameters.
@pytest.mark.parametrize(
    ("network", "published"),
    [
        ("quicknet-small", 12_655_688),
        ("quicknet-medium", 13_234_088),
        ("quicknet-large", 23_342_248),
    ],
)
def test_parameters_of_quicknet_equal_the_larq_zoo(network, published):
    assert total(network).parameters == published


# He et al., "Deep Residual Learning for Image Recognition", 2015, arXiv:1512.03385, table 6:
# millions of parameters.
@pytest.mark.parametrize(("depth", "millions"), [(20, 0.27), (32, 0.46), (44, 0.66), (56, 0.85)])
def test_ternary_resnets_have_the_size_of_the_cifar_resnets(depth, millions):
    counts = total(f"ttq-resnet-{depth}")

    assert round(counts.parameters / 1e6, 2) == millions
    # n blocks of two 3x3 convolutions at each of three widths; two enter at half their width.
    n = (depth - 2) // 6
    assert counts.ternary_parameters == 9 * (
        2 * n * 16**2 + 16 * 32 + (2 * n - 1) * 32**2 + 32 * 64 + (2 * n - 1) * 64**2
    )


def test_the_vgg_of_the_bnn_paper_has_the_layers_that_the_paper_names():
    convolutions = [(3, 128), (128, 128), (128, 256), (256, 256), (256, 512), (512, 512)]
    linear = [(512 * 4 * 4, 1024), (1024, 1024), (1024, 10)]

    counts = total("bnn-vgg")

    assert counts.binary_parameters == sum(9 * a * b for a, b in convolutions) + sum(
        a * b for a, b in linear
    )
    outputs = [b for _, b in convolutions + linear]
    assert counts.float_parameters == 2 * sum(outputs)
    # Maps of 32, 16 and 8 pixels a side, the pooling after the second of each pair.
    sides = [32, 32, 16, 16, 8, 8]
    macs = [9 * a * b * side**2 for (a, b), side in zip(convolutions, sides, strict=True)]
    assert counts.float_macs == macs[0]
    assert counts.binary_macs == sum(macs[1:]) + sum(a * b for a, b in linear)


def test_the_mlp_of_the_bnn_paper_has_three_layers_of_4096():
    counts = total("bnn-mlp", hidden=[4096, 4096, 4096])

    assert counts.binary_parameters == 784 * 4096 + 2 * 4096**2


def test_the_resnet_of_binarynet_pytorch_has_the_layers_of_its_source():
    counts = total("resnet-binary")

    # models/resnet_binary.py: depth 18, widths 16, 32, 64 times 5, 1x1 downsampling.
    a, b, c = 80, 160, 320
    three = 3 * a + 4 * a * a + a * b + 3 * b * b + b * c + 3 * c * c
    assert counts.binary_parameters == 9 * three + a * b + b * c + 10 * c


def test_the_dorefa_resnet_has_the_layers_of_its_source():
    widths = [64, 64, 128, 256, 512]
    blocks = list(itertools.pairwise(widths))

    counts = total("dorefa-resnet-18")

    # resnet-dorefa.py: each stage enters by two convolutions and a 1x1 shortcut, then two more.
    assert counts.binary_parameters == sum(9 * (a * b + 3 * b * b) + a * b for a, b in blocks)
    norms = sum(a + b + b + b for a, b in blocks) + 512
    assert counts.float_parameters == (49 * 3 + 1) * 64 + 2 * norms + 513 * 1000
    assert counts.binary_macs == 0, "four-bit inputs are no binary inputs"


def test_four_levels_are_not_stored_as_ternary():
    counts = total("dorefa-resnet-18", weight_bits=2)

    assert (counts.binary_parameters, counts.ternary_parameters) == (0, 0)
