"""The step function with the straight-through estimator."""

from __future__ import annotations

from torch import Tensor

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers._base import Quantizer, register
from bnndeploy.quantizers._emit import sign
from bnndeploy.quantizers._gradient import pass_where


@register("ste_heaviside")
class SteHeaviside(Quantizer):
    r"""Binarises to {0, 1}; the gradient goes straight through inside ``[-clip, clip]``.

    Forward, element-wise: ``q(x) = 0 if x <= 0 else 1`` (NaN gives 1). Unlike a sign it still
    tells apart values that a ReLU has passed.
    Backward: ``dq/dx = 1 if |x| <= clip else 0``.

    Shape: ``(*)`` to ``(*)``, dtype kept. Deploys as ``(1 - Sign(-x)) / 2``.
    Reference: Geiger & Team, "Larq", 2020, JOSS 5(45), 1746 (its quantizer SteHeaviside).
    """

    def __init__(self, clip: float = 1.0) -> None:
        super().__init__()
        if not clip > 0:
            raise RecipeError(f"ste_heaviside: clip must be positive, got {clip}")
        self.clip = clip

    def forward(self, x: Tensor) -> Tensor:
        return pass_where(x, 0.5 - 0.5 * sign(-x.detach()), x.detach().abs() <= self.clip)

    def extra_repr(self) -> str:
        return f"clip={self.clip}"
