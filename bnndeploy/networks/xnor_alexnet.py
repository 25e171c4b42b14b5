"""XNOR-Net's AlexNet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from bnndeploy.layers import QuantConv2d, QuantLinear
from bnndeploy.networks._base import register
from bnndeploy.networks._parts import check_input
from bnndeploy.quantizers import Quantizer, get


@register("xnor-alexnet")
def xnor_alexnet(input_shape: Sequence[int] = (3, 224, 224), classes: int = 1000) -> nn.Module:
    """Builds AlexNet with batch-norm - sign - binary layer blocks; first and last layer are real.

    Binary weights are scaled by the mean magnitude of their filter. The scale map of the
    inputs, K in the paper, is left out, as in the published code.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``; sides are multiples of 32.
    Reference: Rastegari et al., "XNOR-Net: ImageNet Classification Using Binary Convolutional
    Neural Networks", 2016, arXiv:1603.05279; layout of the larq zoo
    (``literature/xnornet.py``).
    """
    check_input("xnor-alexnet", input_shape, 32)
    depth, *sides = input_shape
    layers: list[nn.Module] = [
        nn.Conv2d(depth, 96, 11, stride=4, padding=4, bias=False),
        nn.BatchNorm2d(96),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2),
        nn.BatchNorm2d(96),
    ]
    sides = [(side // 4 - 1) // 2 for side in sides]
    inputs = 96
    for outputs, kernel, pool in ((256, 5, True), (384, 3, False), (384, 3, False), (256, 3, True)):
        layers.append(QuantConv2d(inputs, outputs, kernel, padding=kernel // 2, **_binary()))
        layers += [nn.MaxPool2d(3, stride=2)] if pool else []
        layers.append(nn.BatchNorm2d(outputs))
        sides = [(side - 1) // 2 for side in sides] if pool else sides
        inputs = outputs
    layers.append(nn.Flatten())
    inputs *= sides[0] * sides[1]
    for outputs in (4096, 4096):
        layers += [QuantLinear(inputs, outputs, **_binary()), nn.BatchNorm1d(outputs)]
        inputs = outputs
    return nn.Sequential(*layers, nn.ReLU(), nn.Linear(inputs, classes, bias=False))


def _binary() -> dict[str, Any]:
    weight_quantizer: Quantizer = get("xnor_scale", scale_gradient=True)
    return {"bias": False, "input_quantizer": "ste_sign", "weight_quantizer": weight_quantizer}
