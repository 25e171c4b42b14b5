"""ReActNet: binary networks that learn where their activations switch."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from bnndeploy.layers import QuantConv2d, RPReLU
from bnndeploy.networks._base import register
from bnndeploy.networks._parts import (
    Residual,
    check_input,
    head,
    is_small,
    pooled_shortcut,
    stages,
    stem,
)

WIDTHS_18 = (64, 128, 256, 512)
# MobileNet's widths: the map halves wherever they change, except after the first block.
WIDTHS_A = (32, 64, *[128] * 2, *[256] * 2, *[512] * 6, *[1024] * 2)


class Repeat(nn.Module):
    """Puts its input twice, side by side: ``(N, C, H, W)`` to ``(N, 2C, H, W)``.

    It is the shortcut past a convolution that doubles the channels, and has no parameters.
    """

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, x], dim=1)


@register("reactnet-18")
def reactnet_18(input_shape: Sequence[int] = (3, 224, 224), classes: int = 1000) -> nn.Module:
    """Builds Bi-Real Net 18 with learned thresholds before its signs and RPReLU after its sums.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``; sides are multiples of 32, or of 8 below
    50 pixels, where the stem keeps the map.
    Reference: Liu et al., "ReActNet: Towards Precise Binary Neural Network with Generalized
    Activation Functions", 2020, arXiv:2003.03488; layout of its published code
    (``resnet/2_step2/birealnet.py``).
    """
    small = is_small(input_shape)
    check_input("reactnet-18", input_shape, 8 if small else 32)

    def block(inputs: int, outputs: int) -> list[nn.Module]:
        halve = inputs != outputs
        body = _conv_and_norm(inputs, outputs, kernel=3, stride=2 if halve else 1)
        shortcut = pooled_shortcut(inputs, outputs) if halve else None
        return [Residual(body, shortcut), RPReLU(outputs)]

    return nn.Sequential(
        *stem(input_shape[0], WIDTHS_18[0], small=small),
        *stages((4, 4, 4, 4), WIDTHS_18, block),
        *head(WIDTHS_18[-1], classes),
    )


@register("reactnet-a")
def reactnet_a(input_shape: Sequence[int] = (3, 224, 224), classes: int = 1000) -> nn.Module:
    """Builds the binary MobileNet with a shortcut without parameters around every convolution.

    A block is a 3x3 binary convolution, then a 1x1 binary convolution that keeps or doubles the
    channels. The published code doubles them by two 1x1 convolutions of the same input; here
    they are one with both sets of filters, which computes the same.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``; sides are multiples of 32.
    Reference: Liu et al., "ReActNet: Towards Precise Binary Neural Network with Generalized
    Activation Functions", 2020, arXiv:2003.03488; layout of its published code
    (``mobilenet/2_step2/reactnet.py``).
    """
    check_input("reactnet-a", input_shape, 32)
    modules: list[nn.Module] = [
        nn.Conv2d(input_shape[0], WIDTHS_A[0], 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(WIDTHS_A[0]),
    ]
    for index, (inputs, outputs) in enumerate(itertools.pairwise(WIDTHS_A)):
        halve = index > 0 and inputs != outputs
        modules += [
            Residual(
                _conv_and_norm(inputs, inputs, kernel=3, stride=2 if halve else 1),
                nn.AvgPool2d(2) if halve else None,
            ),
            RPReLU(inputs),
            Residual(
                _conv_and_norm(inputs, outputs, kernel=1, stride=1),
                None if inputs == outputs else Repeat(),
            ),
            RPReLU(outputs),
        ]
    return nn.Sequential(*modules, *head(WIDTHS_A[-1], classes))


def _conv_and_norm(inputs: int, outputs: int, kernel: int, stride: int) -> nn.Module:
    return nn.Sequential(
        QuantConv2d(
            inputs,
            outputs,
            kernel,
            stride,
            padding=kernel // 2,
            bias=False,
            input_quantizer="rsign",
            weight_quantizer="magnitude_aware_sign",
        ),
        nn.BatchNorm2d(outputs),
    )
