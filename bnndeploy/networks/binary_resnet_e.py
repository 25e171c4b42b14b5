"""BinaryResNetE: a binary ResNet with a shortcut around every convolution."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from bnndeploy.networks._base import register
from bnndeploy.networks._parts import (
    Residual,
    binary_conv,
    check_input,
    head,
    is_small,
    pooled_shortcut,
    stages,
    stem,
)

WIDTHS = (64, 128, 256, 512)
CLIP = 1.25


@register("binary-resnet-e-18")
def binary_resnet_e_18(
    input_shape: Sequence[int] = (3, 224, 224), classes: int = 1000
) -> nn.Module:
    """Builds a real stem, 16 blocks of one binary convolution each, and a real head.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``; sides are multiples of 32, or of 8 below
    50 pixels, where the stem keeps the map.
    Reference: Bethge et al., "Back to Simplicity: How to Train Accurate BNNs from Scratch?",
    2019, arXiv:1906.08637; layout of the larq zoo (``literature/resnet_e.py``).
    """
    small = is_small(input_shape)
    check_input("binary-resnet-e-18", input_shape, 8 if small else 32)
    return nn.Sequential(
        *stem(input_shape[0], WIDTHS[0], nn.ReLU(), small=small),
        nn.BatchNorm2d(WIDTHS[0]),
        *stages((4, 4, 4, 4), WIDTHS, _block),
        nn.ReLU(),
        *head(WIDTHS[-1], classes),
    )


def _block(inputs: int, outputs: int) -> list[nn.Module]:
    halve = inputs != outputs
    body = nn.Sequential(
        binary_conv(inputs, outputs, stride=2 if halve else 1, clip=CLIP),
        nn.BatchNorm2d(outputs),
    )
    return [Residual(body, pooled_shortcut(inputs, outputs) if halve else None)]
