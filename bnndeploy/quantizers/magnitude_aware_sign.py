"""Binary weights scaled by their mean magnitude."""

from __future__ import annotations

from torch import Tensor

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers._base import WeightCodes, WeightQuantizer, register
from bnndeploy.quantizers._emit import sign
from bnndeploy.quantizers._gradient import pass_where
from bnndeploy.quantizers._scales import check_granularity, mean_of


@register("magnitude_aware_sign")
@register("xnor_scale")
class MagnitudeAwareSign(WeightQuantizer):
    r"""Binarises weights to {-a, +a}, a being the mean magnitude of a filter or of the tensor.

    Forward: codes ``+1 if w >= 0 else -1``, scale ``a = mean|w|``: the scale that brings the
    binary weight closest to the real one.
    Backward: the codes pass their gradient where ``|w| <= clip``. The scale is a constant, or
    with ``scale_gradient`` passes its own: ``da/dw = sign(w) / n``, which is XNOR-Net's rule.

    Shape: ``(O, *)`` to codes ``(O, *)`` and scale ``(O,)`` or ``(1,)``. Deploys as one bit per
    weight and one float per filter or tensor.
    Reference: Rastegari et al., "XNOR-Net", 2016, arXiv:1603.05279; Martinez et al., "Training
    Binary Neural Networks with Real-to-Binary Convolutions", 2020, arXiv:2003.11535.
    """

    bits = 1

    def __init__(
        self, granularity: str = "filter", clip: float = 1.0, scale_gradient: bool = False
    ) -> None:
        super().__init__()
        if not clip > 0:
            raise RecipeError(f"magnitude_aware_sign: clip must be positive, got {clip}")
        self.granularity = check_granularity(granularity)
        self.clip = clip
        self.latent_clip = clip
        self.scale_gradient = scale_gradient

    def codes_and_scales(self, weight: Tensor) -> WeightCodes:
        codes = pass_where(weight, sign(weight.detach()), weight.detach().abs() <= self.clip)
        measured = weight if self.scale_gradient else weight.detach()
        return WeightCodes(codes, mean_of(measured.abs(), self.granularity))

    def extra_repr(self) -> str:
        return (
            f"granularity={self.granularity!r}, clip={self.clip}, "
            f"scale_gradient={self.scale_gradient}"
        )
