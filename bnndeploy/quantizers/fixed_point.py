"""Fixed-point numbers with four ways of rounding."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers._base import Quantizer, WeightCodes, register
from bnndeploy.quantizers._gradient import pass_where

ROUNDINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "zero": torch.trunc,
    "down": torch.floor,
    "nearest": torch.round,
    "stochastic": lambda x: torch.floor(x + torch.rand_like(x)),
}


@register("fixed_point")
class FixedPoint(Quantizer):
    r"""Maps to two's-complement fixed-point numbers of ``size`` bits, ``precision`` of a fraction.

    Forward, element-wise, with ``u = 2^-precision``: ``q(x) = u clip(round(x / u), -2^(size-1),
    2^(size-1) - 1)`` (NaN stays NaN). ``rounding``: ``zero`` truncates, ``down`` floors,
    ``nearest`` takes the nearest (halves to even), ``stochastic`` rounds up with the
    probability of the fraction, so that the mean is x; at eval it is ``nearest``.
    Backward: ``dq/dx = 1`` where ``x / u`` lies in the range of codes, else 0.

    Shape: ``(*)`` to ``(*)``. Deploys as real weights, or as standard operators.
    Reference: Loroch et al., "TensorQuant", 2017, arXiv:1710.05758; Gupta et al., "Deep
    Learning with Limited Numerical Precision", 2015, arXiv:1502.02551 (stochastic rounding).
    """

    def __init__(self, size: int = 8, precision: int = 4, rounding: str = "nearest") -> None:
        super().__init__()
        if not 2 <= size <= 24:
            raise RecipeError(
                f"fixed_point: size must lie in 2..24 (float32 holds no more), got {size}"
            )
        if not 0 <= precision <= 64:
            raise RecipeError(f"fixed_point: precision must lie in 0..64, got {precision}")
        if rounding not in ROUNDINGS:
            raise RecipeError(
                f"fixed_point: got rounding {rounding!r}, expected one of {', '.join(ROUNDINGS)}"
            )
        self.size = size
        self.precision = precision
        self.rounding = rounding
        self.low = -(2 ** (size - 1))
        self.high = 2 ** (size - 1) - 1

    def forward(self, x: Tensor) -> Tensor:
        return self._codes(x) * 2.0**-self.precision

    def codes_and_scales(self, weight: Tensor) -> WeightCodes:
        return WeightCodes(self._codes(weight), weight.new_tensor([2.0**-self.precision]))

    def _codes(self, x: Tensor) -> Tensor:
        scaled = x * 2.0**self.precision
        rounding = self.rounding
        if rounding == "stochastic" and not self.training:
            rounding = "nearest"
        latent = scaled.detach()
        codes = ROUNDINGS[rounding](latent).clamp(self.low, self.high)
        return pass_where(scaled, codes, (latent >= self.low) & (latent <= self.high))

    def extra_repr(self) -> str:
        return f"size={self.size}, precision={self.precision}, rounding={self.rounding!r}"
