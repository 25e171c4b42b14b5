"""Losses, found by name in ``train.loss``."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from bnndeploy.registry import Registry
from bnndeploy.training.recipe import TrainTable

Loss = Callable[[Tensor, Tensor], Tensor]
_REGISTRY: Registry[Tensor] = Registry("loss")
names = _REGISTRY.names


def build(table: TrainTable) -> Loss:
    """Returns the loss of a recipe: logits [N, K] and labels [N] to a mean over N."""
    loss = _REGISTRY.builder(table.loss)
    return lambda logits, labels: loss(logits, labels, table.label_smoothing)


@_REGISTRY.register("cross_entropy")
def cross_entropy(logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy against ``(1 - s) * onehot + s / K``.

    Reference: Szegedy et al., "Rethinking the Inception Architecture", 2016, arXiv:1512.00567.
    """
    return F.cross_entropy(logits, labels, label_smoothing=smoothing)


@_REGISTRY.register("squared_hinge")
def squared_hinge(logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
    """``mean(max(0, 1 - t * logit)^2)`` with t = +1 for the label, -1 for the others.

    Smoothing shrinks the targets to ``t * (1 - s)``.
    Reference: Hubara et al., "Binarized Neural Networks", 2016, arXiv:1602.02830 (L2-SVM).
    """
    targets = torch.full_like(logits, -1.0)
    targets.scatter_(1, labels.unsqueeze(1), 1.0)
    margins = (1.0 - (1.0 - smoothing) * targets * logits).clamp(min=0.0)
    return margins.square().mean()
