"""The multilayer perceptron of the BNN paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from torch import nn

from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantLinear, ShiftBatchNorm
from bnndeploy.networks._base import register

NORMS: dict[str, Callable[[int], nn.Module]] = {
    "batch": nn.BatchNorm1d,
    "shift": ShiftBatchNorm,
}


@register("bnn-mlp")
def bnn_mlp(
    input_shape: Sequence[int] = (1, 28, 28),
    classes: int = 10,
    hidden: Sequence[int] = (1024, 1024, 1024),
    last_input: str = "sign",
    norm: str = "batch",
) -> nn.Module:
    """Builds linear - batch-norm - sign blocks and a real last layer.

    The first block multiplies real inputs by binary weights, the others binary by binary. The
    last layer reads signs, or with ``last_input="hardtanh"`` real values in [-1, 1], as in
    BinaryNet.pytorch. ``norm="shift"`` takes the paper's batch-norm by powers of two.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``.
    Reference: Hubara et al., "Binarized Neural Networks", 2016, arXiv:1602.02830 (3 x 4096).
    """
    if not hidden:
        raise RecipeError("bnn-mlp: got no hidden layer, expected at least one width in 'hidden'")
    if last_input not in ("sign", "hardtanh"):
        raise RecipeError(f"bnn-mlp: got last_input {last_input!r}, expected sign or hardtanh")
    if norm not in NORMS:
        raise RecipeError(f"bnn-mlp: got norm {norm!r}, expected {' or '.join(NORMS)}")
    widths = [math.prod(input_shape), *hidden]
    layers: list[nn.Module] = [nn.Flatten()]
    for index, (width, next_width) in enumerate(zip(widths, hidden, strict=False)):
        layers += [
            QuantLinear(
                width,
                next_width,
                bias=False,
                input_quantizer="ste_sign" if index else None,
                weight_quantizer="ste_sign",
            ),
            NORMS[norm](next_width),
        ]
    if last_input == "sign":
        last: list[nn.Module] = [QuantLinear(widths[-1], classes, input_quantizer="ste_sign")]
    else:
        last = [nn.Hardtanh(), nn.Linear(widths[-1], classes)]
    return nn.Sequential(*layers, *last)
