"""Learning rates at chosen steps."""

import pytest

from bnndeploy.errors import RecipeError
from bnndeploy.training.recipe import TrainTable
from bnndeploy.training.schedules import learning_rate


def rates(steps, **table):
    rate = learning_rate(TrainTable(**{"epochs": 10, "lr": 1.0, **table}), steps_per_epoch=10)
    return [round(rate(step), 9) for step in steps]


def test_constant_stays():
    assert rates([0, 50, 99], schedule="constant") == [1.0, 1.0, 1.0]


def test_linear_falls_to_the_final_rate():
    assert rates([0, 50, 100], schedule="linear", final_lr=0.2) == [1.0, 0.6, 0.2]


def test_cosine_is_half_way_at_half_time():
    assert rates([0, 50, 100], schedule="cosine") == [1.0, 0.5, 0.0]


def test_step_falls_at_the_given_epochs():
    steps = [0, 29, 30, 59, 60]

    assert rates(steps, schedule="step", step_epochs=(3.0, 6.0)) == [1.0, 1.0, 0.1, 0.1, 0.01]


def test_warm_up_climbs_to_the_rate_and_then_the_schedule_begins():
    got = rates([0, 4, 9, 10, 55, 100], schedule="linear", warmup_epochs=1.0)

    assert got == [0.1, 0.5, 1.0, 1.0, 0.5, 0.0]


def test_a_warm_up_longer_than_the_run_is_refused():
    with pytest.raises(RecipeError, match=r"warmup_epochs: got 10.0, expected fewer than the 10"):
        rates([0], warmup_epochs=10.0)


def test_step_without_epochs_is_refused():
    with pytest.raises(RecipeError, match=r"got no train.step_epochs"):
        rates([0], schedule="step")


def test_an_unknown_schedule_names_the_nearest():
    with pytest.raises(RecipeError, match=r"schedule 'cosin' is unknown .did you mean 'cosine'"):
        rates([0], schedule="cosin")
