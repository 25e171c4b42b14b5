"""The sign function with the straight-through estimator."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers._base import Quantizer, register
from bnndeploy.quantizers._emit import sign
from bnndeploy.quantizers._gradient import pass_gradient, pass_where

GATES = ("inclusive", "strict", "identity")
MODES = ("deterministic", "stochastic")


@register("ste_sign")
class SteSign(Quantizer):
    r"""Binarises to {-1, +1}; the gradient goes straight through where the gate is open.

    Forward, element-wise (zero counts as positive, NaN as negative):
    ``q(x) = +1 if x >= 0 else -1``. With ``mode="stochastic"``, while training,
    ``q(x) = +1`` with probability ``clip((x + 1) / 2, 0, 1)``.
    Backward: ``dq/dx = 1`` where the gate is open, else 0. Gates: ``inclusive |x| <= clip``
    (the paper's equation 4), ``strict |x| < clip`` (Hardtanh), ``identity`` everywhere.

    A strict gate is refused on weights: a latent weight clipped to exactly ``clip`` would get no
    gradient ever again.

    Shape: ``(*)`` to ``(*)``, dtype kept; latents give autocast's dtype where it is on.
    Deploys as one bit per value.
    Reference: Hubara et al., "Binarized Neural Networks", 2016, arXiv:1602.02830.
    """

    bits = 1

    def __init__(
        self, clip: float = 1.0, gate: str = "inclusive", mode: str = "deterministic"
    ) -> None:
        super().__init__()
        if not clip > 0:
            raise RecipeError(f"ste_sign: clip must be positive, got {clip}")
        if gate not in GATES:
            raise RecipeError(f"ste_sign: got gate {gate!r}, expected one of {', '.join(GATES)}")
        if mode not in MODES:
            raise RecipeError(f"ste_sign: got mode {mode!r}, expected one of {', '.join(MODES)}")
        self.clip = clip
        self.gate = gate
        self.mode = mode
        self.latent_clip = clip

    def attach(self, weight: Tensor) -> None:
        if self.gate == "strict":
            raise RecipeError(
                "ste_sign: got gate 'strict' for weights, which freezes latents clipped to "
                "the bound; use 'inclusive' or 'identity'"
            )

    def forward(self, x: Tensor) -> Tensor:
        stochastic = self.training and self.mode == "stochastic"
        value = self._draw(x) if stochastic else sign(_in_product_type(x))
        if self.gate == "identity" or (self.gate == "inclusive" and self._all_inside(x)):
            return pass_gradient(x, value)
        magnitude = x.detach().abs()
        # In place: the mask takes x's type, which the backward reads fastest.
        closer = magnitude.le_ if self.gate == "inclusive" else magnitude.lt_
        inside = closer(self.clip)
        return pass_where(x, value, inside)

    def _all_inside(self, x: Tensor) -> bool:
        """Tells whether the gate is open everywhere, for latents, which a training loop clips.

        Reading them once is a fifth of the work of a mask. Not on other devices, which would
        have to wait for the answer, nor where torch compiles, which takes no branch on values,
        nor for activations, which are hardly ever all inside.
        """
        if not isinstance(x, nn.Parameter) or x.device.type != "cpu" or x.numel() == 0:
            return False
        if torch.compiler.is_compiling():
            return False
        low, high = torch.aminmax(x.detach())  # NaN comes through and compares as False
        return bool(low >= -self.clip) and bool(high <= self.clip)

    def _draw(self, x: Tensor) -> Tensor:
        """Draws signs whose expectation is the hard tanh of x."""
        return torch.where(torch.rand_like(x) < (x.detach() + 1) / 2, 1.0, -1.0).to(x.dtype)

    def extra_repr(self) -> str:
        return f"clip={self.clip}, gate={self.gate!r}, mode={self.mode!r}"


def _in_product_type(x: Tensor) -> Tensor:
    """Casts latents as autocast would cast their signs a moment later, for half the memory traffic.

    bfloat16 keeps every sign but that of magnitudes below 1e-40, which round to zero.
    """
    device = x.device.type
    if not isinstance(x, nn.Parameter) or x.is_meta or not torch.is_autocast_enabled(device):
        return x
    product_type = torch.get_autocast_dtype(device)
    # float16 would round every magnitude below 3e-8 to zero, whose sign is +1.
    return x.detach().to(product_type) if product_type == torch.bfloat16 else x
