"""AlexNet with every layer binary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from bnndeploy.layers import QuantConv2d, QuantLinear
from bnndeploy.networks._base import register
from bnndeploy.networks._parts import check_input


@register("binary-alexnet")
def binary_alexnet(
    input_shape: Sequence[int] = (3, 224, 224),
    classes: int = 1000,
    inflation: int = 1,
    pad_value: int = 0,
) -> nn.Module:
    """Builds AlexNet with binary weights in all eight layers; the first reads real inputs.

    ``inflation`` multiplies the channels of all convolutions but the last.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``; sides are multiples of 32.
    Reference: Hubara et al., "Binarized Neural Networks", 2016, arXiv:1602.02830; layout of
    the larq zoo (``literature/binary_alex_net.py``).
    """
    check_input("binary-alexnet", input_shape, 32)
    depth, *sides = input_shape
    # Channels, kernel side, stride, pooling. Padding keeps ceil(side / stride) pixels.
    plan = [
        (64 * inflation, 11, 4, True),
        (192 * inflation, 5, 1, True),
        (384 * inflation, 3, 1, False),
        (384 * inflation, 3, 1, False),
        (256, 3, 1, True),
    ]
    binary: dict[str, Any] = {"bias": False, "weight_quantizer": "ste_sign"}
    layers: list[nn.Module] = []
    inputs = depth
    for outputs, kernel, stride, pool in plan:
        sign = "ste_sign" if layers else None
        layers.append(
            QuantConv2d(
                inputs,
                outputs,
                kernel,
                stride,
                padding=(kernel - stride + 1) // 2,
                input_quantizer=sign,
                pad_value=pad_value if sign else 0,
                **binary,
            )
        )
        layers += [nn.MaxPool2d(3, stride=2)] if pool else []
        layers.append(nn.BatchNorm2d(outputs))
        sides = [side // stride for side in sides]
        sides = [(side - 1) // 2 for side in sides] if pool else sides
        inputs = outputs
    layers.append(nn.Flatten())
    inputs *= sides[0] * sides[1]
    for outputs in (4096, 4096, classes):
        layers.append(QuantLinear(inputs, outputs, input_quantizer="ste_sign", **binary))
        layers.append(nn.BatchNorm1d(outputs))
        inputs = outputs
    return nn.Sequential(*layers)
