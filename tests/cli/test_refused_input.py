"""Bad input, through the command line: one clear line, exit code 1, existing files untouched."""

import hashlib
import random
import sys

import numpy as np
import pytest
import torch
from PIL import Image

from bnndeploy import cli
from bnndeploy.export import export_run
from bnndeploy.training import load_run, train, zoo
from bnndeploy.training import recipe as recipes

ON_MODELS = ["predict MODEL IMAGE", "verify-parity MODEL", "bench MODEL", "inspect MODEL"]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A model, a run, a run of another recipe, an image."""
    folder = tmp_path_factory.mktemp("good")
    torch.set_num_threads(1)
    export_run(load_run("bnn-mlp-digits", "random"), folder / "model.onnx")
    for name in ("bnn-mlp-digits", "ttq-lenet-digits"):
        short = recipes.load(zoo.find_recipe(name), ["train.epochs=1"])
        train(short, None, folder / name)
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(folder / "image.png")
    return folder


@pytest.fixture
def refuse(monkeypatch, capsys):
    """Runs a command that must fail as described above; returns the line that it printed."""

    def run(command, folder):
        before = fingerprint(folder)
        monkeypatch.setattr(sys, "argv", ["bnndeploy", *map(str, command)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        printed = capsys.readouterr()
        assert stopped.value.code == 1, printed.err
        assert printed.err.startswith("bnndeploy: ")
        assert printed.err.count("\n") == 1, printed.err
        assert printed.out == ""
        assert fingerprint(folder) == before
        return printed.err

    return run


def fingerprint(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def damaged(content, how):
    if how == "empty":
        return b""
    if how == "truncated":
        return content[: len(content) // 2]
    if how == "text":
        return b"this is no model\n"
    noise = random.Random(1)
    spoiled = bytearray(content)
    for _ in range(200):
        spoiled[noise.randrange(len(spoiled))] ^= 0xFF
    return bytes(spoiled)


@pytest.mark.parametrize("command", ON_MODELS)
@pytest.mark.parametrize("how", ["empty", "truncated", "text", "corrupted"])
def test_a_damaged_model_is_refused(command, how, good, tmp_path, refuse):
    model = tmp_path / "bad.onnx"
    model.write_bytes(damaged((good / "model.onnx").read_bytes(), how))
    names = {"MODEL": model, "IMAGE": good / "image.png"}

    message = refuse([names.get(word, word) for word in command.split()], tmp_path)

    assert "bad.onnx" in message
    assert "expected" in message


@pytest.mark.parametrize("command", ON_MODELS)
def test_a_missing_model_is_refused(command, good, tmp_path, refuse):
    names = {"MODEL": tmp_path / "none.onnx", "IMAGE": good / "image.png"}

    message = refuse([names.get(word, word) for word in command.split()], tmp_path)

    assert "none.onnx" in message


def test_an_unreadable_image_is_refused(good, tmp_path, refuse):
    (tmp_path / "cat.png").write_text("no image")

    message = refuse(["predict", good / "model.onnx", tmp_path / "cat.png"], tmp_path)

    assert "cat.png: cannot be read as an image" in message


def test_a_data_folder_with_one_class_is_refused(tmp_path, refuse):
    for split in ("train", "val"):
        folder = tmp_path / "data" / split / "only"
        folder.mkdir(parents=True)
        for index in range(4):
            Image.fromarray(np.full((8, 8, 3), index, np.uint8)).save(folder / f"{index}.png")
    (tmp_path / "recipe.toml").write_text(
        'format = 1\n[model]\nnetwork = "bnn-cnn"\n'
        '[data]\ndataset = "folder"\nsize = 8\n[train]\nepochs = 1\nbatch = 2\n'
    )
    out = tmp_path / "run"

    command = ["train", tmp_path / "recipe.toml", "--data", tmp_path / "data", "--out", out]
    message = refuse(command, tmp_path)

    assert "class" in message
    assert not out.exists() or not any(out.iterdir())


def test_a_run_of_another_recipe_is_not_trained_over(good, refuse):
    message = refuse(["train", "bnn-mlp-digits", "--out", good / "ttq-lenet-digits"], good)

    assert "recipe" in message


def test_a_model_is_not_compared_with_the_run_of_another_recipe(good, refuse):
    command = ["verify-parity", good / "model.onnx", "--run", good / "ttq-lenet-digits"]

    assert "model.onnx" in refuse(command, good)


def test_weights_of_another_network_are_refused(good, tmp_path, refuse):
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    for file in (good / "bnn-mlp-digits").iterdir():
        (mixed / file.name).write_bytes(file.read_bytes())
    other = good / "ttq-lenet-digits" / "best.safetensors"
    (mixed / "best.safetensors").write_bytes(other.read_bytes())

    message = refuse(["export", mixed, "-o", tmp_path / "new.onnx"], tmp_path)

    assert "best.safetensors" in message


def test_an_existing_file_is_not_exported_over(good, tmp_path, refuse):
    (tmp_path / "kept.onnx").write_text("precious")

    message = refuse(["export", good / "bnn-mlp-digits", "-o", tmp_path / "kept.onnx"], tmp_path)

    assert "--force" in message or "force" in message
