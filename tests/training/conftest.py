"""Small runs: a tiny network on the bundled digits trains in well under a second."""

import pytest
import torch

from bnndeploy.training import recipe as recipes

TINY = """
format = 1
[model]
network = "bnn-mlp"
options = { hidden = [16] }
[data]
dataset = "digits"
augment = ["shift"]
[train]
epochs = 3
batch = 256
lr = 0.01
"""


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def tiny():
    """Returns a function that parses the tiny recipe with overrides."""
    return lambda *overrides: recipes.parse(TINY, "tiny", overrides)
