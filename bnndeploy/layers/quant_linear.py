"""The fully connected layer."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from bnndeploy.layers._base import QuantizerLike, QuantLayer


class QuantLinear(QuantLayer, nn.Linear):  # type: ignore[misc]  # torch: bias is never None
    """Multiplies quantized inputs by quantized weights, then scales and adds the bias.

    ``y = (q_in(x) @ codes.T) * scale + bias``, or with two scales
    ``(x @ P.T) * w_pos - (x @ N.T) * w_neg + bias``.

    Shape: ``(*, in_features)`` to ``(*, out_features)``. Deploys as XnorGemm or TernaryGemm.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        input_quantizer: QuantizerLike = None,
        weight_quantizer: QuantizerLike = None,
        output_quantizer: QuantizerLike = None,
    ) -> None:
        super().__init__(in_features, out_features, bias)
        self.set_quantizers(
            input_quantizer,
            weight_quantizer,
            output_quantizer,
            channels=(in_features, out_features),
            axis=-1,
        )

    def forward(self, input: Tensor) -> Tensor:
        x = self.quantize_input(input)
        return self.scaled_product(lambda weight: F.linear(x, weight), lambda vector: vector)
