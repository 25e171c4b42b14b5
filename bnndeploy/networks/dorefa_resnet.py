"""DoReFa-Net's ResNet-18: weights and activations of few bits."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from bnndeploy.layers import QuantConv2d
from bnndeploy.networks._base import register
from bnndeploy.networks._parts import Residual, check_input, head, is_small, stages
from bnndeploy.quantizers import get

WIDTHS = (64, 128, 256, 512)


@register("dorefa-resnet-18")
def dorefa_resnet_18(
    input_shape: Sequence[int] = (3, 224, 224),
    classes: int = 1000,
    weight_bits: int = 1,
    activation_bits: int = 4,
) -> nn.Module:
    """Builds a pre-activation ResNet-18 with k-bit layers; first and last layer are real.

    A block is batch-norm, quantized 3x3 convolution, twice, around which x passes. The first
    block of a stage halves the map by a 2x2 mean (the first stage does not) and lets a
    quantized 1x1 convolution pass instead. The factor 49 of the published model is left out.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``; sides are multiples of 32, or of 8 below
    50 pixels, where the first layer keeps the map.
    Reference: Zhou et al., "DoReFa-Net: Training Low Bitwidth Convolutional Neural Networks
    with Low Bitwidth Gradients", 2016, arXiv:1606.06160; layout of tensorpack
    (``examples/DoReFa-Net/resnet-dorefa.py``).
    """
    small = is_small(input_shape)
    check_input("dorefa-resnet-18", input_shape, 8 if small else 32)

    def conv(inputs: int, outputs: int, kernel: int) -> nn.Module:
        return QuantConv2d(
            inputs,
            outputs,
            kernel,
            padding=kernel // 2,
            bias=False,
            input_quantizer=get("dorefa_activation", bits=activation_bits),
            weight_quantizer=get("dorefa_weight", bits=weight_bits),
        )

    def pair(inputs: int, outputs: int) -> list[nn.Module]:
        return [conv(inputs, outputs, 3), nn.BatchNorm2d(outputs), conv(outputs, outputs, 3)]

    def first_block(inputs: int, outputs: int, halve: bool) -> list[nn.Module]:
        around = Residual(nn.Sequential(*pair(inputs, outputs)), conv(inputs, outputs, 1))
        return [*([nn.AvgPool2d(2)] if halve else []), nn.BatchNorm2d(inputs), around]

    def block(inputs: int, outputs: int) -> list[nn.Module]:
        if inputs != outputs:
            return first_block(inputs, outputs, halve=True)
        return [Residual(nn.Sequential(nn.BatchNorm2d(inputs), *pair(inputs, outputs)))]

    return nn.Sequential(
        *_first_layer(input_shape[0], small),
        *first_block(WIDTHS[0], WIDTHS[0], halve=False),
        *stages((1, 2, 2, 2), WIDTHS, block),
        nn.BatchNorm2d(WIDTHS[-1]),
        nn.Hardtanh(0.0, 1.0),
        *head(WIDTHS[-1], classes),
    )


def _first_layer(depth: int, small: bool) -> list[nn.Module]:
    if small:
        return [nn.Conv2d(depth, WIDTHS[0], 3, padding=1)]
    return [
        nn.Conv2d(depth, WIDTHS[0], 7, stride=2, padding=3),
        nn.MaxPool2d(3, stride=2, padding=1),
    ]
