"""The VGG-like network of the BNN paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantConv2d, QuantLinear
from bnndeploy.networks._base import register
from bnndeploy.networks._parts import check_input


@register("bnn-vgg")
def bnn_vgg(
    input_shape: Sequence[int] = (3, 32, 32),
    classes: int = 10,
    channels: Sequence[int] = (128, 128, 256, 256, 512, 512),
    hidden: int = 1024,
    pad_value: int = 0,
) -> nn.Module:
    """Builds binary convolutions, a 2x2 max-pool in every second, and three binary linear layers.

    With the defaults 128-128-256-256-512-512-1024-1024-10. Every weight is binary; the first
    layer reads real inputs. A batch-norm follows every layer, the last one too. BinaryNet.pytorch
    has the channels 384, 384, 768, 768, 1536, 512.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``; the sides are multiples of
    ``2 ** (len(channels) // 2)``.
    Reference: Hubara et al., "Binarized Neural Networks", 2016, arXiv:1602.02830.
    """
    if not channels or len(channels) % 2:
        raise RecipeError(
            f"bnn-vgg: got {len(channels)} channels, expected an even number of convolutions, "
            "two for each pooling"
        )
    poolings = len(channels) // 2
    check_input("bnn-vgg", input_shape, 2**poolings)
    inputs, height, width = input_shape
    binary: dict[str, Any] = {"bias": False, "weight_quantizer": "ste_sign"}
    layers: list[nn.Module] = []
    for index, outputs in enumerate(channels):
        layers.append(
            QuantConv2d(
                inputs,
                outputs,
                3,
                padding=1,
                input_quantizer="ste_sign" if index else None,
                # What surrounds a real image is zero, whatever surrounds the signs.
                pad_value=pad_value if index else 0,
                **binary,
            )
        )
        layers += [nn.MaxPool2d(2)] if index % 2 else []
        layers.append(nn.BatchNorm2d(outputs))
        inputs = outputs
    layers.append(nn.Flatten())
    inputs *= (height >> poolings) * (width >> poolings)
    for outputs in (hidden, hidden, classes):
        layers.append(QuantLinear(inputs, outputs, input_quantizer="ste_sign", **binary))
        layers.append(nn.BatchNorm1d(outputs))
        inputs = outputs
    return nn.Sequential(*layers)
