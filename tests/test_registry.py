import pytest

from bnndeploy.errors import RecipeError
from bnndeploy.registry import Registry


@pytest.fixture
def fruits():
    registry = Registry("fruit")

    @registry.register("apple")
    def apple(colour="red", *, weight):
        return f"{colour} apple of {weight} g"

    @registry.register("pear")
    def pear():
        return "pear"

    return registry


def test_builds_by_name_with_options(fruits):
    assert fruits.build("apple", weight=90) == "red apple of 90 g"
    assert fruits.names() == ["apple", "pear"]


def test_a_taken_name_is_refused(fruits):
    with pytest.raises(RecipeError, match="fruit 'pear' is already registered by"):
        fruits.register("pear")


def test_an_unknown_name_lists_the_known_ones_and_the_nearest(fruits):
    with pytest.raises(RecipeError, match=r"'aple' is unknown \(did you mean 'apple'\?\); known"):
        fruits.build("aple")
    with pytest.raises(RecipeError, match="'xyz' is unknown; known: apple, pear"):
        fruits.build("xyz")


def test_an_unknown_option_lists_the_known_ones(fruits):
    with pytest.raises(RecipeError, match=r"option 'color' is unknown \(did you mean 'colour'"):
        fruits.build("apple", color="green", weight=1)
    with pytest.raises(RecipeError, match="option 'size' is unknown; known: none"):
        fruits.build("pear", size=1)


def test_a_missing_option_is_named(fruits):
    with pytest.raises(RecipeError, match="fruit 'apple': option 'weight' is missing"):
        fruits.build("apple")


def test_a_class_without_options_of_its_own_has_none():
    class Open:
        def __init__(self, *args, **kwargs):
            pass

    registry = Registry("door")
    registry.register("open")(Open)

    assert registry.options("open") == {}
    assert isinstance(registry.build("open"), Open)
