"""The sign function with the triangular gradient of Bi-Real Net."""

from __future__ import annotations

from torch import Tensor

from bnndeploy.quantizers._base import Quantizer, register
from bnndeploy.quantizers._emit import sign
from bnndeploy.quantizers._gradient import pass_scaled


@register("approx_sign")
class ApproxSign(Quantizer):
    r"""Binarises to {-1, +1}; the gradient is that of a piecewise parabola close to the sign.

    Forward, element-wise: ``q(x) = +1 if x >= 0 else -1`` (NaN gives -1).
    Backward: ``dq/dx = 2 - 2|x| if |x| <= 1 else 0``.

    Shape: ``(*)`` to ``(*)``, dtype kept. Deploys as one bit per value.
    Reference: Liu et al., "Bi-Real Net", 2018, arXiv:1808.00278.
    """

    bits = 1
    latent_clip = 1.0

    def forward(self, x: Tensor) -> Tensor:
        return pass_scaled(x, sign(x), triangle(x))


def triangle(x: Tensor) -> Tensor:
    """Returns ``2 - 2|x|`` where that is positive, else 0; NaN gives 0."""
    return (2 - 2 * x.detach().abs()).clamp(min=0).nan_to_num(nan=0.0)
