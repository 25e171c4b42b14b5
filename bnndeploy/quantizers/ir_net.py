"""IR-Net's balanced and standardised binary weights."""

from __future__ import annotations

import torch
from torch import Tensor

from bnndeploy.quantizers._base import WeightCodes, WeightQuantizer, register
from bnndeploy.quantizers.ede_sign import EdeSign

_SMALLEST_DEVIATION = 1e-12


@register("ir_net")
class IrNet(WeightQuantizer):
    r"""Binarises each filter around its own mean, scaled by a power of two (Libra-PB).

    Forward, per filter: ``z = (w - mean(w)) / std(w)``, codes ``+1 if z >= 0 else -1``, scale
    ``2^round(log2(mean|z|))``. Balancing makes both codes equally frequent.
    Backward: the codes' gradient is that of ``ede_sign`` at z and goes on through the
    standardisation; the scale is a constant.

    Shape: ``(O, *)`` to codes ``(O, *)`` and scale ``(O,)``. Deploys as one bit per weight and
    one power of two per filter.
    Reference: Qin et al., "Forward and Backward Information Retention" (IR-Net), 2019,
    arXiv:1909.10788.
    """

    bits = 1

    def __init__(self, t_min: float = 0.1, t_max: float = 10.0) -> None:
        super().__init__()
        self.sign = EdeSign(t_min, t_max)

    def codes_and_scales(self, weight: Tensor) -> WeightCodes:
        filters = weight.flatten(1)
        centred = filters - filters.mean(1, keepdim=True)
        # A filter of one weight has no deviation; it is centred to 0 and becomes +1.
        deviation = centred.square().sum(1, keepdim=True) / max(filters.shape[1] - 1, 1)
        standard = centred / deviation.sqrt().clamp(min=_SMALLEST_DEVIATION)
        magnitude = standard.detach().abs().mean(1)
        exponent = magnitude.log2().round().clamp(min=-126)  # a constant filter has magnitude 0
        return WeightCodes(self.sign(standard).view_as(weight), torch.exp2(exponent))
