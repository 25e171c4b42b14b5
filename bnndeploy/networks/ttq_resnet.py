"""The CIFAR ResNets of trained ternary quantization."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from torch import nn

from bnndeploy.layers import QuantConv2d
from bnndeploy.networks._base import register
from bnndeploy.networks._parts import PadChannels, Residual, check_input, head
from bnndeploy.quantizers import get

WIDTHS = (16, 32, 64)
DEPTHS = (20, 32, 44, 56)


def ttq_resnet(
    depth: int,
    input_shape: Sequence[int] = (3, 32, 32),
    classes: int = 10,
    weight_quantizer: str = "ttq",
) -> nn.Module:
    """Builds a pre-activation ResNet whose inner weights are ternary and whose inputs are real.

    A block is batch-norm, ReLU, 3x3 convolution, twice; the first lacks the leading pair. Where
    the map halves, the shortcut is a 2x2 mean with zero channels around it. The first
    convolution and the last layer stay real.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``; sides are multiples of 4.
    Reference: Zhu et al., "Trained Ternary Quantization", 2016, arXiv:1612.01064; layout of its
    published code (``examples/Ternary-Net/tw-cifar10-resnet.py``).
    """
    check_input(f"ttq-resnet-{depth}", input_shape, 4)
    blocks = (depth - 2) // 6
    modules: list[nn.Module] = [
        nn.Conv2d(input_shape[0], WIDTHS[0], 3, padding=1, bias=False),
        nn.BatchNorm2d(WIDTHS[0]),
        nn.ReLU(),
    ]
    inputs = WIDTHS[0]
    for width in WIDTHS:
        for index in range(blocks):
            first = width == WIDTHS[0] and index == 0
            modules.append(_block(inputs, width, weight_quantizer, activate=not first))
            inputs = width
    return nn.Sequential(*modules, nn.BatchNorm2d(inputs), nn.ReLU(), *head(inputs, classes))


def _block(inputs: int, outputs: int, weight_quantizer: str, activate: bool) -> nn.Module:
    halve = inputs != outputs

    def conv(inputs: int, stride: int) -> nn.Module:
        quantizer = get(weight_quantizer)
        return QuantConv2d(
            inputs, outputs, 3, stride, padding=1, bias=False, weight_quantizer=quantizer
        )

    body = nn.Sequential(
        *([nn.BatchNorm2d(inputs), nn.ReLU()] if activate else []),
        conv(inputs, stride=2 if halve else 1),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
        conv(outputs, stride=1),
    )
    shortcut = nn.Sequential(nn.AvgPool2d(2), PadChannels((outputs - inputs) // 2))
    return Residual(body, shortcut if halve else None)


for _depth in DEPTHS:
    register(f"ttq-resnet-{_depth}")(partial(ttq_resnet, _depth))
