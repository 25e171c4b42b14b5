"""Bi-Real Net: a binary ResNet whose real values pass every binary convolution."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from torch import nn

from bnndeploy.layers import QuantConv2d
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

WIDTHS = (64, 128, 256, 512)
COUNTS = {18: (4, 4, 4, 4), 34: (6, 8, 12, 6)}


def birealnet(
    depth: int, input_shape: Sequence[int] = (3, 224, 224), classes: int = 1000
) -> nn.Module:
    """Builds a real stem, blocks ``shortcut(x) + batch_norm(binary_conv(x))``, and a real head.

    Signs have the gradient of a piecewise parabola; binary weights are scaled by the mean
    magnitude of their filter.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``; sides are multiples of 32, or of 8 below
    50 pixels, where the stem keeps the map.
    Reference: Liu et al., "Bi-Real Net: Enhancing the Performance of 1-bit CNNs With Improved
    Representational Capability and Advanced Training Algorithm", 2018, arXiv:1808.00278; layout
    of its published code (``pytorch_implementation/BiReal18_34/birealnet.py``).
    """
    small = is_small(input_shape)
    check_input(f"birealnet-{depth}", input_shape, 8 if small else 32)
    return nn.Sequential(
        *stem(input_shape[0], WIDTHS[0], small=small),
        *stages(COUNTS[depth], WIDTHS, _block),
        *head(WIDTHS[-1], classes),
    )


def _block(inputs: int, outputs: int) -> list[nn.Module]:
    halve = inputs != outputs
    conv = QuantConv2d(
        inputs,
        outputs,
        3,
        stride=2 if halve else 1,
        padding=1,
        bias=False,
        input_quantizer="approx_sign",
        weight_quantizer="magnitude_aware_sign",
    )
    body = nn.Sequential(conv, nn.BatchNorm2d(outputs))
    return [Residual(body, pooled_shortcut(inputs, outputs) if halve else None)]


for _depth in COUNTS:
    register(f"birealnet-{_depth}")(partial(birealnet, _depth))
