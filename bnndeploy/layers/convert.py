"""Turns the layers of any torch network into quantized ones."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from bnndeploy.errors import RecipeError
from bnndeploy.layers._base import QuantizerLike
from bnndeploy.layers.layer_map import PLACES, Choice, LayerMap, format_plan, plan
from bnndeploy.layers.quant_conv1d import QuantConv1d
from bnndeploy.layers.quant_conv2d import QuantConv2d
from bnndeploy.layers.quant_embedding import QuantEmbedding
from bnndeploy.layers.quant_linear import QuantLinear
from bnndeploy.quantizers import Quantizer

_CONVOLUTION = (
    "in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups",
)  # fmt: skip
# For each torch layer: ours, and the attributes that are its constructor's arguments.
_CONVERSIONS: dict[type[nn.Module], tuple[type[nn.Module], tuple[str, ...]]] = {
    nn.Linear: (QuantLinear, ("in_features", "out_features")),
    nn.Conv1d: (QuantConv1d, _CONVOLUTION),
    nn.Conv2d: (QuantConv2d, _CONVOLUTION),
    nn.Embedding: (QuantEmbedding, ("num_embeddings", "embedding_dim", "padding_idx")),
}


def quantize(
    model: nn.Module,
    layer_map: LayerMap,
    *,
    keep_first_and_last: bool = True,
    report: Callable[[str], Any] | None = print,
) -> nn.Module:
    """Replaces the layers that ``layer_map`` names by quantized ones with the same weights.

    A key is the exact path of a layer, a glob (``layer?.*.conv*``, where * also spans dots) or
    ``re:`` and a regular expression for the whole path. An exact key goes before a glob, a glob
    before a regular expression; among equals the first in the map decides. A value is a table of
    ``input``, ``weight`` and ``output`` (a quantizer: name, or table of ``name`` and options),
    ``pad_value``; or ``"real"`` for a layer that stays as it is.

    Args:
        model: Any network of Linear, Conv1d, Conv2d and Embedding layers; changed in place. The
            parameters stay the same objects.
        layer_map: The keys and their tables.
        keep_first_and_last: Leave the first and the last layer real unless an exact key names
            them.
        report: Takes the table of what was decided; None for no report.

    Returns:
        The model.

    Raises:
        RecipeError: If a key matches nothing or a table is wrong; the model is unchanged then.
    """
    choices = plan(model, layer_map, keep_first_and_last=keep_first_and_last)
    replacements = {}
    for choice in choices:
        if choice.settings is not None:
            layer = model.get_submodule(choice.layer)
            replacements[id(layer)] = _convert(layer, choice)
    for path, module in list(model.named_modules(remove_duplicate=False)):
        if id(module) not in replacements:
            continue
        if not path:
            model = replacements[id(module)]
            continue
        parent, _, name = path.rpartition(".")
        setattr(model.get_submodule(parent), name, replacements[id(module)])
    if report is not None:
        report(format_plan(choices))
    return model


def _convert(layer: Any, choice: Choice) -> nn.Module:
    """Builds the quantized layer around the parameters of the real one."""
    settings = choice.settings or {}
    base = next(known for known in _CONVERSIONS if isinstance(layer, known))
    ours, names = _CONVERSIONS[base]
    for option, expected in (("padding_mode", "zeros"), ("max_norm", None)):
        value = getattr(layer, option, expected)
        if value != expected:
            raise RecipeError(
                f"layer map: {choice.layer!r} has {option} {value!r}, expected {expected!r}; "
                "keep the layer real"
            )
    # On the meta device the constructor draws no weights; those of the layer move in.
    with torch.device("meta"):
        converted: Any = ours(**{name: getattr(layer, name) for name in names})
    converted.weight = layer.weight
    if base is not nn.Embedding:
        converted.bias = layer.bias
    if hasattr(converted, "pad_value"):
        converted.pad_value = settings.get("pad_value", 0)
    converted.set_quantizers(
        *(_own(settings.get(place)) for place in PLACES),
        channels=(getattr(layer, names[0]), getattr(layer, names[1])),
        axis=1 if base in (nn.Conv1d, nn.Conv2d) else -1,
    )
    converted.to(layer.weight.device)
    return converted.train(layer.training)  # type: ignore[no-any-return]


def _own(quantizer: QuantizerLike) -> QuantizerLike:
    """Copies a quantizer given as a module: layers must not share its parameters."""
    return copy.deepcopy(quantizer) if isinstance(quantizer, Quantizer) else quantizer
