"""The sign function with a gradient that sharpens while training goes on."""

from __future__ import annotations

import torch
from torch import Tensor

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers._base import Quantizer, register
from bnndeploy.quantizers._emit import sign
from bnndeploy.quantizers._gradient import pass_scaled


@register("ede_sign")
class EdeSign(Quantizer):
    r"""Binarises to {-1, +1}; the error-decay estimator sharpens its gradient with progress.

    Forward, element-wise: ``q(x) = +1 if x >= 0 else -1`` (NaN gives -1).
    Backward: ``dq/dx = k t (1 - tanh(t x)^2)`` with ``k = max(1 / t, 1)``. The sharpness t grows
    from ``t_min`` to ``t_max`` as ``t = t_min (t_max / t_min)^progress``: first nearly the
    identity, so that all latents move; at the end nearly the derivative of the sign.

    The trainer reports progress through :func:`bnndeploy.quantizers.set_progress`.

    Shape: ``(*)`` to ``(*)``, dtype kept. Deploys as one bit per value.
    Reference: Qin et al., "Forward and Backward Information Retention" (IR-Net), 2019,
    arXiv:1909.10788.
    """

    bits = 1

    def __init__(self, t_min: float = 0.1, t_max: float = 10.0) -> None:
        super().__init__()
        if not 0 < t_min <= t_max:
            raise RecipeError(
                f"ede_sign: got t_min {t_min} and t_max {t_max}, expected 0 < t_min <= t_max"
            )
        self.t_min = t_min
        self.t_max = t_max
        self.sharpness = t_min

    def set_progress(self, progress: float) -> None:
        self.sharpness = self.t_min * (self.t_max / self.t_min) ** progress

    def forward(self, x: Tensor) -> Tensor:
        t = self.sharpness
        z = 2 * t * x.detach()
        # 1 - tanh(z / 2)^2, without the cancellation of two numbers close to 1.
        bell = 4 * torch.sigmoid(z) * torch.sigmoid(-z)
        slope = max(1 / t, 1.0) * t * bell
        return pass_scaled(x, sign(x), slope.nan_to_num(nan=0.0))

    def extra_repr(self) -> str:
        return f"t_min={self.t_min}, t_max={self.t_max}"
