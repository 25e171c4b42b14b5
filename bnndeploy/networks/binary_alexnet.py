"""AlexNet with every layer binary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantConv2d, QuantLinear
from bnndeploy.networks._base import register
from bnndeploy.networks._parts import check_input


@register("binary-alexnet")
def binary_alexnet(
    input_shape: Sequence[int] = (3, 224, 224),
    classes: int = 1000,
    channels: Sequence[int] = (64, 192, 384, 384, 256),
    first_padding: int = 4,
    pad_value: int = 0,
) -> nn.Module:
    """Builds AlexNet with binary weights in all eight layers; the first reads real inputs.

    BinaryNet.pytorch has the channels 192, 576, 1152, 768, 256 and a first padding of 2.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``; sides are multiples of 32.
    Reference: Hubara et al., "Binarized Neural Networks", 2016, arXiv:1602.02830; layout of
    the larq zoo (``literature/binary_alex_net.py``).
    """
    check_input("binary-alexnet", input_shape, 32)
    if len(channels) != 5:
        raise RecipeError(
            f"binary-alexnet: got {len(channels)} channels, expected those of 5 convolutions"
        )
    inputs, *sides = input_shape
    sides = [(side + 2 * first_padding - 11) // 4 + 1 for side in sides]
    binary: dict[str, Any] = {"bias": False, "weight_quantizer": "ste_sign"}
    layers: list[nn.Module] = []
    # Side of the kernel, and whether a pooling follows.
    plan = [(11, True), (5, True), (3, False), (3, False), (3, True)]
    for index, (outputs, (kernel, pool)) in enumerate(zip(channels, plan, strict=True)):
        layers.append(
            QuantConv2d(
                inputs,
                outputs,
                kernel,
                stride=1 if index else 4,
                padding=kernel // 2 if index else first_padding,
                input_quantizer="ste_sign" if index else None,
                pad_value=pad_value if index else 0,
                **binary,
            )
        )
        layers += [nn.MaxPool2d(3, stride=2)] if pool else []
        layers.append(nn.BatchNorm2d(outputs))
        sides = [(side - 1) // 2 for side in sides] if pool else sides
        inputs = outputs
    layers.append(nn.Flatten())
    inputs *= sides[0] * sides[1]
    for outputs in (4096, 4096, classes):
        layers.append(QuantLinear(inputs, outputs, input_quantizer="ste_sign", **binary))
        layers.append(nn.BatchNorm1d(outputs))
        inputs = outputs
    return nn.Sequential(*layers)
