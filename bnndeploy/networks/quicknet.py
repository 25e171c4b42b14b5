"""QuickNet: a binary residual network made for fast inference."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from torch import nn

from bnndeploy.networks._base import register
from bnndeploy.networks._parts import BlurPool, Residual, binary_conv, check_input, head

CLIP = 1.25
# Blocks and channels of each section.
PLANS = {
    "small": ((4, 4, 4, 4), (32, 64, 256, 512)),
    "medium": ((4, 4, 4, 4), (64, 128, 256, 512)),
    "large": ((6, 8, 12, 6), (64, 128, 256, 512)),
}


def quicknet(
    size: str, input_shape: Sequence[int] = (3, 224, 224), classes: int = 1000
) -> nn.Module:
    """Builds a separable real stem, sections of binary blocks, and a real head.

    A block is ``x + batch_norm(relu(binary_conv(x)))`` with a border of +1, so that the whole
    block is one operator. Sections are joined by a blurred 2x2 max-pool and a 1x1 convolution.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``; sides are multiples of 32.
    Reference: Bannink et al., "Larq Compute Engine: Design, Benchmark, and Deploy
    State-of-the-Art Binarized Neural Networks", 2020, arXiv:2011.09398; layout of the larq zoo
    1.0 and later (``sota/quicknet.py``).
    """
    check_input(f"quicknet-{size}", input_shape, 32)
    counts, widths = PLANS[size]
    modules = _stem(input_shape[0], widths[0])
    inputs = widths[0]
    for count, width in zip(counts, widths, strict=True):
        if width != inputs:
            modules += _transition(inputs, width)
        modules += [_block(width) for _ in range(count)]
        inputs = width
    return nn.Sequential(*modules, nn.ReLU(), *head(inputs, classes))


def _stem(depth: int, channels: int) -> list[nn.Module]:
    quarter = channels // 4
    return [
        nn.Conv2d(depth, quarter, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(quarter),
        nn.ReLU(),
        nn.Conv2d(quarter, quarter, 3, stride=2, padding=1, groups=quarter, bias=False),
        nn.BatchNorm2d(quarter, affine=False),
        nn.Conv2d(quarter, channels, 1, bias=False),
        nn.BatchNorm2d(channels),
    ]


def _transition(inputs: int, outputs: int) -> list[nn.Module]:
    return [
        nn.ReLU(),
        nn.MaxPool2d(2, stride=1),
        BlurPool(inputs),
        nn.Conv2d(inputs, outputs, 1, bias=False),
        nn.BatchNorm2d(outputs),
    ]


def _block(channels: int) -> nn.Module:
    return Residual(
        nn.Sequential(
            binary_conv(channels, channels, clip=CLIP, pad_value=1),
            nn.ReLU(),
            nn.BatchNorm2d(channels),
        )
    )


for _size in PLANS:
    register(f"quicknet-{_size}")(partial(quicknet, _size))
