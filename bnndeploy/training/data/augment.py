"""Augments whole batches of uint8 pixels at once; every draw comes from the given generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from bnndeploy.registry import Registry

Augment = Callable[[Tensor, torch.Generator], Tensor]
_PAD = 4  # He et al. 2015: pad 4 on each side, then crop at random


def flip(pixels: Tensor, generator: torch.Generator) -> Tensor:
    """Mirrors each image left to right with probability one half."""
    mirrored = torch.rand(len(pixels), generator=generator) < 0.5
    return torch.where(mirrored.view(-1, 1, 1, 1), pixels.flip(3), pixels)


def crop(pixels: Tensor, generator: torch.Generator) -> Tensor:
    """Pads 4 zeros on each side and crops each image back at a random place."""
    return _shift(pixels, _PAD, generator)


def shift(pixels: Tensor, generator: torch.Generator) -> Tensor:
    """Moves each image by at most one pixel, for images as small as the 8×8 digits."""
    return _shift(pixels, 1, generator)


def _shift(pixels: Tensor, reach: int, generator: torch.Generator) -> Tensor:
    n, channels, height, width = pixels.shape
    padded = F.pad(pixels, [reach] * 4)
    offsets = torch.randint(0, 2 * reach + 1, (2, n, 1), generator=generator)
    rows = (offsets[0] + torch.arange(height)).view(n, 1, height, 1)
    columns = (offsets[1] + torch.arange(width)).view(n, 1, 1, width)
    image, channel = torch.arange(n).view(n, 1, 1, 1), torch.arange(channels).view(1, -1, 1, 1)
    return padded[image, channel, rows, columns]


_REGISTRY: Registry[Tensor] = Registry("augmentation")
for _augment in (flip, crop, shift):
    _REGISTRY.register(_augment.__name__)(_augment)
names = _REGISTRY.names


def compose(wanted: Sequence[str]) -> Augment | None:
    """Chains the named augmentations; none gives None."""
    if not wanted:
        return None
    steps = [_REGISTRY.builder(name) for name in wanted]

    def augment(pixels: Tensor, generator: torch.Generator) -> Tensor:
        for step in steps:
            pixels = step(pixels, generator)
        return pixels

    return augment
