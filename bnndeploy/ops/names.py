"""Names and signatures of the operators; the C++ list of the same ops is ``ops.inc``."""

from __future__ import annotations

from dataclasses import dataclass

DOMAIN = "ai.bnndeploy"
VERSION = 1
IR_VERSION = 10
OPSET = 21


@dataclass(frozen=True)
class OpSignature:
    """Lists what a node of one operator carries; every input and attribute is required."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[str, ...] = ()


_EPILOGUE = ("scale", "bias", "residual", "slope", "shift", "threshold")
_CONV = ("channels", "strides", "pads", "dilations", "group", "pad_value", "acc_min")
_GEMM = ("k", "acc_min")
_BOTH = ("Y", "Ybits")

SIGNATURES: dict[str, OpSignature] = {
    "Sign": OpSignature(("X",), ("Y",)),
    "Ternary": OpSignature(("X", "threshold"), ("Y",)),
    "PackBits": OpSignature(("X", "sign", "threshold"), ("B",)),
    "UnpackBits": OpSignature(("B",), ("Y",), ("channels",)),
    "XnorGemm": OpSignature(("X", "W", *_EPILOGUE), _BOTH, _GEMM),
    "XnorConv": OpSignature(("X", "W", *_EPILOGUE), _BOTH, _CONV),
    "TernaryGemm": OpSignature(("X", "W", "w_pos", "w_neg", *_EPILOGUE), _BOTH, _GEMM),
    "TernaryConv": OpSignature(("X", "W", "w_pos", "w_neg", *_EPILOGUE), _BOTH, _CONV),
    "MaxPoolBits": OpSignature(("B", "invert"), ("Y",), ("kernel_shape", "strides", "pads")),
}
