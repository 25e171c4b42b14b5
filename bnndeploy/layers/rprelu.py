"""The activation of ReActNet: a PReLU whose corner each channel moves where it wants."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bnndeploy.errors import RecipeError


class RPReLU(nn.Module):
    r"""Shifts, bends and shifts back: ``y = prelu(x - shift_in) + shift_out``, per channel.

    ``prelu(v) = v if v >= 0 else slope * v``. The shifts start at 0 and the slope at 0.25.

    Shape: ``(N, C, *)`` to ``(N, C, *)``. Deploys inside the epilogue of the product before it:
    bias, slope, shift.
    Reference: Liu et al., "ReActNet", 2020, arXiv:2003.03488.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        if channels < 1:
            raise RecipeError(f"RPReLU: channels must be at least 1, got {channels}")
        self.shift_in = nn.Parameter(torch.zeros(channels))
        self.slope = nn.Parameter(torch.full((channels,), 0.25))
        self.shift_out = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        shape = (-1, *(1,) * (x.ndim - 2))
        return F.prelu(x - self.shift_in.view(shape), self.slope) + self.shift_out.view(shape)

    def extra_repr(self) -> str:
        return f"channels={self.slope.numel()}"
