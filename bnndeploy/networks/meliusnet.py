"""MeliusNet: binary dense blocks, each followed by an improvement of the new channels."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from bnndeploy.networks._base import register
from bnndeploy.networks._parts import binary_conv, check_input, head

GROWTH = 64
CLIP = 1.3
BLOCKS = (4, 5, 4, 4)
TRANSITIONS = (160, 224, 256, None)


class MeliusBlock(nn.Module):
    """Appends 64 binary features and adds a second binary convolution's output to them.

    ``d = dense(x)``, ``i = d + improve([x, d])``, ``y = [x, i]``, where dense and improve are
    batch-norm, sign and a 3x3 binary convolution.

    Shape: ``(N, C, H, W)`` to ``(N, C + 64, H, W)``.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.dense = _norm_and_conv(channels)
        self.improve = _norm_and_conv(channels + GROWTH)

    def forward(self, x: Tensor) -> Tensor:
        new = self.dense(x)
        improved = self.improve(torch.cat([x, new], dim=1)) + new
        return torch.cat([x, improved], dim=1)


@register("meliusnet-22")
def meliusnet_22(input_shape: Sequence[int] = (3, 224, 224), classes: int = 1000) -> nn.Module:
    """Builds a real grouped stem, 17 Melius blocks in four sections, and a real head.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``; sides are multiples of 32.
    Reference: Bethge et al., "MeliusNet: Can Binary Neural Networks Achieve MobileNet-level
    Accuracy?", 2020, arXiv:2001.05936; layout of the larq zoo (``literature/meliusnet.py``).
    """
    check_input("meliusnet-22", input_shape, 32)
    modules: list[nn.Module] = []
    inputs = input_shape[0]
    for outputs, stride, groups in ((32, 2, 1), (32, 1, 4), (64, 1, 8)):
        modules += [
            nn.Conv2d(inputs, outputs, 3, stride, padding=1, groups=groups, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
        ]
        inputs = outputs
    modules.append(nn.MaxPool2d(2))
    channels = inputs
    for count, transition in zip(BLOCKS, TRANSITIONS, strict=True):
        for _ in range(count):
            modules.append(MeliusBlock(channels))
            channels += GROWTH
        modules.append(nn.BatchNorm2d(channels))
        if transition is not None:
            modules += [
                nn.MaxPool2d(2),
                nn.ReLU(),
                nn.Conv2d(channels, transition, 1, bias=False),
            ]
            channels = transition
    return nn.Sequential(*modules, nn.ReLU(), *head(channels, classes))


def _norm_and_conv(channels: int) -> nn.Module:
    return nn.Sequential(nn.BatchNorm2d(channels), binary_conv(channels, GROWTH, clip=CLIP))
