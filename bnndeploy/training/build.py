"""Builds the network that a recipe describes."""

from __future__ import annotations

from torch import nn

from bnndeploy import networks
from bnndeploy.errors import RecipeError
from bnndeploy.layers import quantize
from bnndeploy.training.data import Dataset
from bnndeploy.training.recipe import Recipe


def build_module(recipe: Recipe, dataset: Dataset) -> nn.Module:
    """Builds the network for the images and classes of its data set, with fresh weights.

    ``input_shape`` and ``classes`` come from the data set unless the recipe gives them.

    Raises:
        RecipeError: If the network, an option or a quantizer is wrong, or does not fit the data.
    """
    name = recipe.model.network
    known = networks.options(name)
    fitting = {"input_shape": dataset.shape, "classes": len(dataset.classes)}
    given = dict(recipe.model.options)
    if given.get("classes", len(dataset.classes)) != len(dataset.classes):
        raise RecipeError(
            f"model.options.classes: got {given['classes']}, expected {len(dataset.classes)}, "
            f"the classes of {dataset.name}"
        )
    module = networks.build(name, **{k: v for k, v in fitting.items() if k in known} | given)
    table = recipe.quantize
    if not table.layers:
        return module
    return quantize(
        module, table.layers, keep_first_and_last=table.keep_first_and_last, report=None
    )
