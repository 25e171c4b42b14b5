"""Quantizers: a forward rule, a gradient rule, and how the result deploys."""

from bnndeploy.quantizers._base import (
    Quantizer,
    WeightCodes,
    WeightQuantizer,
    get,
    names,
    options,
    register,
    set_progress,
)
from bnndeploy.quantizers._fixed_codes import FixedCodes
from bnndeploy.quantizers.ste_sign import SteSign

__all__ = [
    "FixedCodes",
    "Quantizer",
    "SteSign",
    "WeightCodes",
    "WeightQuantizer",
    "get",
    "names",
    "options",
    "register",
    "set_progress",
]
