"""The one-dimensional convolution, plain, grouped or depthwise."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from bnndeploy.layers._base import QuantizerLike, QuantLayer
from bnndeploy.layers._padding import check_pad_value, pad_border


class QuantConv1d(QuantLayer, nn.Conv1d):
    """Convolves quantized sequences with quantized weights; see :class:`QuantConv2d`.

    Shape: ``(N, C, L)`` to ``(N, O, Lo)``.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int],
        stride: int | tuple[int] = 1,
        padding: str | int | tuple[int] = 0,
        dilation: int | tuple[int] = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        input_quantizer: QuantizerLike = None,
        weight_quantizer: QuantizerLike = None,
        output_quantizer: QuantizerLike = None,
        pad_value: int = 0,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        )
        self.pad_value = check_pad_value(pad_value)
        self.set_quantizers(
            input_quantizer,
            weight_quantizer,
            output_quantizer,
            channels=(in_channels, out_channels),
        )

    def forward(self, input: Tensor) -> Tensor:
        x, padding = pad_border(self, self.quantize_input(input), self.pad_value)
        return self.scaled_product(
            lambda weight: F.conv1d(
                x, weight, None, self.stride, padding, self.dilation, self.groups
            ),
            lambda vector: vector.reshape(-1, 1),
        )

    def extra_repr(self) -> str:
        convolution: str = super().extra_repr()  # type: ignore[no-untyped-call]
        return f"{convolution}, pad_value={self.pad_value}"
