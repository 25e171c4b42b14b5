"""Runs the Python examples of the pages about recipes, training and data, and their recipe."""

import re
import subprocess
import sys
from dataclasses import fields

import pytest

from bnndeploy.training import data, optimizers, recipe, schedules


def examples(request, page, language):
    text = (request.config.rootpath / "docs" / f"{page}.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["recipes", "training", "data"])
def test_examples_of_a_page_run_one_after_the_other(request, tmp_path, page):
    found = examples(request, page, "python")
    assert found
    script = tmp_path / "examples.py"
    script.write_text("\n".join(found))

    ran = subprocess.run(
        [sys.executable, "-W", "error", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr


def test_the_recipe_of_the_page_is_a_recipe(request):
    (text,) = examples(request, "recipes", "toml")

    assert recipe.parse(text, "page").model.network == "bnn-cnn"


def test_every_key_and_every_choice_is_in_the_table(request):
    text = (request.config.rootpath / "docs" / "recipes.md").read_text()
    tables = {"model": recipe.ModelTable, "data": recipe.DataTable, "train": recipe.TrainTable}
    tables |= {"quantize": recipe.QuantizeTable, "export": recipe.ExportTable}

    for name, table in tables.items():
        for item in fields(table):
            assert f"`{name}.{item.name}`" in text or f"`{name}.{item.name}." in text
    for choice in (*optimizers.names(), *schedules.names(), *data.augment.names()):
        assert f"`{choice}`" in text


def test_every_data_set_is_on_its_page(request):
    text = (request.config.rootpath / "docs" / "data.md").read_text()

    assert all(f"`{name}`" in text for name in data.names())
