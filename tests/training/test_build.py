import pytest
import torch

from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantConv2d, QuantLinear
from bnndeploy.training import data
from bnndeploy.training import recipe as recipes
from bnndeploy.training.build import build_module

FLOAT = """
format = 1
[model]
network = "torchvision"
options = { model = "resnet18" }
[quantize]
keep_first_and_last = false
[quantize.layers]
"layer?.*.conv?" = { input = "ste_heaviside", weight = "magnitude_aware_sign", pad_value = 0 }
"layer4.1.conv2" = { weight = { name = "ttq", sparsity = 0.5 } }
"re:fc" = { weight = "bitnet", output = { name = "fixed_point", size = 6 } }
[data]
dataset = "cifar-10"
[train]
epochs = 1
"""


def build(text):
    recipe = recipes.parse(text, "test")
    with torch.device("meta"):
        return build_module(recipe, data.get(recipe.data))


def test_the_layer_map_of_a_recipe_quantizes_a_float_network():
    module = build(FLOAT)

    assert sum(isinstance(part, QuantConv2d) for part in module.modules()) == 16
    assert module.layer4[1].conv2.weight_quantizer.sparsity == 0.5
    assert isinstance(module.fc, QuantLinear)
    assert module.fc.out_features == 10
    assert module.fc.output_quantizer.size == 6


def test_the_network_stays_as_it_is_without_a_layer_map():
    module = build(FLOAT[: FLOAT.index("[quantize]")] + FLOAT[FLOAT.index("[data]") :])

    assert not any(isinstance(part, QuantConv2d) for part in module.modules())


def test_a_key_that_matches_nothing_is_named():
    with pytest.raises(RecipeError, match="layer map: 're:head' matches no layer"):
        build(FLOAT.replace("re:fc", "re:head"))
