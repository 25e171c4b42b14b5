import copy

import pytest
import torch
from torch import nn

import bnndeploy
from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantConv1d, QuantConv2d, QuantEmbedding, QuantLinear, plan
from bnndeploy.quantizers import SteSign, Ttq

BINARY = {"input": "ste_sign", "weight": "ste_sign"}


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3),  # 0, first
        nn.Conv2d(8, 8, 3, stride=2, padding=1, bias=False),  # 1
        nn.ReLU(),
        nn.Sequential(nn.Conv2d(8, 8, 1), nn.Conv2d(8, 4, 3, groups=4)),  # 3.0 and 3.1
        nn.Flatten(),
        nn.Linear(4, 6),  # 5
        nn.Linear(6, 2),  # 6, last
    )


def quantize(model, layer_map, **options):
    return bnndeploy.quantize(model, layer_map, report=None, **options)


def quantized(model):
    kinds = (QuantConv1d, QuantConv2d, QuantEmbedding, QuantLinear)
    return [path for path, part in model.named_modules() if isinstance(part, kinds)]


def reasons(model, layer_map, **options):
    return {choice.layer: choice.reason for choice in plan(model, layer_map, **options)}


def test_exact_goes_before_glob_before_regex():
    layer_map = {"re:3.*": BINARY, "3.?": {"weight": "twn"}, "3.1": {"weight": "ttq"}}

    assert reasons(network(), layer_map) == {
        "0": "no key", "1": "no key", "3.0": "3.?", "3.1": "3.1", "5": "no key", "6": "no key",
    }  # fmt: skip


def test_among_equals_the_first_key_decides():
    assert reasons(network(), {"3.*": BINARY, "?.1": {"weight": "twn"}})["3.1"] == "3.*"


def test_an_exact_key_is_no_prefix_and_no_substring():
    model = nn.Sequential()
    for name in ("conv1", "conv10", "conv11", "last"):
        model.add_module(name, nn.Conv2d(1, 1, 1))

    assert quantized(quantize(model, {"conv1": BINARY, "conv11": BINARY})) == ["conv1", "conv11"]


def test_first_and_last_stay_real_unless_named_exactly():
    assert quantized(quantize(network(), {"*": BINARY})) == ["1", "3.0", "3.1", "5"]
    assert quantized(quantize(network(), {"*": BINARY, "0": BINARY})) == [
        "0",
        "1",
        "3.0",
        "3.1",
        "5",
    ]
    everything = quantize(network(), {"*": BINARY}, keep_first_and_last=False)
    assert quantized(everything) == ["0", "1", "3.0", "3.1", "5", "6"]


def test_real_takes_layers_out_of_a_wider_key():
    assert quantized(quantize(network(), {"*": BINARY, "3.*": "real"})) == ["1", "3.0", "3.1", "5"]
    assert quantized(quantize(network(), {"3.*": "real", "*": BINARY})) == ["1", "5"]


def test_parameters_stay_the_same_objects_and_values():
    model = network()
    before = dict(model.named_parameters())
    quantize(model, {"*": BINARY})

    assert {k: id(v) for k, v in model.named_parameters()} == {k: id(v) for k, v in before.items()}


def test_geometry_bias_and_mode_are_kept():
    model = quantize(network().eval(), {"*": {"weight": "no_op", "pad_value": 0}})
    x = torch.randn(2, 3, 8, 8)

    torch.testing.assert_close(model(x), network().eval()(x))
    assert not model[1].training
    assert model[1].stride == (2, 2)
    assert model[1].bias is None


def test_settings_reach_the_layer():
    layer_map = {
        "1": {"input": {"name": "ste_sign", "clip": 2.0}, "weight": "ttq", "pad_value": -1}
    }
    layer = quantize(network(), layer_map)[1]

    assert layer.input_quantizer.clip == 2.0
    assert layer.pad_value == -1
    assert isinstance(layer.weight_quantizer, Ttq)


def test_outputs_are_a_place_of_their_own():
    model = quantize(network(), {"1": {"output": "rsign"}, "5": {"output": "half"}})

    assert model[1].input_quantizer is None
    assert model[1].weight_quantizer is None
    assert model[1].output_quantizer.threshold.numel() == model[1].out_channels
    assert type(model[5].output_quantizer).__name__ == "Half"
    table = nn.Sequential(nn.Embedding(4, 3), nn.Linear(3, 2))
    rows = quantize(table, {"0": {"output": "rsign"}})[0]
    assert set(rows(torch.arange(4)).flatten().tolist()) <= {-1, 1}
    assert rows.output_quantizer.threshold.numel() == 3


def test_scales_start_from_the_real_weights():
    model = network()
    weight = model[1].weight.detach()
    expected = weight[weight > 0.05 * weight.abs().max()].mean()
    quantize(model, {"1": {"weight": "ttq"}})

    torch.testing.assert_close(model[1].weight_quantizer.w_pos.data, expected.reshape(1))


def test_a_quantizer_given_as_a_module_is_not_shared():
    sign = SteSign()
    model = quantize(network(), {"3.*": {"input": sign, "weight": sign}})
    parts = [part for part in model.modules() if isinstance(part, SteSign)]

    assert len(parts) == 4
    assert len({id(part) for part in (*parts, sign)}) == 5


