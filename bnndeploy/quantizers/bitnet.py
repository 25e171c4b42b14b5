"""BitNet b1.58's ternary weights."""

from __future__ import annotations

from torch import Tensor

from bnndeploy.quantizers._base import WeightCodes, WeightQuantizer, register
from bnndeploy.quantizers._gradient import pass_scaled

_SMALLEST_SCALE = 1e-5


@register("bitnet")
class Bitnet(WeightQuantizer):
    r"""Maps weights to {-a, 0, +a}, a being the mean magnitude of the tensor.

    Forward: ``a = max(mean|w|, 1e-5)``, codes ``clip(round(w / a), -1, 1)``, halves to even,
    scale a; so weights up to half the mean magnitude become 0.
    Backward: the effective weight ``codes * a`` passes its gradient unchanged; a is a constant.

    Shape: ``(O, *)`` to codes ``(O, *)`` and scale ``(1,)``. Deploys as two bits per weight.
    Reference: Ma et al., "The Era of 1-bit LLMs", 2024, arXiv:2402.17764.
    """

    bits = 2

    def codes_and_scales(self, weight: Tensor) -> WeightCodes:
        latent = weight.detach()
        scale = latent.abs().mean().reshape(1).clamp(min=_SMALLEST_SCALE)
        codes = (latent / scale).round().clamp(-1, 1)
        # The product with the scale comes later and brings the gradient back to 1.
        return WeightCodes(pass_scaled(weight, codes, (1 / scale).expand_as(codes)), scale)
