"""DoReFa-Net's k-bit weights."""

from __future__ import annotations

from torch import Tensor

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers._base import WeightCodes, WeightQuantizer, register
from bnndeploy.quantizers._emit import sign
from bnndeploy.quantizers._gradient import pass_gradient


@register("dorefa_weight")
class DorefaWeight(WeightQuantizer):
    r"""Maps weights to 2^k levels spread evenly over [-1, 1]; 1 bit gives scaled signs.

    Forward with n = 2^k - 1: ``u = tanh(w) / (2 max|tanh(w)|) + 1/2``, codes the odd numbers
    ``2 round(n u) - n``, scale ``1 / n``. For k = 1: codes ``sign(w)``, scale ``mean|w|``.
    Backward: rounding and sign pass their gradient, the rest follows the chain rule; the scale
    of k = 1 is a constant, and the effective weight passes its gradient unchanged.

    Shape: ``(O, *)`` to codes ``(O, *)`` and scale ``(1,)``. Deploys as one bit per weight for
    k = 1, otherwise as real weights.
    Reference: Zhou et al., "DoReFa-Net", 2016, arXiv:1606.06160.
    """

    def __init__(self, bits: int = 1) -> None:
        super().__init__()
        if not 1 <= bits <= 8:
            raise RecipeError(f"dorefa_weight: bits must lie in 1..8, got {bits}")
        self.k = bits
        self.bits = 1 if bits == 1 else None

    def codes_and_scales(self, weight: Tensor) -> WeightCodes:
        if self.k == 1:
            scale = weight.detach().abs().mean().reshape(1).clamp(min=1e-12)
            # The product with the scale comes later and brings the gradient back to 1.
            return WeightCodes(pass_gradient(weight / scale, sign(weight.detach())), scale)
        steps = 2**self.k - 1
        bounded = weight.tanh()
        unit = bounded / (2 * bounded.abs().max().clamp(min=1e-12)) + 0.5
        level = steps * unit
        codes = 2 * pass_gradient(level, level.detach().round()) - steps
        return WeightCodes(codes, weight.new_tensor([1 / steps]))

    def extra_repr(self) -> str:
        return f"bits={self.k}"