def test_a_layer_used_twice_stays_one_layer():
    shared = nn.Linear(4, 4)
    model = quantize(nn.ModuleDict({"a": nn.Linear(4, 4), "b": shared, "c": shared,
                                    "d": nn.Linear(4, 4)}), {"b": BINARY})  # fmt: skip

    assert model["b"] is model["c"]
    assert isinstance(model["b"], QuantLinear)


def test_a_network_of_one_layer_is_replaced():
    model = quantize(nn.Linear(3, 2), {"": BINARY})

    assert isinstance(model, QuantLinear)


def test_sequences_and_embeddings_are_converted():
    model = nn.Sequential(
        nn.Embedding(5, 4), nn.Conv1d(4, 4, 1), nn.Conv1d(4, 4, 1), nn.Linear(1, 1)
    )
    quantize(model, {"0": {"weight": "bitnet"}, "2": {"input": "rsign", "weight": "ste_sign"}})

    assert quantized(model) == ["0", "2"]
    assert model[2].input_quantizer.threshold.shape == (4,)


def test_quantized_layers_can_be_quantized_again():
    model = quantize(quantize(network(), {"5": BINARY}), {"5": {"weight": "twn"}})

    assert model[5].input_quantizer is None
    assert type(model[5].weight_quantizer).__name__ == "Twn"


def test_subclasses_that_use_their_weight_in_their_own_way_are_left_alone():
    attention = nn.MultiheadAttention(4, 2)
    model = nn.Sequential(nn.Linear(4, 4), attention, nn.Linear(4, 4))

    assert "not known" in reasons(model, {"*": BINARY})["1.out_proj"]
    with pytest.raises(RecipeError, match=r"'1.out_proj' is a NonDynamically\w+, expected one of"):
        quantize(model, {"1.out_proj": BINARY})


@pytest.mark.parametrize(
    ("layer_map", "message"),
    [
        ({"3.2": BINARY}, r"'3.2' matches no layer \(did you mean '3.[01]'\?\); the layers are 0"),
        ({"conv*": BINARY}, r"'conv\*' matches no layer; the layers are 0, 1, 3.0"),
        ({"re:(": BINARY}, r"'re:\(' is no regular expression"),
        ({"3": BINARY}, r"'3' is a Sequential, .* write '3\.\*'"),
        ({"2": BINARY}, r"'2' is a ReLU, expected a layer with weights"),
        ({"1": "binary"}, r"'1' has the value 'binary', expected 'real' or a table with input"),
        ({"1": {"wieght": "ttq"}}, r"unknown setting 'wieght' \(did you mean 'weight'\?\)"),
        ({"1": {"weight": "tqt"}}, r"'1', weight: quantizer 'tqt' is unknown \(did you mean 'ttq'"),
        ({"1": {"weight": {"clip": 1}}}, r"'1', weight: quantizer: got \{'clip': 1\}, expected"),
        ({"1": {"input": "ttq"}}, r"input quantizer: Ttq yields weight codes"),
        ({"1": {"weight": SteSign(gate="strict")}}, "gate 'strict' for weights"),
        ({"1": {"pad_value": 1}}, "'1' quantizes nothing; give input, weight, output or 'r"),
        ({"1": {"output": "ttq"}}, r"output quantizer: Ttq yields weight codes"),
        ({"1": BINARY | {"pad_value": 3}}, "got pad_value 3, expected -1, 0 or 1"),
        ({"5": BINARY | {"pad_value": 1}}, "'5' is a Linear, which has no pad_value; drop it"),
    ],
)
def test_mistakes_are_named_and_leave_the_network_alone(layer_map, message):
    model = network()
    with pytest.raises(RecipeError, match=message):
        quantize(model, {"5": BINARY, **layer_map} if "5" not in layer_map else layer_map)

    assert quantized(model) == []


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (nn.Conv2d(1, 1, 3, padding_mode="circular"), "has padding_mode 'circular', expected 'z"),
        (nn.Embedding(2, 2, max_norm=1.0), "has max_norm 1.0, expected None"),
    ],
)
def test_layers_with_options_of_their_own_are_refused(layer, message):
    with pytest.raises(RecipeError, match=message):
        quantize(nn.Sequential(layer), {"0": {"weight": "ste_sign"}})


def test_the_report_names_every_layer_and_what_decided(capsys):
    layer_map = {"*": {"input": {"name": "ste_sign", "clip": 2}, "weight": "ttq"}}
    bnndeploy.quantize(network(), layer_map)

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["layer", "kind", "input", "weight", "output", "decided", "by"]
    assert lines[1] == ["0", "Conv2d", "real", "real", "real", "first", "layer", "stays", "real"]
    assert lines[2] == ["1", "Conv2d", "ste_sign(clip=2)", "ttq", "real", "*"]
    assert len(lines) == 7


def test_torchvisions_resnet18_works_unchanged():
    torchvision = pytest.importorskip("torchvision")
    torch.manual_seed(0)
    model = torchvision.models.resnet18(num_classes=10)
    original = copy.deepcopy(model)
    quantize(
        model,
        {
            "layer?.*.conv?": {"input": "ste_heaviside", "weight": "magnitude_aware_sign"},
            "*.downsample.0": "real",
        },
    )
    paths = quantized(model)
    assert len(paths) == 16
    assert all(".conv" in path for path in paths)
    assert set(model.state_dict()) == set(original.state_dict())

    model.load_state_dict(original.state_dict())
    y = model(torch.randn(2, 3, 32, 32))
    y.square().sum().backward()
    assert y.shape == (2, 10)
    assert model.layer1[0].conv1.weight.grad.abs().sum() > 0
