import pytest
import torch

from bnndeploy import quantizers
from bnndeploy.errors import RecipeError


def test_every_registered_quantizer_is_documented():
    for name in quantizers.names():
        text = quantizers.builder(name).__doc__
        for part in ("Forward", "Backward", "Shape:", "Reference:", "eploys"):
            assert part in text, (name, part)


def test_an_unknown_quantizer_lists_the_known_ones():
    with pytest.raises(RecipeError, match=r"quantizer 'ste_sing' is unknown .*'ste_sign'.*ttq"):
        quantizers.get("ste_sing")


def test_an_activation_quantizer_gives_codes_with_scale_one():
    codes = quantizers.get("ste_sign").codes_and_scales(torch.tensor([[0.3, -0.2]]))

    assert codes.codes.tolist() == [[1, -1]]
    assert codes.scale is None
    assert codes.w_pos is None


def test_planes_mark_positive_and_negative_codes():
    positive, negative = quantizers.WeightCodes(torch.tensor([1.0, 0.0, -1.0])).split()

    assert positive.tolist() == [1, 0, 0]
    assert negative.tolist() == [0, 0, 1]


@pytest.mark.parametrize("name", ["ttq", "twn", "ste_sign"])
def test_fixed_codes_repeat_what_they_were_made_of(name):
    torch.manual_seed(0)
    weight = torch.randn(4, 6)
    quantizer = quantizers.get(name)
    quantizer.attach(weight)
    original = quantizer.codes_and_scales(weight)
    fixed = quantizers.FixedCodes(original, quantizer.bits)
    repeated = fixed.codes_and_scales(torch.zeros_like(weight))

    assert torch.equal(repeated.codes, original.codes)
    for key in ("scale", "w_pos", "w_neg"):
        expected = getattr(original, key)
        assert expected is getattr(repeated, key) or torch.equal(getattr(repeated, key), expected)
    assert torch.equal(fixed(weight), quantizer(weight))
    assert not any(parameter.requires_grad for parameter in fixed.parameters())


@pytest.mark.parametrize(
    ("name", "options", "bits"),
    [
        ("dorefa_weight", {"bits": 1}, 1),
        ("dorefa_weight", {"bits": 2}, None),
        ("dorefa_activation", {"bits": 1}, None),
        ("lsq", {"bits": 2}, None),
        ("fixed_point", {"size": 2}, None),
        ("ste_heaviside", {}, None),
    ],
)
def test_bits_are_those_that_the_operators_pack(name, options, bits):
    assert quantizers.get(name, **options).bits == bits
