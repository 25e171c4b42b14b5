"""Trained ternary quantization: ternary weights with two learned scales."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers._base import WeightCodes, WeightQuantizer, register
from bnndeploy.quantizers._emit import mask

# The factor on the summed scale gradients, N being the number of weights.
SCALE_GRADIENTS: dict[str, Callable[[int], float]] = {
    "sum": lambda n: 1.0,
    "mean": lambda n: 1.0 / n,
    "1/sqrt(n)": lambda n: 1.0 / math.sqrt(n),
}
SMALLEST_SCALE = 1e-3


@register("ttq")
class Ttq(WeightQuantizer):
    r"""Maps weights to {-w_neg, 0, +w_pos}; both scales are learned.

    Forward: ``+w_pos if w > D, -w_neg if w < -D, else 0`` with ``D = threshold * max|w|``, or,
    given ``sparsity``, the D that maps this share of the weights to 0. ``|w| = D`` gives 0.
    Backward, with g the gradient of the effective weight and P, N the weights above and below:
    ``dw_pos = sum_P g``, ``dw_neg = -sum_N g``, and for the latent weight ``g * w_pos`` on P,
    ``g * w_neg`` on N, ``g`` elsewhere. (The paper's printed equation 7 lacks the minus.)

    ``scale_gradient`` chooses the factor on the scales' gradients: ``"sum"`` 1, ``"mean"`` 1/n,
    ``"1/sqrt(n)"``, n being the number of weights. Scales stay positive
    (:func:`bnndeploy.layers.clip_latents`); they want no weight decay. Latents are not clipped.

    Shape: ``(O, *)`` to codes ``(O, *)`` and scales ``(1,)``. Deploys as two bits per weight.
    Reference: Zhu et al., "Trained Ternary Quantization", 2016, arXiv:1612.01064.
    """

    bits = 2
    two_scales = True

    def __init__(
        self, threshold: float = 0.05, sparsity: float | None = None, scale_gradient: str = "sum"
    ) -> None:
        super().__init__()
        if not 0 <= threshold < 1:
            raise RecipeError(f"ttq: threshold must lie in [0, 1), got {threshold}")
        if sparsity is not None and not 0 <= sparsity < 1:
            raise RecipeError(f"ttq: sparsity must lie in [0, 1), got {sparsity}")
        if scale_gradient not in SCALE_GRADIENTS:
            raise RecipeError(
                f"ttq: got scale_gradient {scale_gradient!r}, expected one of "
                f"{', '.join(SCALE_GRADIENTS)}"
            )
        self.threshold = threshold
        self.sparsity = sparsity
        self.scale_gradient = scale_gradient
        self.w_pos = nn.Parameter(torch.ones(1))
        self.w_neg = nn.Parameter(torch.ones(1))

    @torch.no_grad()
    def attach(self, weight: Tensor) -> None:
        """Starts each scale at the mean magnitude of the weights that it stands for."""
        device, dtype = weight.device, weight.dtype
        for name, kept in zip(("w_pos", "w_neg"), self._masks(weight), strict=True):
            mean = (weight.abs() * kept).sum() / kept.sum().clamp(min=1)
            value = mean.clamp(min=SMALLEST_SCALE).reshape(1).to(device, dtype)
            setattr(self, name, nn.Parameter(value))

    @torch.no_grad()
    def constrain(self) -> None:
        self.w_pos.clamp_(min=SMALLEST_SCALE)
        self.w_neg.clamp_(min=SMALLEST_SCALE)

    def codes_and_scales(self, weight: Tensor) -> WeightCodes:
        """Returns codes and scales as deployed; the latent's gradient comes from ``forward``."""
        planes = self._masks(weight)
        codes = planes[0] - planes[1]
        return WeightCodes(codes, w_pos=self.w_pos, w_neg=self.w_neg, planes=planes)

    def forward(self, x: Tensor) -> Tensor:
        factor = SCALE_GRADIENTS[self.scale_gradient](x.numel())
        effective: Tensor = _Effective.apply(x, self.w_pos, self.w_neg, *self._masks(x), factor)
        return effective

    def _masks(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        latent = weight.detach()
        bound = self._bound(latent.abs().flatten())
        return mask(torch.gt, latent, bound), mask(torch.lt, latent, -bound)

    def _bound(self, magnitude: Tensor) -> Tensor:
        if self.sparsity is None:
            return self.threshold * magnitude.max()
        zeros = math.ceil(self.sparsity * magnitude.numel())
        return magnitude.kthvalue(zeros).values if zeros else magnitude.new_zeros(())

    def extra_repr(self) -> str:
        share = f"threshold={self.threshold}" if self.sparsity is None else f"{self.sparsity=}"
        return f"{share.removeprefix('self.')}, scale_gradient={self.scale_gradient!r}"


class _Effective(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        w: Tensor,
        w_pos: Tensor,
        w_neg: Tensor,
        above: Tensor,
        below: Tensor,
        factor: float,
    ) -> Tensor:
        ctx.save_for_backward(w_pos, w_neg, above, below)
        ctx.factor = factor
        return (above * w_pos).addcmul_(below, w_neg, value=-1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        w_pos, w_neg, above, below = ctx.saved_tensors
        g = grads[0]
        # The magnitude: a factor of the wrong sign would drive the latent away from its goal.
        factor = (1 - above).sub_(below)
        factor.addcmul_(above, w_pos.abs()).addcmul_(below, w_neg.abs())
        latent = factor.mul_(g)
        d_pos = (g * above).sum().reshape(1) * ctx.factor
        d_neg = -(g * below).sum().reshape(1) * ctx.factor
        return latent, d_pos, d_neg, None, None, None
