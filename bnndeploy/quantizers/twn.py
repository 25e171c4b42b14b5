"""Ternary weights with the threshold and the scale that fit them best."""

from __future__ import annotations

import torch
from torch import Tensor

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers._base import WeightCodes, WeightQuantizer, register
from bnndeploy.quantizers._gradient import pass_where
from bnndeploy.quantizers._scales import check_granularity, mean_of, per_filter


@register("twn")
class Twn(WeightQuantizer):
    r"""Maps weights to {-alpha, 0, +alpha}; threshold and scale follow the latent weight.

    Forward: ``D = factor * mean|w|``, codes ``+1 if w > D, -1 if w < -D, else 0``, scale
    ``alpha = mean of |w| where |w| > D``, 0 if there is none. Threshold and scale are one per
    tensor or one per filter.
    Backward: the codes pass their gradient where ``|w| <= 1``; alpha and D are constants.

    Shape: ``(O, *)`` to codes ``(O, *)`` and scale ``(1,)`` or ``(O,)``. Deploys as two bits
    per weight.
    Reference: Li et al., "Ternary Weight Networks", 2016, arXiv:1605.04711 (factor 0.7).
    """

    bits = 2
    latent_clip = 1.0

    def __init__(
        self, factor: float = 0.7, scaled: bool = True, granularity: str = "tensor"
    ) -> None:
        super().__init__()
        if not factor >= 0:
            raise RecipeError(f"twn: factor must be at least 0, got {factor}")
        self.factor = factor
        self.scaled = scaled
        self.granularity = check_granularity(granularity)

    def codes_and_scales(self, weight: Tensor) -> WeightCodes:
        magnitude = weight.detach().abs()
        threshold = self.factor * per_filter(mean_of(magnitude, self.granularity), weight)
        kept = magnitude > threshold
        codes = pass_where(weight, weight.detach().sign() * kept, magnitude <= 1)
        if not self.scaled:
            return WeightCodes(codes)
        share = mean_of(kept.to(weight.dtype), self.granularity)
        total = mean_of(magnitude * kept, self.granularity)
        return WeightCodes(codes, torch.where(share > 0, total / share, 0))

    def extra_repr(self) -> str:
        return f"factor={self.factor}, scaled={self.scaled}, granularity={self.granularity!r}"
