"""Losses against hand-computed values."""

import math

import pytest
import torch

from bnndeploy.errors import RecipeError
from bnndeploy.training import losses
from bnndeploy.training.recipe import TrainTable


def loss_of(logits, labels, **table):
    loss = losses.build(TrainTable(epochs=1, **table))
    return float(loss(torch.tensor(logits), torch.tensor(labels)))


def test_cross_entropy_of_equal_logits_is_the_log_of_the_classes():
    assert loss_of([[0.0] * 4], [2]) == pytest.approx(math.log(4))


def test_label_smoothing_mixes_in_the_uniform_distribution():
    logits = [[2.0, 0.0]]
    p = [math.exp(2) / (math.exp(2) + 1), 1 / (math.exp(2) + 1)]

    expected = -0.9 * math.log(p[0]) - 0.1 * math.log(p[1])

    assert loss_of(logits, [0], label_smoothing=0.2) == pytest.approx(expected)


def test_squared_hinge_counts_only_margins_below_one():
    # margins 1 - t*y: label 1 - 0.5, others 1 + 0.5 and 1 - 3 (clamped)
    expected = (0.5**2 + 1.5**2 + 0.0) / 3

    assert loss_of([[0.5, 0.5, -3.0]], [0], loss="squared_hinge") == pytest.approx(expected)


def test_an_unknown_loss_is_refused():
    with pytest.raises(RecipeError, match="loss 'hinge' is unknown"):
        loss_of([[0.0]], [0], loss="hinge")
