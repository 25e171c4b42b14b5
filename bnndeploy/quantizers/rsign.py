"""The sign function with a learned threshold per channel."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers._base import Quantizer, register
from bnndeploy.quantizers.approx_sign import ApproxSign


@register("rsign")
class RSign(Quantizer):
    r"""Binarises to {-1, +1} at a learned threshold of each channel.

    Forward: ``q(x) = +1 if x - a >= 0 else -1`` with the threshold a of the value's channel.
    Backward: ``dq/dx = 2 - 2|x - a| if |x - a| <= 1 else 0``, and ``dq/da = -dq/dx``, summed
    over the channel.

    Shape: ``(N, C, *)`` to ``(N, C, *)`` with channels on ``axis``; one threshold serves all
    where ``channels`` is 1. Deploys as one bit per value: a is the threshold of PackBits.
    Reference: Liu et al., "ReActNet", 2020, arXiv:2003.03488.
    """

    bits = 1

    def __init__(self, channels: int = 1, axis: int = 1) -> None:
        super().__init__()
        if channels < 1:
            raise RecipeError(f"rsign: channels must be at least 1, got {channels}")
        self.axis = axis
        self.threshold = nn.Parameter(torch.zeros(channels))
        self.sign = ApproxSign()

    def forward(self, x: Tensor) -> Tensor:
        shape = [1] * x.ndim
        shape[self.axis] = -1
        y: Tensor = self.sign(x - self.threshold.reshape(shape))
        return y

    def extra_repr(self) -> str:
        return f"channels={self.threshold.numel()}, axis={self.axis}"
