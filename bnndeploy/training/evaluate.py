"""Evaluates a network on a split, always in float32."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bnndeploy.training.data import Split
from bnndeploy.training.losses import Loss

BATCH = 500


@dataclass(frozen=True)
class Scores:
    """Mean loss and shares of right answers.

    ``predictions`` are labels, int64 [N]; ``confidences`` their softmax, float32 [N].
    """

    loss: float
    accuracy: float
    top5: float
    predictions: Tensor
    confidences: Tensor


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Puts a module into eval mode for a while."""
    was_training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(was_training)


@torch.no_grad()
def evaluate(module: nn.Module, split: Split, loss: Loss, batch: int = BATCH) -> Scores:
    """Runs the network over a split.

    Autocast is switched off: sums of more than 256 products are not exact in bfloat16, and a
    sign downstream would flip.
    """
    device = next(module.parameters()).device
    total, in_top5 = 0.0, 0
    predictions, confidences = [], []
    with evaluating(module), torch.autocast(device.type, enabled=False):
        for start in range(0, len(split), batch):
            index = torch.arange(start, min(start + batch, len(split)))
            labels = split.labels[index].to(device)
            logits = module(split.batch(index).to(device)).float()
            total += float(loss(logits, labels)) * len(index)
            best = logits.topk(min(5, logits.shape[1])).indices
            in_top5 += int((best == labels.unsqueeze(1)).sum())
            predictions.append(logits.argmax(1).cpu())
            confidences.append(logits.softmax(1).amax(1).cpu())
    answers = torch.cat(predictions)
    return Scores(
        loss=total / len(split),
        accuracy=float((answers == split.labels).double().mean()),
        top5=in_top5 / len(split),
        predictions=answers,
        confidences=torch.cat(confidences),
    )
