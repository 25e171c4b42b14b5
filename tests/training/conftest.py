"""Small runs: a tiny network on the bundled digits trains in well under a second."""

import os

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


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """One thread here and in child processes: tests run side by side."""
    before = os.environ.get("OMP_NUM_THREADS")
    threads = torch.get_num_threads()
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    if before is None:
        del os.environ["OMP_NUM_THREADS"]
    else:
        os.environ["OMP_NUM_THREADS"] = before


@pytest.fixture(scope="session")
def tiny():
    """Returns a function that parses the tiny recipe with overrides."""
    return lambda *overrides: recipes.parse(TINY, "tiny", overrides)
