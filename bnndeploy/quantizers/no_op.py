"""No quantization."""

from __future__ import annotations

from torch import Tensor

from bnndeploy.quantizers._base import Quantizer, register


@register("no_op")
class NoOp(Quantizer):
    r"""Leaves values and gradients alone: the real-valued baseline under the same code.

    Forward: ``q(x) = x``. Backward: ``dq/dx = 1``.

    Shape: ``(*)`` to ``(*)``. Deploys as real values.
    Reference: none; the identity.
    """

    def forward(self, x: Tensor) -> Tensor:
        return x
