"""The float classifiers of torchvision, to be quantized by a layer map."""

from __future__ import annotations

from collections.abc import Sequence

import torchvision
from torch import nn

from bnndeploy.errors import RecipeError
from bnndeploy.networks._base import register
from bnndeploy.registry import nearest


@register("torchvision")
def torchvision_network(
    model: str, input_shape: Sequence[int] = (3, 224, 224), classes: int = 1000
) -> nn.Module:
    """Builds a classifier of torchvision with fresh real weights, such as ``resnet18``.

    Every layer is real until the table [quantize] of a recipe, or ``bnndeploy.quantize``, says
    otherwise.

    Shape: ``(N, 3, H, W)`` to ``(N, classes)``.
    Reference: the torchvision models, https://docs.pytorch.org/vision/stable/models.html.
    """
    known = torchvision.models.list_models(module=torchvision.models)
    if model not in known:
        raise RecipeError(
            f"torchvision: got model {model!r}{nearest(model, known)}, expected one of "
            f"{', '.join(known)}"
        )
    if input_shape[0] != 3:
        raise RecipeError(
            f"torchvision: got {input_shape[0]} channels, expected 3; {model} reads colour images"
        )
    network: nn.Module = torchvision.models.get_model(model, weights=None, num_classes=classes)
    return network
