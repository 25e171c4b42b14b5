"""The zoo folder: every network has a recipe that builds and a card."""

import json
import os

import pytest

from bnndeploy.errors import RecipeError
from bnndeploy.training import data, overview, zoo
from bnndeploy.training import recipe as recipes


def test_an_unknown_network_names_the_nearest():
    with pytest.raises(RecipeError, match=r"no network 'bnn-mlp-digit' \(did you mean 'bnn-mlp-"):
        zoo.folder("bnn-mlp-digit")


@pytest.mark.parametrize("name", zoo.names())
def test_every_network_has_a_recipe_of_its_name_and_a_card(name):
    folder = zoo.folder(name)
    recipe = recipes.load(folder / "recipe.toml")

    assert recipe.name == name
    assert data.get(recipe.data).classes
    assert (folder / "README.md").read_text().startswith(f"# {name}\n")


def test_a_path_a_folder_and_a_name_all_find_a_recipe(tmp_path):
    (tmp_path / "recipe.toml").touch()

    assert zoo.find_recipe(str(tmp_path)) == tmp_path / "recipe.toml"
    assert zoo.find_recipe(str(tmp_path / "recipe.toml")) == tmp_path / "recipe.toml"
    assert zoo.find_recipe("bnn-mlp-digits") == zoo.folder("bnn-mlp-digits") / "recipe.toml"


EXPORTED = [name for name in zoo.names() if (zoo.folder(name) / "model.onnx").is_file()]


def test_small_networks_of_both_kinds_are_there_trained_and_exported():
    assert {"bnn-cnn-digits", "bnn-mlp-mnist", "ttq-lenet-mnist"} <= set(EXPORTED)


@pytest.mark.parametrize("name", EXPORTED)
def test_an_exported_network_reaches_the_accuracy_of_its_card(name):
    pytest.importorskip("onnxruntime")
    from bnndeploy import InferenceSession

    session = InferenceSession(zoo.folder(name) / "model.onnx", portable=True)
    metadata = session.get_modelmeta().custom_metadata_map
    accuracy = json.loads(metadata["bnndeploy.metrics"])["test_accuracy"]
    assert f"{100 * accuracy:.2f} %" == overview.describe(name).ours

    table = recipes.load(zoo.folder(name) / "recipe.toml").data
    root = os.environ.get("BNNDEPLOY_DATA")
    if table.dataset != "digits" and root is None:
        pytest.skip("set BNNDEPLOY_DATA to the folder of the data sets to classify them")
    test = data.load(table, root).test
    count = min(len(test), 1000)
    logits = session.run(None, {"input": test.images[:count].numpy()})[0]
    reached = (logits.argmax(1) == test.labels[:count].numpy()).mean()
    # All test images give the card's figure; a thousand of them lie within three deviations.
    slack = 0 if count == len(test) else 3 * (accuracy * (1 - accuracy) / count) ** 0.5
    assert reached == pytest.approx(accuracy, abs=slack + 1e-6)
