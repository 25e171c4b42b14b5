"""Powers of two in a code of k bits."""

from __future__ import annotations

from torch import Tensor

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers._base import Quantizer, register
from bnndeploy.quantizers._gradient import pass_where
from bnndeploy.quantizers.logarithmic import nearest_power_of_two


@register("power_of_two")
class PowerOfTwo(Quantizer):
    r"""Maps to 0 and +-2^e with the exponents that a code of ``bits`` bits can tell apart.

    Forward, element-wise, with ``e_min = e_max - 2^(bits-1) + 2``: the nearest power of two in
    the logarithm, at most ``2^e_max``; 0 below ``2^(e_min - 1/2)``. NaN stays NaN.
    Backward: ``dq/dx = 1 if |x| <= 2^(e_max + 1/2) else 0``.

    Shape: ``(*)`` to ``(*)``. Deploys as real weights, or as standard operators.
    Reference: Zhou et al., "Incremental Network Quantization", 2017, arXiv:1702.03044.
    """

    def __init__(self, bits: int = 4, max_exponent: int = 0) -> None:
        super().__init__()
        if not 2 <= bits <= 7:
            raise RecipeError(f"power_of_two: bits must lie in 2..7, got {bits}")
        if not -32 <= max_exponent <= 32:
            raise RecipeError(f"power_of_two: max_exponent must lie in -32..32, got {max_exponent}")
        self.k = bits
        self.max_exponent = max_exponent
        self.largest = 2.0**max_exponent
        self.smallest = 2.0 ** (max_exponent - 2 ** (bits - 1) + 2)

    def forward(self, x: Tensor) -> Tensor:
        latent = x.detach()
        power = nearest_power_of_two(latent).clamp(-self.largest, self.largest)
        value = power.masked_fill(power.abs() < self.smallest, 0)
        return pass_where(x, value, latent.abs() <= self.largest * 2**0.5)

    def extra_repr(self) -> str:
        return f"bits={self.k}, max_exponent={self.max_exponent}"
