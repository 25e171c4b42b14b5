"""Parameter kinds and the optimizers over them."""

import pytest
import torch
from torch import nn

from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantLinear
from bnndeploy.training import optimizers
from bnndeploy.training.recipe import TrainTable


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(6, 5),
        QuantLinear(5, 4, input_quantizer="ste_sign", weight_quantizer="ste_sign"),
        nn.BatchNorm1d(4),
        QuantLinear(4, 3, weight_quantizer="ttq"),
    )


def test_latents_scales_and_real_parameters_are_told_apart():
    net = network()

    kinds = optimizers.parameter_kinds(net)

    assert [id(p) for p in kinds.latents] == [id(net[1].weight), id(net[3].weight)]
    assert {id(p) for p in kinds.scales} == {id(p) for p in net[3].weight_quantizer.parameters()}
    assert len(kinds.scales) == 2
    assert len(kinds.latents) + len(kinds.scales) + len(kinds.real) == len(list(net.parameters()))


def test_only_real_matrices_decay_unless_latents_are_asked_to():
    net = network()
    table = TrainTable(epochs=1, weight_decay=0.1)

    groups = optimizers.groups(optimizers.parameter_kinds(net), table)

    decays = {id(p): g["weight_decay"] for g in groups for p in g["params"]}
    assert decays.pop(id(net[0].weight)) == 0.1
    assert set(decays.values()) == {0.0}


@pytest.mark.parametrize("name", optimizers.names())
def test_state_survives_packing_into_tensors(name):
    def steps(net, optimizer, count):
        for step in range(count):
            torch.manual_seed(step)
            optimizer.zero_grad()
            net(torch.randn(8, 6)).square().mean().backward()
            optimizer.step()

    table = TrainTable(epochs=1, optimizer=name, lr=0.01)
    straight = network()
    steps(straight, optimizers.build(straight, table), 2)
    first = network()
    optimizer = optimizers.build(first, table)
    steps(first, optimizer, 1)
    second = network()
    second.load_state_dict(first.state_dict())
    resumed = optimizers.build(second, table)
    resumed.unpack(optimizer.pack())

    torch.manual_seed(1)
    resumed.zero_grad()
    second(torch.randn(8, 6)).square().mean().backward()
    resumed.step()

    for a, b in zip(straight.state_dict().values(), second.state_dict().values(), strict=True):
        assert torch.equal(a, b)


def test_an_unknown_optimizer_is_refused():
    with pytest.raises(RecipeError, match=r"optimizer 'adan' is unknown .did you mean 'adam'"):
        optimizers.build(network(), TrainTable(epochs=1, optimizer="adan"))
