"""Puts our operators into the graph while torch.onnx traces a module."""

from __future__ import annotations

import torch
from torch import Tensor

from bnndeploy.ops.names import DOMAIN, VERSION


def sign(x: Tensor) -> Tensor:
    """Returns +1 where ``x >= 0``, else -1 (NaN gives -1); one Sign node when exported."""
    if torch.onnx.is_in_onnx_export():
        return _node("Sign", x)
    # 1 and 0 in x's own type, then in place. torch.where over a bool takes ten times as long.
    ones = torch.ge(x.detach(), 0, out=torch.empty_like(x, requires_grad=False))
    return ones.mul_(2).sub_(1)


def ternary(x: Tensor, threshold: Tensor) -> Tensor:
    """Returns +1 where ``x > t``, -1 where ``x < -t``, else 0; one Ternary node when exported.

    Shape: x ``(N, C, *)``, threshold ``(1,)`` or ``(C,)`` along axis 1.
    """
    if torch.onnx.is_in_onnx_export():
        return _node("Ternary", x, threshold)
    t = threshold if threshold.numel() == 1 else threshold.reshape(-1, *(1,) * (x.ndim - 2))
    return ((x > t).to(torch.int8) - (x < -t).to(torch.int8)).to(x.dtype)


def _node(op_type: str, x: Tensor, *more: Tensor) -> Tensor:
    return torch.onnx.ops.symbolic(
        f"{DOMAIN}::{op_type}", (x, *more), {}, dtype=x.dtype, shape=x.shape, version=VERSION
    )
