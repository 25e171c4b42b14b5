"""The binary CIFAR ResNet of BinaryNet.pytorch."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantConv2d, QuantLinear
from bnndeploy.networks._base import register
from bnndeploy.networks._parts import check_input


class BinaryBlock(nn.Module):
    """Adds a shortcut to two binary convolutions, before the second batch-norm.

    ``y = hardtanh(bn2(conv2(hardtanh(bn1(conv1(x)))) + downsample(x)))``; the last block of the
    network ends with the sum. Shortcuts carry real values in [-1, 1], which is why the hard
    tanh must stay: a sign alone would not clip them.
    """

    def __init__(self, inputs: int, outputs: int, stride: int, last: bool) -> None:
        super().__init__()
        self.conv1 = _binary_conv(inputs, outputs, 3, stride)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.tanh1 = nn.Hardtanh()
        self.conv2 = _binary_conv(outputs, outputs, 3)
        self.bn2: nn.Module = nn.Identity() if last else nn.BatchNorm2d(outputs)
        self.tanh2: nn.Module = nn.Identity() if last else nn.Hardtanh()
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                _binary_conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv2(self.tanh1(self.bn1(self.conv1(x))))
        z: Tensor = self.tanh2(self.bn2(y + self.downsample(x)))
        return z


class ResNetBinary(nn.Module):
    """Chains the blocks; its parts have the names that they have in BinaryNet.pytorch.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``.
    """

    def __init__(self, input_shape: Sequence[int], classes: int, depth: int, inflate: int) -> None:
        super().__init__()
        widths = [16 * inflate, 32 * inflate, 64 * inflate]
        blocks = (depth - 2) // 6
        self.conv1 = QuantConv2d(
            input_shape[0], widths[0], 3, padding=1, bias=False, weight_quantizer="ste_sign"
        )
        self.bn1 = nn.BatchNorm2d(widths[0])
        self.tanh1 = nn.Hardtanh()
        self.layer1 = _layer(widths[0], widths[0], blocks, stride=1)
        self.layer2 = _layer(widths[0], widths[1], blocks, stride=2)
        self.layer3 = _layer(widths[1], widths[2], blocks, stride=2, last=True)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.bn2 = nn.BatchNorm1d(widths[2])
        self.tanh2 = nn.Hardtanh()
        self.fc = QuantLinear(
            widths[2], classes, input_quantizer="ste_sign", weight_quantizer="ste_sign"
        )
        self.bn3 = nn.BatchNorm1d(classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.tanh1(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        x = self.tanh2(self.bn2(self.flatten(self.avgpool(x))))
        logits: Tensor = self.bn3(self.fc(x))
        return logits


@register("resnet-binary")
def resnet_binary(
    input_shape: Sequence[int] = (3, 32, 32), classes: int = 10, depth: int = 18, inflate: int = 5
) -> nn.Module:
    """Builds the ResNet for CIFAR of BinaryNet.pytorch, all weights binary, without its softmax.

    The widths are 16, 32 and 64 times ``inflate``; ``depth`` is 6n + 2 for n blocks in each of
    the three layers.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``; sides are multiples of 4.
    Reference: Hubara et al., "Binarized Neural Networks", 2016, arXiv:1602.02830; layout of
    BinaryNet.pytorch (``models/resnet_binary.py``, ``ResNet_cifar10``).
    """
    check_input("resnet-binary", input_shape, 4)
    if depth < 14:
        raise RecipeError(
            f"resnet-binary: got depth {depth}, expected at least 14, two blocks in each layer"
        )
    return ResNetBinary(input_shape, classes, depth, inflate)


def _layer(inputs: int, outputs: int, blocks: int, stride: int, last: bool = False) -> nn.Module:
    modules = [BinaryBlock(inputs, outputs, stride, last=False)]
    modules += [BinaryBlock(outputs, outputs, 1, last=False) for _ in range(blocks - 2)]
    return nn.Sequential(*modules, BinaryBlock(outputs, outputs, 1, last=last))


def _binary_conv(inputs: int, outputs: int, kernel: int, stride: int = 1) -> QuantConv2d:
    return QuantConv2d(
        inputs,
        outputs,
        kernel,
        stride,
        padding=kernel // 2,
        bias=False,
        input_quantizer="ste_sign",
        weight_quantizer="ste_sign",
    )
