"""The sign function with the gradient of BNN+'s SignSwish."""

from __future__ import annotations

import torch
from torch import Tensor

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers._base import Quantizer, register
from bnndeploy.quantizers._emit import sign
from bnndeploy.quantizers._gradient import pass_scaled

# Beyond this the slope is 0 in float32, and infinity times 0 would be NaN.
_FAR = 200.0


@register("swish_sign")
class SwishSign(Quantizer):
    r"""Binarises to {-1, +1}; the gradient is that of a smooth function close to the sign.

    Forward, element-wise: ``q(x) = +1 if x >= 0 else -1`` (NaN gives -1).
    Backward: ``dq/dx = beta * (2 - z * tanh(z / 2)) / (1 + cosh(z))`` with ``z = beta * x``.
    It is ``beta`` at 0 and slightly negative outside, so far latents drift back.

    Shape: ``(*)`` to ``(*)``, dtype kept. Deploys as one bit per value.
    Reference: Darabi et al., "BNN+: Improved Binary Network Training", 2018, arXiv:1812.11800.
    """

    bits = 1

    def __init__(self, beta: float = 5.0) -> None:
        super().__init__()
        if not beta > 0:
            raise RecipeError(f"swish_sign: beta must be positive, got {beta}")
        self.beta = beta

    def forward(self, x: Tensor) -> Tensor:
        z = (self.beta * x.detach()).clamp(-_FAR, _FAR)
        # 1 / (1 + cosh z) = 2 sigmoid(z) sigmoid(-z), which does not overflow.
        bell = 2 * torch.sigmoid(z) * torch.sigmoid(-z)
        slope = self.beta * (2 - z * torch.tanh(z / 2)) * bell
        return pass_scaled(x, sign(x), slope.nan_to_num(nan=0.0))

    def extra_repr(self) -> str:
        return f"beta={self.beta}"
