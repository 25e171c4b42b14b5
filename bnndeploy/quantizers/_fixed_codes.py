"""Weight codes that were computed before, for a module that is only run or exported."""

from __future__ import annotations

from torch import Tensor

from bnndeploy.quantizers._base import WeightCodes, WeightQuantizer


class FixedCodes(WeightQuantizer):
    """Yields stored codes and scales, whatever the latent weight; takes no gradient."""

    codes: Tensor
    scale: Tensor | None
    w_pos: Tensor | None
    w_neg: Tensor | None
    positive: Tensor | None
    negative: Tensor | None

    def __init__(self, quantized: WeightCodes, bits: int | None) -> None:
        super().__init__()
        self.bits = bits
        self.two_scales = quantized.w_pos is not None
        planes = quantized.split() if self.two_scales else (None, None)
        stored = {
            "codes": quantized.codes,
            "scale": quantized.scale,
            "w_pos": quantized.w_pos,
            "w_neg": quantized.w_neg,
            "positive": planes[0],
            "negative": planes[1],
        }
        for name, tensor in stored.items():
            self.register_buffer(name, None if tensor is None else tensor.detach().clone())

    def codes_and_scales(self, weight: Tensor) -> WeightCodes:
        planes = None
        if self.positive is not None and self.negative is not None:
            planes = (self.positive, self.negative)
        return WeightCodes(self.codes, self.scale, self.w_pos, self.w_neg, planes)
