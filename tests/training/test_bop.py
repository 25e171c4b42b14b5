"""Bop and the optimizer that hands each parameter to the optimizer of its case."""

import pytest
import torch
from torch import nn

from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantLinear
from bnndeploy.training import optimizers
from bnndeploy.training.bop import Bop
from bnndeploy.training.case_optimizer import CaseOptimizer
from bnndeploy.training.recipe import TrainTable


def weights(*values):
    return nn.Parameter(torch.tensor(values))


def test_weights_become_their_signs_and_zero_counts_as_positive():
    weight = weights(0.3, -0.2, 0.0)

    Bop([weight])

    assert weight.tolist() == [1.0, -1.0, 1.0]


def test_a_weight_flips_when_the_averaged_gradient_agrees_with_its_sign_and_passes_the_threshold():
    # m = 0.5 * g: 0.5, -0.5, -0.5, 0.5, 0.05
    weight = weights(1.0, 1.0, -1.0, -1.0, 1.0)
    optimizer = Bop([weight], lr=0.5, threshold=0.1)
    weight.grad = torch.tensor([1.0, -1.0, -1.0, 1.0, 0.1])

    optimizer.step()

    assert weight.tolist() == [-1.0, 1.0, 1.0, -1.0, 1.0]


def test_the_gradient_is_averaged_over_steps():
    # m after each step with g = 1 and gamma = 0.25: 0.25, 0.4375; the threshold 0.3 is between
    weight = weights(1.0)
    optimizer = Bop([weight], lr=0.25, threshold=0.3)
    signs = []
    for _ in range(2):
        weight.grad = torch.tensor([1.0])
        optimizer.step()
        signs.append(weight.item())

    assert signs == [1.0, -1.0]


@pytest.mark.parametrize(
    ("options", "message"), [({"lr": 0.0}, "gamma 0.0"), ({"threshold": -1.0}, "threshold -1")]
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(RecipeError, match=message):
        Bop([weights(1.0)], **options)


def test_the_recipe_gives_binary_weights_to_bop_and_the_rest_to_adam():
    torch.manual_seed(0)
    net = nn.Sequential(
        QuantLinear(4, 4, weight_quantizer="ste_sign"), QuantLinear(4, 2, weight_quantizer="ttq")
    )

    case = optimizers.build(net, TrainTable(epochs=1, optimizer="bop"))

    bop, adam = case.optimizers
    assert [id(p) for g in bop.param_groups for p in g["params"]] == [id(net[0].weight)]
    others = {id(p) for p in net.parameters()} - {id(net[0].weight)}
    assert {id(p) for g in adam.param_groups for p in g["params"]} == others


def test_bop_without_binary_weights_is_refused():
    with pytest.raises(RecipeError, match="got a network without binary weights"):
        optimizers.build(nn.Linear(2, 2), TrainTable(epochs=1, optimizer="bop"))


def test_the_rate_share_scales_every_optimizer_from_its_own_first_rate():
    case = CaseOptimizer([torch.optim.SGD([weights(1.0)], lr=0.5), Bop([weights(1.0)], lr=0.01)])

    case.set_rate_share(0.5)
    case.set_rate_share(0.1)

    rates = [optimizer.param_groups[0]["lr"] for optimizer in case.optimizers]
    assert rates == pytest.approx([0.05, 0.001])


def test_cases_are_tried_in_order_and_the_default_takes_the_rest():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))

    case = CaseOptimizer.by_case(
        net,
        [
            (lambda name, _: name.endswith("bias"), lambda p: torch.optim.SGD(p, lr=1.0)),
            (lambda _, parameter: parameter.ndim == 1, lambda p: torch.optim.SGD(p, lr=2.0)),
        ],
        lambda p: torch.optim.SGD(p, lr=3.0),
    )

    owners = {id(p): g["lr"] for o in case.optimizers for g in o.param_groups for p in g["params"]}
    by_name = {name: owners[id(p)] for name, p in net.named_parameters()}
    assert by_name == {"0.weight": 3.0, "0.bias": 1.0, "1.weight": 2.0, "1.bias": 1.0}


def test_a_parameter_in_two_optimizers_is_refused():
    shared = weights(1.0, 2.0)

    with pytest.raises(RecipeError, match=r"a parameter of shape \[2\] is in two optimizers"):
        CaseOptimizer([torch.optim.SGD([shared], lr=1.0), torch.optim.SGD([shared], lr=1.0)])
