"""DoReFa-Net's k-bit activations."""

from __future__ import annotations

from torch import Tensor

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers._base import Quantizer, register
from bnndeploy.quantizers._gradient import pass_where


@register("dorefa_activation")
class DorefaActivation(Quantizer):
    r"""Maps activations to 2^k levels spread evenly over [0, 1].

    Forward, element-wise, with n = 2^k - 1: ``q(x) = round(n clip(x, 0, 1)) / n``, halves to
    even (NaN stays NaN).
    Backward: ``dq/dx = 1 if 0 <= x <= 1 else 0``.

    Shape: ``(*)`` to ``(*)``, dtype kept. Deploys as k bit planes, each a packed product, in front
    of binary or ternary weights and for k up to 4; elsewhere as standard operators (Clip, Round).
    Reference: Zhou et al., "DoReFa-Net", 2016, arXiv:1606.06160.
    """

    def __init__(self, bits: int = 2) -> None:
        super().__init__()
        if not 1 <= bits <= 16:
            raise RecipeError(f"dorefa_activation: bits must lie in 1..16, got {bits}")
        self.k = bits

    def forward(self, x: Tensor) -> Tensor:
        steps = 2**self.k - 1
        latent = x.detach()
        value = (latent.clamp(0, 1) * steps).round() / steps
        return pass_where(x, value, (latent >= 0) & (latent <= 1))

    def extra_repr(self) -> str:
        return f"bits={self.k}"
