import pytest
import torch

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers import Twn, get

# mean |w| = 0.5, so D = 0.35; kept: 1.0, 0.5, -0.8 with mean magnitude 2.3 / 3.
WEIGHT = torch.tensor([[1.0, 0.5, -0.3], [-0.8, 0.3, 0.1]])


def test_threshold_and_scale_of_the_paper():
    quantized = Twn().codes_and_scales(WEIGHT)

    assert quantized.codes.tolist() == [[1, 1, 0], [-1, 0, 0]]
    torch.testing.assert_close(quantized.scale, torch.tensor([2.3 / 3]))


def test_each_filter_may_have_a_threshold_and_scale_of_its_own():
    # mean |w| per filter: 0.6 and 0.4, so D = 0.42 and 0.28.
    quantized = Twn(granularity="filter").codes_and_scales(WEIGHT)

    assert quantized.codes.tolist() == [[1, 1, 0], [-1, 1, 0]]
    torch.testing.assert_close(quantized.scale, torch.tensor([0.75, 0.55]))


def test_unscaled_codes_have_no_scale():
    assert Twn(scaled=False).codes_and_scales(WEIGHT).scale is None


def test_all_zero_weights_give_zero_codes_and_scale():
    quantized = Twn().codes_and_scales(torch.zeros(2, 3))

    assert not quantized.codes.any()
    assert quantized.scale.tolist() == [0]


def test_nan_and_infinite_weights_keep_three_levels():
    weight = torch.tensor([[float("inf"), -float("inf"), float("nan")]])

    assert Twn().codes_and_scales(weight).codes.tolist() == [[0, 0, 0]]


def test_gradient_passes_inside_the_clip_and_skips_the_scale():
    weight = torch.tensor([[0.9, 0.01, -1.0], [1.0000001, -1.5, 0.0]], requires_grad=True)
    quantized = Twn().codes_and_scales(weight)
    (quantized.codes * quantized.scale).sum().backward()

    alpha = quantized.scale.item()
    expected = torch.tensor([[1, 1, 1], [0, 0, 1]]) * alpha
    torch.testing.assert_close(weight.grad, expected, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"factor": -1}, "factor must be at least 0, got -1"),
        ({"granularity": "row"}, "granularity: got 'row', expected one of tensor, filter"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(RecipeError, match=message):
        get("twn", **options)


def test_a_weight_on_the_threshold_gives_zero():
    # mean |w| = 1, so D = 0.5.
    weight = torch.tensor([[1.0, 0.5, -0.5, 2.0]])

    assert Twn(factor=0.5).codes_and_scales(weight).codes.tolist() == [[1, 0, 0, 1]]
