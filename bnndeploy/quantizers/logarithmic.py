"""Powers of two without a bound."""

from __future__ import annotations

import torch
from torch import Tensor

from bnndeploy.quantizers._base import Quantizer, register
from bnndeploy.quantizers._gradient import pass_gradient

_LARGEST_EXPONENT = 127  # of float32


@register("logarithmic")
class Logarithmic(Quantizer):
    r"""Maps every value to a power of two with its sign, so that products become shifts.

    Forward, element-wise: ``q(x) = sign(x) 2^round(log2|x|)``, 0 for 0; infinities and NaN
    stay as they are.
    Backward: ``dq/dx = 1``.

    Shape: ``(*)`` to ``(*)``. Deploys as real weights, or as standard operators.
    Reference: Miyashita et al., "Convolutional Neural Networks using Logarithmic Data
    Representation", 2016, arXiv:1603.01025; the nearest exponent, where TensorQuant floors it.
    """

    def forward(self, x: Tensor) -> Tensor:
        return pass_gradient(x, nearest_power_of_two(x.detach()))


def nearest_power_of_two(x: Tensor) -> Tensor:
    """Returns ``sign(x) 2^round(log2|x|)``, at most 2^127; 0, infinities and NaN stay.

    The mantissa and exponent of the float are taken apart, which is exact where log2 is not.
    """
    if torch.onnx.is_in_onnx_export():
        return _by_comparisons(x)
    mantissa, exponent = torch.frexp(x.float())
    up = mantissa.abs() >= 0.5**0.5
    # A mantissa lies in [0.5, 1): the candidates are 2^(exponent - 1) and 2^exponent.
    exponent = (exponent + up.to(exponent.dtype) - 1).clamp(max=_LARGEST_EXPONENT)
    # In two halves: 2^exponent alone would leave the range of normal numbers.
    half = exponent // 2
    power = torch.ldexp(torch.ldexp(mantissa.sign(), half), exponent - half)
    return torch.where(torch.isfinite(x) & (x != 0), power.to(x.dtype), x)


def _by_comparisons(x: Tensor) -> Tensor:
    """Computes the same for ONNX, which cannot take a float apart.

    The exponent is found bit by bit. Products with powers of two round nothing.
    """
    rest = x.abs()  # brought into [1, 2), while ``power`` takes up the factor
    power = torch.ones_like(rest)
    for bits in (64, 32, 16, 8, 4, 2, 1):
        large = rest >= 2.0**bits
        rest = torch.where(large, rest * 2.0**-bits, rest)
        power = torch.where(large, power * 2.0**bits, power)
    for bits in (64, 64, 32, 16, 8, 4, 2, 1):  # down to 2^-149, the smallest number
        small = rest < 2.0 ** (1 - bits)
        rest = torch.where(small, rest * 2.0**bits, rest)
        power = torch.where(small, power * 2.0**-bits, power)
    up = (rest >= 2**0.5) & (power < 2.0**_LARGEST_EXPONENT)
    power = torch.where(up, power * 2, power)
    signed = torch.where(x < 0, -power, power)
    return torch.where(torch.isfinite(x) & (x != 0), signed, x)
