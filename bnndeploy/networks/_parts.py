"""Pieces that several networks are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantConv2d
from bnndeploy.quantizers import get

# Below this many pixels a side, a network made for ImageNet starts with a 3x3 convolution that
# keeps the map instead of quartering it: the rule of the larq zoo.
SMALL_SIDE = 50


class Residual(nn.Module):
    """Adds a shortcut to a body: ``body(x) + shortcut(x)``, by default ``body(x) + x``."""

    def __init__(self, body: nn.Module, shortcut: nn.Module | None = None) -> None:
        super().__init__()
        self.body = body
        self.shortcut = nn.Identity() if shortcut is None else shortcut

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.body(x) + self.shortcut(x)
        return y


class Dense(nn.Module):
    """Appends the channels of a body to its input: ``(N, C, H, W)`` to ``(N, C + G, H, W)``."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.body(x)], dim=1)


class PadChannels(nn.Module):
    """Surrounds the channels with zero channels: ``(N, C, H, W)`` to ``(N, C + 2k, H, W)``."""

    def __init__(self, each_side: int) -> None:
        super().__init__()
        self.each_side = each_side

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x, (0, 0, 0, 0, self.each_side, self.each_side))


class BlurPool(nn.Conv2d):
    """Halves the map with a fixed 3x3 binomial filter on each channel.

    Shape: ``(N, C, H, W)`` to ``(N, C, ceil(H / 2), ceil(W / 2))``.
    Reference: Zhang, "Making Convolutional Networks Shift-Invariant Again", 2019,
    arXiv:1904.11486.
    """

    def __init__(self, channels: int) -> None:
        super().__init__(channels, channels, 3, stride=2, padding=1, groups=channels, bias=False)
        self.weight.requires_grad_(False)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        binomial = torch.tensor([1.0, 2.0, 1.0], device=self.weight.device)
        self.weight.copy_(torch.outer(binomial, binomial) / 16)


def binary_conv(
    inputs: int,
    outputs: int,
    kernel: int = 3,
    stride: int = 1,
    *,
    clip: float = 1.0,
    pad_value: int = 0,
) -> QuantConv2d:
    """Builds a 1-bit convolution that keeps the map but for its stride, ``ste_sign`` both sides.

    Args:
        inputs: Channels of the input.
        outputs: Channels of the output.
        kernel: Side of the kernel, odd.
        stride: Step in both directions.
        clip: Bound of the gradients of both signs, and of the latent weights.
        pad_value: What the border holds.
    """
    return QuantConv2d(
        inputs,
        outputs,
        kernel,
        stride,
        padding=kernel // 2,
        bias=False,
        input_quantizer=get("ste_sign", clip=clip),
        weight_quantizer=get("ste_sign", clip=clip),
        pad_value=pad_value,
    )


def stem(depth: int, channels: int, *after_norm: nn.Module, small: bool) -> list[nn.Module]:
    """Builds a network's real first layers: 7x7 convolution, batch-norm, 3x3 max-pooling.

    Args:
        depth: Channels of the image.
        channels: Channels of the output.
        after_norm: Modules between the batch-norm and the pooling.
        small: Take a 3x3 convolution of stride 1 and no pooling.
    """
    if small:
        first = nn.Conv2d(depth, channels, 3, padding=1, bias=False)
        return [first, nn.BatchNorm2d(channels), *after_norm]
    return [
        nn.Conv2d(depth, channels, 7, stride=2, padding=3, bias=False),
        nn.BatchNorm2d(channels),
        *after_norm,
        nn.MaxPool2d(3, stride=2, padding=1),
    ]


def head(channels: int, classes: int) -> list[nn.Module]:
    """Builds a real classifier on the mean of each channel."""
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]


def pooled_shortcut(inputs: int, outputs: int) -> nn.Module:
    """Builds the real shortcut past a strided block: 2x2 mean, 1x1 convolution, batch-norm."""
    return nn.Sequential(
        nn.AvgPool2d(2),
        nn.Conv2d(inputs, outputs, 1, bias=False),
        nn.BatchNorm2d(outputs),
    )


def stages(
    counts: Sequence[int],
    widths: Sequence[int],
    block: Callable[[int, int], Iterable[nn.Module]],
) -> list[nn.Module]:
    """Builds residual stages of ``counts[i]`` blocks with ``widths[i]`` channels.

    ``block(inputs, outputs)`` builds one block; it halves the map where the widths differ.
    """
    modules: list[nn.Module] = []
    inputs = widths[0]
    for count, width in zip(counts, widths, strict=True):
        for _ in range(count):
            modules += block(inputs, width)
            inputs = width
    return modules


def is_small(input_shape: Sequence[int]) -> bool:
    """Says whether the network takes the stem for small images."""
    return min(input_shape[1:]) < SMALL_SIDE


def check_input(network: str, input_shape: Sequence[int], multiple: int) -> None:
    """Refuses an input whose sides the network cannot halve as often as it has to.

    Raises:
        RecipeError: If the shape is not ``(C, H, W)`` with sides that are multiples.
    """
    fits = len(input_shape) == 3 and all(
        side > 0 and side % multiple == 0 for side in input_shape[1:]
    )
    if not fits or input_shape[0] < 1:
        raise RecipeError(
            f"{network}: got input_shape {tuple(input_shape)}, expected (channels, height, width) "
            f"with sides that are multiples of {multiple}; resize the images"
        )
