"""LeNet-5 with ternary weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantConv2d, QuantLinear
from bnndeploy.networks._base import register


@register("ttq-lenet")
def ttq_lenet(
    input_shape: Sequence[int] = (1, 28, 28),
    classes: int = 10,
    padding: int = 0,
    weight_quantizer: str = "ttq",
) -> nn.Module:
    """Builds Caffe's LeNet-5 (20 and 50 filters of 5x5, 500 hidden units) with batch-norm.

    The second convolution and the hidden layer have ternary weights and real inputs; the first
    and the last layer stay real. Inputs smaller than 16x16 want ``padding=2``.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``.
    Reference: Zhu et al., "Trained Ternary Quantization", 2016, arXiv:1612.01064.
    """
    depth, height, width = input_shape
    for _ in range(2):
        height, width = (height + 2 * padding - 4) // 2, (width + 2 * padding - 4) // 2
    if min(height, width) < 1:
        raise RecipeError(
            f"ttq-lenet: got an input of {input_shape[1]}x{input_shape[2]} with padding "
            f"{padding}, which leaves no map after the second pooling; use padding=2"
        )
    ternary: dict[str, Any] = {"bias": False, "weight_quantizer": weight_quantizer}
    return nn.Sequential(
        nn.Conv2d(depth, 20, 5, padding=padding, bias=False),
        nn.BatchNorm2d(20),
        nn.ReLU(),
        nn.MaxPool2d(2),
        QuantConv2d(20, 50, 5, padding=padding, **ternary),
        nn.BatchNorm2d(50),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        QuantLinear(50 * height * width, 500, **ternary),
        nn.BatchNorm1d(500),
        nn.ReLU(),
        nn.Linear(500, classes),
    )
