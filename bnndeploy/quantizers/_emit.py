"""Puts our operators into the graph while torch.onnx traces a module."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from bnndeploy.ops.names import DOMAIN, VERSION


def mask(compare: Callable[..., Tensor], x: Tensor, bound: Tensor | float) -> Tensor:
    """Returns 1 where ``compare(x, bound)`` holds, else 0, in the type of x.

    Arithmetic on such masks is vectorised; torch.where over booleans takes ten times as long.
    """
    return compare(x.detach(), bound, out=torch.empty_like(x, requires_grad=False))


def sign(x: Tensor) -> Tensor:
    """Returns +1 where ``x >= 0``, else -1 (NaN gives -1); one Sign node when exported."""
    if torch.onnx.is_in_onnx_export():
        return _node("Sign", x)
    ones = mask(torch.ge, x, 0)
    return torch.add(x.new_full((), -1), ones, alpha=2, out=ones)  # in one pass: 2 * ones - 1


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
