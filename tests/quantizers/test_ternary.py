import numpy as np
import pytest
import torch

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers import Ternary, get

NAN, INF = float("nan"), float("inf")
ABOVE = float(np.nextafter(np.float32(0.5), np.float32(1)))
BELOW = float(np.nextafter(np.float32(0.5), np.float32(0)))


def test_levels_at_the_threshold_and_at_special_values(forward_and_gradient):
    values = [-INF, -ABOVE, -0.5, -BELOW, -0.0, 0.0, BELOW, 0.5, ABOVE, INF, NAN]
    y, gradient = forward_and_gradient(Ternary(threshold=0.5), values)

    assert y.tolist() == [-1, -1, 0, 0, 0, 0, 0, 0, 1, 1, 0]
    assert gradient.tolist() == [0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0]


def test_gate_includes_the_clip_value(forward_and_gradient):
    after_one = float(np.nextafter(np.float32(1), np.float32(2)))
    _, gradient = forward_and_gradient(Ternary(), [-after_one, -1.0, 1.0, after_one])

    assert gradient.tolist() == [0, 1, 1, 0]


def test_threshold_zero_gives_zero_at_zero_only(forward_and_gradient):
    y, _ = forward_and_gradient(Ternary(threshold=0.0), [-1e-45, -0.0, 0.0, 1e-45])

    assert y.tolist() == [-1, 0, 0, 1]


def test_threshold_is_no_part_of_a_checkpoint():
    assert Ternary().state_dict() == {}


def test_both_names_build_it():
    assert type(get("ste_tern")) is type(get("ternary")) is Ternary


def test_weights_get_codes_with_scale_one():
    codes = Ternary(threshold=0.1).codes_and_scales(torch.tensor([[0.3, 0.05, -0.2]]))

    assert codes.codes.tolist() == [[1, 0, -1]]
    assert codes.scale is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": -0.1}, "threshold must be at least 0, got -0.1"),
        ({"threshold": NAN}, "threshold must be at least 0, got nan"),
        ({"threshold": 1.0}, r"got clip 1.0 and threshold 1.0, expected clip above"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(RecipeError, match=message):
        get("ternary", **options)
