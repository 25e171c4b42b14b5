import copy

import pytest
import torch

from bnndeploy import networks

OPTIONS = {
    "bnn-cnn": {"input_shape": (1, 8, 8), "channels": (8, 16), "hidden": 16},
    "ttq-lenet": {"input_shape": (1, 16, 16)},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_networks_compile_in_one_graph_to_the_same_numbers(name):
    torch.manual_seed(0)
    network = networks.build(name, **OPTIONS[name])
    compiled = copy.deepcopy(network)
    x = torch.randn(4, *OPTIONS[name]["input_shape"])
    expected = network(x)
    expected.square().sum().backward()
    # Traces forward and backward like the default backend, but builds no code.
    y = torch.compile(compiled, backend="aot_eager", fullgraph=True)(x)
    y.square().sum().backward()

    torch.testing.assert_close(y, expected, rtol=0, atol=0)
    for (path, ours), theirs in zip(compiled.named_parameters(), network.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, msg=path)
