import json

import pytest

from bnndeploy.errors import RecipeError
from bnndeploy.networks.summary import Counts
from bnndeploy.training import overview, zoo

RECIPE = """
format = 1
[model]
network = "bnn-mlp"
options = { hidden = [32] }
[data]
dataset = "digits"
[train]
epochs = 1
"""
CARD = """# tiny

A network for this test.

- Source: Somebody et al., "A Paper with a Title that Goes on",
  2016, arXiv:1602.02830
- Published accuracy: 99.04 % with
  more units
"""


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A zoo of one small network."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "recipe.toml").write_text(RECIPE)
    (folder / "README.md").write_text(CARD)
    monkeypatch.setattr(zoo, "_PLACES", (tmp_path,))
    return folder


def test_describes_a_network_by_its_recipe_and_card(tiny):
    assert overview.describe("tiny") == overview.Entry(
        name="tiny",
        network="bnn-mlp",
        dataset="digits",
        input_shape=(1, 8, 8),
        layers=2,
        counts=Counts(
            binary_parameters=64 * 32,
            float_parameters=2 * 32 + 32 * 10 + 10,
            float_macs=64 * 32 + 32 * 10,
            packed_bytes=4 * (32 * 2 + 2 * 32 + 32 * 10 + 10),
        ),
        published="99.04 % with more units",
        source='Somebody et al., "A Paper with a Title that Goes on", 2016, arXiv:1602.02830',
        ours="",
    )


def test_our_accuracy_comes_from_the_report_of_the_weights_in_the_zoo(tiny):
    (tiny / "report.json").write_text(json.dumps({"test_accuracy": 0.98765}))
    (tiny / "README.md").write_text(CARD + "- Trained here: 1 to 2 % of nothing\n")

    assert overview.describe("tiny").ours == "98.77 %"


def test_our_accuracy_comes_from_the_card_where_there_are_no_weights(tiny):
    (tiny / "README.md").write_text(CARD + "- Trained here: 96 to 98 % on 359 images, 13 s\n")

    assert overview.describe("tiny").ours == "96 to 98 %"


def test_an_unfinished_run_in_the_zoo_has_no_accuracy(tiny):
    (tiny / "report.json").write_text("{}")

    assert overview.describe("tiny").ours == ""


def test_the_table_has_one_line_a_network(tiny):
    lines = overview.to_markdown([overview.describe("tiny")]).splitlines()

    assert lines[0].startswith("| name | network | input | layers | 1-bit |")
    assert lines[1].count("|") == lines[0].count("|")
    assert lines[2] == (
        "| tiny | bnn-mlp | 1x8x8 | 2 | 2.05 k | 0 | 394 | 0 | 0 | 2.37 k | 1.8 KiB "
        "| 99.04 % with more units | not trained here |"
    )


def test_an_entry_becomes_json(tiny):
    entry = overview.describe("tiny").as_dict()

    assert json.loads(json.dumps(entry)) == entry
    assert entry["input_shape"] == [1, 8, 8]
    assert entry["binary_parameters"] == 2048


def test_the_layers_of_a_network_add_up_to_it(tiny):
    assert overview.layers("tiny").total == overview.describe("tiny").counts


def test_an_unknown_network_is_named():
    with pytest.raises(RecipeError, match="zoo: no network 'bnn-mpl'"):
        overview.describe("bnn-mpl")


@pytest.mark.parametrize("name", zoo.names())
def test_every_card_names_its_source_and_the_published_accuracy(name):
    card = (zoo.folder(name) / "README.md").read_text(encoding="utf-8")

    assert "\n- Source: " in card
    assert "\n- Published accuracy: " in card


@pytest.mark.parametrize("name", zoo.names())
def test_every_network_of_the_zoo_builds_and_is_in_the_docs(request, name):
    page = (request.config.rootpath / "docs" / "networks.md").read_text(encoding="utf-8")
    entry = overview.describe(name)

    assert entry.counts.binary_parameters + entry.counts.ternary_parameters > 0
    line = overview.to_markdown([entry]).splitlines()[2]
    assert line.rpartition(entry.ours or "not trained here")[0] in page, (
        "put the output of `bnndeploy models --markdown` into docs/networks.md"
    )
