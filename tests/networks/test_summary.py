import json

import pytest
import torch
from torch import nn

from bnndeploy import networks, quantizers
from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantConv2d, QuantLinear
from bnndeploy.networks.summary import Counts, summary


def rows(module, input_shape):
    return {row.name: row for row in summary(module, input_shape).layers}


def test_counts_the_layers_of_bnn_cnn_as_worked_out_by_hand():
    layers = rows(networks.build("bnn-cnn"), (1, 28, 28))

    # 32 real 3x3 filters on a 28x28 map of one channel.
    assert layers["0"].counts == Counts(
        float_parameters=9 * 32, float_macs=9 * 32 * 28 * 28, packed_bytes=4 * 9 * 32
    )
    # 64 filters of 3x3x32 bits: one word for each of the 9 positions.
    assert layers["2"].counts == Counts(
        binary_parameters=64 * 9 * 32, binary_macs=64 * 9 * 32 * 28 * 28, packed_bytes=64 * 9 * 4
    )
    assert layers["5"].counts == Counts(
        binary_parameters=64 * 9 * 64, binary_macs=64 * 9 * 64 * 14 * 14, packed_bytes=64 * 9 * 8
    )
    # 7 * 7 * 64 = 3136 inputs are exactly 98 words.
    assert layers["9"].counts == Counts(
        binary_parameters=256 * 3136, binary_macs=256 * 3136, packed_bytes=256 * 98 * 4
    )
    assert layers["10"].counts == Counts(float_parameters=2 * 256, packed_bytes=4 * 2 * 256)
    # The real last layer reads signs, but its weights are floats.
    assert layers["11"].counts == Counts(
        float_parameters=2570, float_macs=2560, packed_bytes=4 * 2570
    )


def test_names_kinds_and_shapes_in_the_order_of_the_forward():
    layers = summary(networks.build("bnn-cnn"), (1, 28, 28)).layers

    assert [(row.kind, row.output_shape) for row in layers[:5]] == [
        ("Conv2d", (32, 28, 28)),
        ("BatchNorm2d", (32, 28, 28)),
        ("QuantConv2d", (64, 28, 28)),
        ("MaxPool2d", (64, 14, 14)),
        ("BatchNorm2d", (64, 14, 14)),
    ]


def test_sums_the_layers():
    result = summary(networks.build("bnn-mlp", input_shape=(1, 2, 3), hidden=[8, 40]), (1, 2, 3))

    # 6 real inputs take one word, 8 signs take one word, 40 signs meet real weights.
    assert result.total == Counts(
        binary_parameters=6 * 8 + 8 * 40,
        float_parameters=2 * 8 + 2 * 40 + 40 * 10 + 10,
        binary_macs=8 * 40,
        float_macs=6 * 8 + 40 * 10,
        packed_bytes=4 * (8 + 40) + 4 * (2 * 8 + 2 * 40 + 40 * 10 + 10),
    )
    assert result.total.parameters == 368 + 506
    assert result.total.macs == 320 + 448
    assert result.total.float32_bytes == 4 * 874


def test_ternary_weights_take_two_bits_and_their_scales_are_floats():
    layer = QuantConv2d(33, 5, 3, bias=False, weight_quantizer="ttq")

    counts = rows(layer, (33, 8, 8))[""].counts

    assert counts == Counts(
        ternary_parameters=5 * 9 * 33,
        float_parameters=2,
        ternary_macs=5 * 9 * 33 * 6 * 6,
        packed_bytes=2 * 5 * 9 * 2 * 4 + 2 * 4,
    )


WEIGHT_QUANTIZERS = [name for name in quantizers.names() if name != "no_op"]


@pytest.mark.parametrize("name", WEIGHT_QUANTIZERS)
def test_every_weight_quantizer_can_be_counted(name):
    counts = rows(QuantLinear(8, 4, bias=False, weight_quantizer=name), (8,))[""].counts
    quantizer = quantizers.get(name)

    assert counts.macs == 32
    own = sum(parameter.numel() for parameter in quantizer.parameters())
    assert counts.parameters == 32 + own
    assert (counts.binary_parameters == 32) == (quantizer.bits == 1)


def test_real_inputs_times_binary_weights_are_float_macs():
    counts = rows(QuantLinear(64, 4, bias=False, weight_quantizer="ste_sign"), (64,))[""].counts

    assert (counts.binary_parameters, counts.binary_macs, counts.float_macs) == (256, 0, 256)


def test_a_layer_that_runs_twice_is_stored_once_and_computed_twice():
    shared = nn.Linear(4, 4, bias=False)

    counts = summary(nn.Sequential(shared, nn.ReLU(), shared), (4,)).total

    assert (counts.float_parameters, counts.float_macs) == (16, 32)


def test_grouped_convolutions_multiply_only_inside_their_group():
    counts = summary(nn.Conv2d(8, 8, 3, groups=8, bias=False), (8, 5, 5)).total

    assert (counts.float_parameters, counts.float_macs) == (8 * 9, 8 * 9 * 3 * 3)


def test_a_batch_norm_without_weights_still_folds_into_two_numbers_a_channel():
    assert summary(nn.BatchNorm2d(6, affine=False), (6, 2, 2)).total.float_parameters == 12


def test_leaves_mode_hooks_and_values_alone():
    torch.manual_seed(0)
    module = networks.build("bnn-mlp", hidden=[8])
    module[2].eval()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}

    summary(module, (1, 28, 28))

    assert module.training
    assert not module[2].training
    assert not any(part._forward_hooks for part in module.modules())
    for name, tensor in module.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_gives_the_same_numbers_for_a_module_on_the_meta_device():
    with torch.device("meta"):
        on_meta = networks.build("bnn-cnn")

    assert summary(on_meta, (1, 28, 28)) == summary(networks.build("bnn-cnn"), (1, 28, 28))


def test_becomes_json():
    result = summary(networks.build("bnn-mlp", hidden=[8]), (1, 28, 28)).as_dict()

    assert json.loads(json.dumps(result)) == result
    assert result["total"]["binary_parameters"] == 784 * 8
    assert result["layers"][0] | {"name": "0", "kind": "Flatten"} == result["layers"][0]


def test_an_input_of_the_wrong_shape_is_refused_and_the_module_restored():
    module = networks.build("bnn-cnn")

    with pytest.raises(RecipeError, match=r"got an input of shape \(1, 8, 8\), which it does not"):
        summary(module, (1, 8, 8))
    assert module.training
    assert not any(part._forward_hooks for part in module.modules())
