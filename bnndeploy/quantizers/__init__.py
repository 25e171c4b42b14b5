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
from bnndeploy.quantizers.approx_sign import ApproxSign
from bnndeploy.quantizers.bitnet import Bitnet
from bnndeploy.quantizers.dorefa_activation import DorefaActivation
from bnndeploy.quantizers.dorefa_weight import DorefaWeight
from bnndeploy.quantizers.ede_sign import EdeSign
from bnndeploy.quantizers.fixed_point import FixedPoint
from bnndeploy.quantizers.half import Half
from bnndeploy.quantizers.ir_net import IrNet
from bnndeploy.quantizers.logarithmic import Logarithmic, nearest_power_of_two
from bnndeploy.quantizers.lsq import Lsq
from bnndeploy.quantizers.magnitude_aware_sign import MagnitudeAwareSign
from bnndeploy.quantizers.no_op import NoOp
from bnndeploy.quantizers.power_of_two import PowerOfTwo
from bnndeploy.quantizers.rsign import RSign
from bnndeploy.quantizers.sparse import Sparse
from bnndeploy.quantizers.ste_heaviside import SteHeaviside
from bnndeploy.quantizers.ste_sign import SteSign
from bnndeploy.quantizers.swish_sign import SwishSign
from bnndeploy.quantizers.ternary import Ternary
from bnndeploy.quantizers.ttq import Ttq
from bnndeploy.quantizers.twn import Twn

__all__ = [
    "ApproxSign",
    "Bitnet",
    "DorefaActivation",
    "DorefaWeight",
    "EdeSign",
    "FixedCodes",
    "FixedPoint",
    "Half",
    "IrNet",
    "Logarithmic",
    "Lsq",
    "MagnitudeAwareSign",
    "NoOp",
    "PowerOfTwo",
    "Quantizer",
    "RSign",
    "Sparse",
    "SteHeaviside",
    "SteSign",
    "SwishSign",
    "Ternary",
    "Ttq",
    "Twn",
    "WeightCodes",
    "WeightQuantizer",
    "builder",
    "get",
    "names",
    "nearest_power_of_two",
    "options",
    "register",
    "set_progress",
]
