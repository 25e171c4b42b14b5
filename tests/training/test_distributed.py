"""Two processes with gloo: the same gradients as one, and a run through torchrun."""

import json
import socket
import subprocess
import sys

import pytest
import torch

from bnndeploy.training import data, train
from bnndeploy.training.batches import Batches
from bnndeploy.training.distributed import World, join


def test_processes_share_a_batch_without_overlap(tiny):
    recipe = tiny("train.accumulate=2", "data.augment=[]")
    split = data.load(recipe.data).train
    alone = Batches(split, recipe.train, World()).at(3)
    parts = [Batches(split, recipe.train, World(rank, 2)).at(3) for rank in (0, 1)]

    def rows(batches):
        return sorted(tuple(image.flatten().tolist()) for images, _ in batches for image in images)

    assert [len(labels) for _, labels in parts[0]] == [64, 64]
    assert rows(parts[0] + parts[1]) == rows(alone)
    assert rows(parts[0]) != rows(parts[1])


def test_an_epoch_covers_different_images_than_the_one_before(tiny):
    recipe = tiny("data.augment=[]")
    batches = Batches(data.load(recipe.data).train, recipe.train, World())

    assert not torch.equal(batches.at(0)[0][0], batches.at(batches.per_epoch)[0][0])
    assert torch.equal(batches.at(0)[0][0], batches.at(0)[0][0])


GRADIENTS = """
import sys, torch
from torch import nn
torch.set_num_threads(1)
nn.BatchNorm1d.train = lambda self, mode=True: nn.Module.train(self, False)
from bnndeploy.training import data, distributed, recipe
from bnndeploy.training.build import build_module
from bnndeploy.training.run_folder import RunFolder
from bnndeploy.training.trainer import Trainer
world = distributed.join()
wanted = recipe.load(sys.argv[1])
torch.manual_seed(0)
module = build_module(wanted, data.get(wanted.data))
trainer = Trainer(wanted, module, data.load(wanted.data), RunFolder(sys.argv[2]), None, world)
trainer.backward(0)
torch.save([p.grad for p in module.parameters()], f"{sys.argv[2]}/{world.size}-{world.rank}.pt")
world.leave()
"""


def launch(processes, *arguments):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(processes)]
    command += ["--master-addr", "127.0.0.1", "--master-port", str(port), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_one_step_in_two_processes_has_the_gradients_of_one_process(tiny, tmp_path):
    from bnndeploy.training.recipe import to_toml

    (tmp_path / "recipe.toml").write_text(to_toml(tiny("data.augment=[]")))
    script = tmp_path / "gradients.py"
    script.write_text(GRADIENTS)
    for processes in (1, 2):
        result = launch(processes, script, tmp_path / "recipe.toml", tmp_path)
        assert result.returncode == 0, result.stderr

    alone, first, second = (
        torch.load(tmp_path / f"{name}.pt", weights_only=True) for name in ("1-0", "2-0", "2-1")
    )
    for one, left, right in zip(alone, first, second, strict=True):
        assert torch.equal(left, right)
        torch.testing.assert_close(left, one, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_torchrun_trains_one_run_and_one_process_speaks(tmp_path):
    run = tmp_path / "run"
    arguments = ["-m", "bnndeploy", "train", "bnn-mlp-digits", "--out", run, "--json"]
    arguments += ["--set", "train.epochs=2", "--set", "model.options.hidden=[16]"]

    result = launch(2, *arguments)

    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["test_accuracy"] > 0.3
    assert len((run / "metrics.csv").read_text().splitlines()) == 3


def test_alone_a_process_is_its_own_world(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    world = join()

    assert (world.rank, world.size, world.is_main) == (0, 1, True)
    assert world.broadcast({"a": 1}) == {"a": 1}
    assert world.sum([1.0, 2.0]) == [1.0, 2.0]


def test_a_batch_that_the_processes_cannot_share_is_refused(tiny):
    from bnndeploy.errors import RecipeError

    recipe = tiny("train.batch=255")
    split = data.load(recipe.data).train

    with pytest.raises(RecipeError, match=r"got 1 for 2 process.es., expected their product"):
        Batches(split, recipe.train, World(0, 2))


def test_training_alone_needs_no_process_group(tiny, tmp_path):
    train(tiny("train.epochs=1"), None, tmp_path / "run")

    assert not torch.distributed.is_initialized()
