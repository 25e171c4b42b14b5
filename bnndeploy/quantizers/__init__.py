"""Quantizers: a forward rule, a gradient rule, and how the result deploys."""

from bnndeploy.quantizers._base import (
    Quantizer,
    WeightCodes,
    WeightQuantizer,
    builder,
    get,
    names,
    options,
    register,
    set_progress,
)
from bnndeploy.quantizers._fixed_codes import FixedCodes
from bnndeploy.quantizers.ste_sign import SteSign
from bnndeploy.quantizers.ternary import Ternary
from bnndeploy.quantizers.ttq import Ttq
from bnndeploy.quantizers.twn import Twn

__all__ = [
    "FixedCodes",
    "Quantizer",
    "SteSign",
    "Ternary",
    "Ttq",
    "Twn",
    "WeightCodes",
    "WeightQuantizer",
    "builder",
    "get",
    "names",
    "options",
    "register",
    "set_progress",
]
