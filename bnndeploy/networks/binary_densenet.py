"""BinaryDenseNet: every binary convolution appends its channels to what it read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from torch import nn

from bnndeploy.networks._base import register
from bnndeploy.networks._parts import Dense, binary_conv, check_input, head, is_small, stem

GROWTH = 64
CLIP = 1.3
# Dense layers of each block, and by how much each transition divides the channels.
PLANS = {
    28: ((6, 6, 6, 5), (2.7, 2.7, 2.2)),
    37: ((6, 8, 12, 6), (3.3, 3.3, 4.0)),
    45: ((6, 12, 14, 8), (2.7, 3.3, 4.0)),
}


def binary_densenet(
    depth: int, input_shape: Sequence[int] = (3, 224, 224), classes: int = 1000
) -> nn.Module:
    """Builds a real stem, four blocks of dense layers with real transitions, and a real head.

    A dense layer is batch-norm, sign and a 3x3 binary convolution with 64 filters.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``; sides are multiples of 32, or of 8 below
    50 pixels, where the stem keeps the map.
    Reference: Bethge et al., "Back to Simplicity: How to Train Accurate BNNs from Scratch?",
    2019, arXiv:1906.08637; layout of the larq zoo (``literature/densenet.py``).
    """
    small = is_small(input_shape)
    check_input(f"binary-densenet-{depth}", input_shape, 8 if small else 32)
    counts, reductions = PLANS[depth]
    channels = GROWTH
    modules = stem(input_shape[0], channels, nn.ReLU(), small=small)
    for count, reduction in zip(counts, (*reductions, None), strict=True):
        for _ in range(count):
            modules.append(
                Dense(
                    nn.Sequential(
                        nn.BatchNorm2d(channels), binary_conv(channels, GROWTH, clip=CLIP)
                    )
                )
            )
            channels += GROWTH
        modules.append(nn.BatchNorm2d(channels))
        if reduction is not None:
            reduced = round(channels // reduction / 32) * 32
            modules += [
                nn.MaxPool2d(2),
                nn.ReLU(),
                nn.Conv2d(channels, reduced, 1, bias=False),
            ]
            channels = reduced
    return nn.Sequential(*modules, nn.ReLU(), *head(channels, classes))


for _depth in PLANS:
    register(f"binary-densenet-{_depth}")(partial(binary_densenet, _depth))
