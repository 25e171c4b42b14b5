"""The zoo: one folder per network with its recipe, card and trained weights."""

from __future__ import annotations

from pathlib import Path

import bnndeploy
from bnndeploy.errors import CheckpointError, RecipeError
from bnndeploy.registry import nearest

_PACKAGE = Path(bnndeploy.__file__).parent
# A checkout's models/ comes first, so that an editable install sees the files being worked on.
_PLACES = (_PACKAGE.parent / "models", _PACKAGE / "models")


def root() -> Path:
    """Returns the folder that holds the zoo: the checkout's, else the installed one."""
    for place in _PLACES:
        if any(place.glob("*/recipe.toml")):
            return place
    raise RecipeError(f"zoo: no recipes in {' or '.join(map(str, _PLACES))}, reinstall bnndeploy")


def names() -> list[str]:
    """Lists the networks of the zoo."""
    return sorted(path.parent.name for path in root().glob("*/recipe.toml"))


def folder(name: str) -> Path:
    """Returns the folder of one network of the zoo.

    Raises:
        RecipeError: there is no such network.
    """
    if name not in names():
        raise RecipeError(
            f"zoo: no network {name!r}{nearest(name, names())}; known: {', '.join(names())}"
        )
    return root() / name


def find_recipe(recipe: str) -> Path:
    """Returns the recipe file that a run, a recipe file or a zoo name stands for.

    Raises:
        CheckpointError: If it is a folder without a run.
        RecipeError: If it is neither a path nor a name of the zoo.
    """
    path = Path(recipe)
    if path.is_dir() and recipe not in names():
        if not (path / "recipe.toml").is_file():
            raise CheckpointError(
                f"{path}: holds no run, expected a folder with a recipe.toml; give a run, "
                "a recipe file or a zoo name"
            )
        return path / "recipe.toml"
    if path.is_file() or path.suffix == ".toml" or len(path.parts) > 1:
        return path
    return folder(recipe) / "recipe.toml"
