"""The zoo folder: every network has a recipe that builds and a card."""

import pytest

from bnndeploy.errors import RecipeError
from bnndeploy.training import data, zoo
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
