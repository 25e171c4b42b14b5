"""The three-level sign with a fixed threshold."""

from __future__ import annotations

import torch
from torch import Tensor

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers._base import Quantizer, register
from bnndeploy.quantizers._emit import ternary
from bnndeploy.quantizers._gradient import pass_where


@register("ternary")
@register("ste_tern")
class Ternary(Quantizer):
    r"""Maps to {-1, 0, +1} by a fixed threshold; for activations and for weights.

    Forward, element-wise: ``q(x) = +1 if x > t, -1 if x < -t, else 0`` (NaN gives 0).
    Backward: ``dq/dx = 1 if |x| <= clip else 0``.

    Shape: ``(*)`` to ``(*)``, dtype kept. Deploys as two bits per weight; as an activation it is
    the operator Ternary. Weights with a threshold that follows them: ``twn``, ``ttq``.
    Reference: Li et al., "Ternary Weight Networks", 2016, arXiv:1605.04711.
    """

    bits = 2
    threshold: Tensor

    def __init__(self, threshold: float = 0.05, clip: float = 1.0) -> None:
        super().__init__()
        if not threshold >= 0:
            raise RecipeError(f"ternary: threshold must be at least 0, got {threshold}")
        if not clip > threshold:
            raise RecipeError(
                f"ternary: got clip {clip} and threshold {threshold}, expected clip above "
                "the threshold, or no value could ever leave 0"
            )
        self.clip = clip
        self.latent_clip = clip
        # A tensor, because the exported operator takes it as an input; a constant of the recipe.
        self.register_buffer("threshold", torch.tensor([threshold]), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return pass_where(x, ternary(x, self.threshold), x.detach().abs() <= self.clip)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold.item():g}, clip={self.clip}"
