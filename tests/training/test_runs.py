"""Loading networks from runs, recipes and the zoo."""

import pytest
import torch

from bnndeploy.errors import CheckpointError, RecipeError
from bnndeploy.training import load_run, train
from bnndeploy.training.run_folder import save_tensors


@pytest.fixture
def run(tiny, tmp_path):
    train(tiny("train.epochs=1"), None, tmp_path / "run")
    return tmp_path / "run"


def test_a_run_is_loaded_in_eval_mode_and_float32_with_its_data_description(run):
    loaded = load_run(run)

    assert loaded.name == "tiny"
    assert not loaded.module.training
    assert {p.dtype for p in loaded.module.parameters()} == {torch.float32}
    assert loaded.classes == tuple("0123456789")
    assert loaded.input_spec["shape"] == [1, 8, 8]
    assert 0 < loaded.metrics["test_accuracy"] < 1


def test_random_weights_are_seeded_and_their_batch_norms_are_not_trivial():
    first, again = load_run("bnn-mlp-digits", "random"), load_run("bnn-mlp-digits", "random")

    for a, b in zip(
        first.module.state_dict().values(), again.module.state_dict().values(), strict=True
    ):
        assert torch.equal(a, b)
    gammas = first.module.state_dict()["2.weight"]
    assert (gammas < 0).any()
    assert (gammas > 0).any()
    assert first.module.state_dict()["2.running_mean"].abs().max() > 0.1


def test_trained_weights_are_never_replaced_by_random_ones(tmp_path):
    (tmp_path / "recipe.toml").write_text(
        'format = 1\n[model]\nnetwork = "bnn-mlp"\n[data]\ndataset = "digits"\n[train]\nepochs = 1'
    )
    with pytest.raises(CheckpointError, match=r"got no best.safetensors, .* --weights random"):
        load_run(tmp_path)


def test_a_checkpoint_of_another_network_is_refused(run):
    save_tensors(run / "best.safetensors", {"weight": torch.zeros(3)})

    with pytest.raises(CheckpointError, match="does not fit the network of its recipe"):
        load_run(run)


@pytest.mark.parametrize("content", [b"", b"junk", b"\xff" * 100])
def test_a_damaged_checkpoint_is_refused(run, content):
    (run / "best.safetensors").write_bytes(content)

    with pytest.raises(CheckpointError, match=r"best.safetensors: cannot be read"):
        load_run(run)


def test_weights_are_trained_or_random():
    with pytest.raises(RecipeError, match="got 'fresh', expected trained or random"):
        load_run("bnn-mlp-digits", "fresh")


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="holds no run"):
        load_run(tmp_path)


def test_the_signs_of_an_exported_file_are_no_trained_weights(run, tmp_path):
    (tmp_path / "recipe.toml").write_bytes((run / "recipe.toml").read_bytes())
    (tmp_path / "model.onnx").write_bytes(b"")

    with pytest.raises(CheckpointError, match=r"got no best.safetensors.*model.onnx holds their c"):
        load_run(tmp_path)
