"""Values below a threshold set to zero."""

from __future__ import annotations

from torch import Tensor

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers._base import Quantizer, register
from bnndeploy.quantizers._gradient import pass_gradient


@register("sparse")
class Sparse(Quantizer):
    r"""Sets small values to zero and keeps the others as they are.

    Forward, element-wise: ``q(x) = 0 if |x| < threshold else x`` (NaN stays NaN).
    Backward: ``dq/dx = 1``, also where the value is 0, so that a weight can come back.

    Shape: ``(*)`` to ``(*)``. Deploys as real weights, or as standard operators.
    Reference: Loroch et al., "TensorQuant", 2017, arXiv:1710.05758.
    """

    def __init__(self, threshold: float = 0.05) -> None:
        super().__init__()
        if not threshold >= 0:
            raise RecipeError(f"sparse: threshold must be at least 0, got {threshold}")
        self.threshold = threshold

    def forward(self, x: Tensor) -> Tensor:
        latent = x.detach()
        return pass_gradient(x, latent.masked_fill(latent.abs() < self.threshold, 0))

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}"
