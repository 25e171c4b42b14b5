import pytest

from bnndeploy.errors import ModelFileError
from bnndeploy.runtime import InputSpec, read_metadata


def test_values_are_parsed_and_other_tools_keys_are_left_alone():
    metadata = read_metadata(
        {"bnndeploy.format": "1", "bnndeploy.classes": '["cat", "dog"]', "author": "not JSON"}
    )

    assert metadata.classes == ("cat", "dog")
    assert metadata.values == {"format": 1, "classes": ["cat", "dog"]}
    assert metadata.input is None


def test_one_number_stands_for_every_channel():
    spec = InputSpec.from_json(
        {"shape": [3, 4, 5], "colour": "rgb", "mean": 0.5, "std": [1, 2, 3], "range": [0, 1]}
    )

    assert spec == InputSpec((3, 4, 5), "rgb", (0.5, 0.5, 0.5), (1, 2, 3), 1.0)


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [8, 8]},
        {"shape": [1, 0, 8]},
        {"colour": "cmyk"},
        {"colour": "rgb"},
        {"std": [0.0]},
        {"mean": [0, 0]},
        {"mean": "half"},
        {"range": []},
    ],
)
def test_an_input_description_that_does_not_fit_is_refused(change):
    value = {"shape": [1, 8, 8], "colour": "grey", "mean": [0.0], "std": [1.0], "range": [0, 16]}

    with pytest.raises(ModelFileError, match=r"bnndeploy\.input: got .* expected shape"):
        InputSpec.from_json(value | change)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"bnndeploy.format": "2"}, r"bnndeploy\.format: got 2, expected 1"),
        ({"bnndeploy.classes": '{"0": "cat"}'}, r"bnndeploy\.classes: .* a list of names"),
        ({"bnndeploy.recipe": "{half"}, r"bnndeploy\.recipe: got '{half', expected a JSON"),
    ],
)
def test_metadata_of_another_version_or_a_damaged_one_is_refused(properties, message):
    with pytest.raises(ModelFileError, match=message):
        read_metadata(properties)
