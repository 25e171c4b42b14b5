"""Recipes: what is read, what is refused, and the way back to TOML."""

import pytest

from bnndeploy.errors import RecipeError
from bnndeploy.training import recipe as recipes
from bnndeploy.training import zoo

MINIMAL = """
format = 1
[model]
network = "bnn-mlp"
[data]
dataset = "digits"
[train]
epochs = 2
"""


def parse(*overrides, text=MINIMAL):
    return recipes.parse(text, "named", overrides)


def test_defaults_fill_what_a_recipe_leaves_out():
    recipe = parse()

    assert recipe.name == "named"
    assert recipe.train.optimizer == "adam"
    assert recipe.train.epochs == 2
    assert recipe.export.form == "packed"


@pytest.mark.parametrize(
    ("override", "value"),
    [("train.epochs=7", 7), ("train.lr = 1e-3", 1e-3), ("train.lr=1", 1.0)],
)
def test_overrides_are_toml_values(override, value):
    recipe = parse(override)

    assert value in (recipe.train.epochs, recipe.train.lr)


def test_an_override_reaches_nested_tables_and_bare_words_are_strings():
    recipe = parse("train.optimizer=sgd", "model.options.hidden=[4, 5]", "train.bop.gamma=0.5")

    assert recipe.train.optimizer == "sgd"
    assert recipe.model.options == {"hidden": [4, 5]}
    assert recipe.train.bop.gamma == 0.5


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.epoch=1", "unknown key 'epoch' \\(did you mean 'epochs'\\?\\)"),
        ("trian.epochs=1", "unknown key 'trian' \\(did you mean 'train'\\?\\)"),
        ("train.epochs=1.5", "epochs: got 1.5, expected an integer"),
        ("train.amp=1", "amp: got 1, expected true or false"),
        ("train.epochs=true", "epochs: got True, expected an integer"),
        ("data.augment=flip", "augment: got 'flip', expected an array"),
        ("train.epochs=0", "got train.epochs = 0, expected at least 1"),
        ("data.validation=1.0", "got data.validation = 1.0, expected between 0 and 1"),
        ("train.seed=-1", "got train.seed = -1, expected at least 0"),
        ("train=3", "train: got 3, expected a table"),
        ("format=2", "got format = 2, expected format = 1"),
        ("epochs", "expected table.key=value"),
        ("train.lr.x=1", "missing epochs|lr: got"),
    ],
)
def test_what_is_wrong_is_refused_with_its_key(override, message):
    with pytest.raises(RecipeError, match=message):
        parse(override)


def test_missing_keys_are_named():
    with pytest.raises(RecipeError, match="train: missing epochs"):
        parse(text=MINIMAL.replace("epochs = 2", ""))


def test_text_that_is_no_toml_is_refused():
    with pytest.raises(RecipeError, match="not valid TOML"):
        parse(text="format = = 1")


def test_a_missing_file_is_one_clear_error(tmp_path):
    with pytest.raises(RecipeError, match=r"nothing.toml: cannot be read"):
        recipes.load(tmp_path / "nothing.toml")


@pytest.mark.parametrize("name", zoo.names())
def test_resolved_text_gives_the_same_recipe_back(name):
    recipe = recipes.load(zoo.folder(name) / "recipe.toml")

    assert recipes.parse(recipes.to_toml(recipe), "other name") == recipe


def test_odd_option_values_survive_the_way_to_text_and_back():
    text = MINIMAL + '[quantize.layers]\n"re:conv\\\\d+" = { weight = "ttq", t = [0.05, 1e-9] }\n'
    recipe = parse(text=text)

    assert recipes.parse(recipes.to_toml(recipe), "x") == recipe


def test_differences_name_keys_and_ignore_the_name():
    left, right = parse("name=a"), parse("name=b", "train.epochs=3", "model.options.hidden=[1]")

    assert recipes.differences(left, right) == ["model.options.hidden", "train.epochs"]
    assert recipes.differences(left, parse("name=b")) == []
