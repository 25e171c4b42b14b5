"""A small convolutional network in the manner of the BNN paper."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from torch import nn

from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantConv2d, QuantLinear
from bnndeploy.networks._base import register


@register("bnn-cnn")
def bnn_cnn(
    input_shape: Sequence[int] = (1, 28, 28),
    classes: int = 10,
    channels: Sequence[int] = (32, 64, 64),
    hidden: int = 256,
    pad_value: int = 1,
) -> nn.Module:
    """Builds a real first convolution, binary conv - pool - batch-norm - sign blocks, a real head.

    Every binary convolution is followed by a 2x2 max-pool, before the sign: pooling signs
    would leave almost only +1. A binary hidden layer precedes the real last one.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``.
    Reference: Hubara et al., "Binarized Neural Networks", 2016, arXiv:1602.02830.
    """
    depth, height, width = input_shape
    blocks = len(channels) - 1
    if blocks < 1 or min(height, width) >> blocks < 1:
        raise RecipeError(
            f"bnn-cnn: got {len(channels)} channels for a {height}x{width} input, expected at "
            "least two and a map of at least one pixel after the poolings; change 'channels'"
        )
    layers: list[nn.Module] = [
        nn.Conv2d(depth, channels[0], 3, padding=1, bias=False),
        nn.BatchNorm2d(channels[0]),
    ]
    binary: dict[str, Any] = {"input_quantizer": "ste_sign", "weight_quantizer": "ste_sign"}
    for wide, next_wide in itertools.pairwise(channels):
        layers += [
            QuantConv2d(wide, next_wide, 3, padding=1, bias=False, pad_value=pad_value, **binary),
            nn.MaxPool2d(2),
            nn.BatchNorm2d(next_wide),
        ]
    features = channels[-1] * (height >> blocks) * (width >> blocks)
    layers += [
        nn.Flatten(),
        QuantLinear(features, hidden, bias=False, **binary),
        nn.BatchNorm1d(hidden),
        QuantLinear(hidden, classes, input_quantizer="ste_sign"),
    ]
    return nn.Sequential(*layers)
