"""Batch-norm and what else lies before a sign become thresholds that decide as torch does."""

import numpy as np
import pytest
import torch
from _exported import export, node_types, run_oracle
from torch import nn

from bnndeploy.layers import QuantConv2d, QuantLinear
from bnndeploy.quantizers import get

DEPTH = 21
EPSILONS = (1e-5, 1e-3, 1e-12, 0.1, 0.123456789012345)
FACTORS = (0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30, 1e-6, 3e4, -3e4, 1e20, -1e20)
VARIANCES = (1.0, 1e-12, 0.0, 37.5, 1e8, 1e-38)
CHANNELS = 60


def awkward_batch_norm(kind, eps, seed):
    """Draws gamma of both signs, zero, tiny and huge; variances down to 0; means at integers."""
    rng = np.random.default_rng(seed)
    norm = kind(CHANNELS, eps=eps)
    gamma = np.where(
        rng.random(CHANNELS) < 0.5, rng.choice(FACTORS, CHANNELS), rng.standard_normal(CHANNELS)
    )
    mean = np.where(
        rng.random(CHANNELS) < 0.5,
        rng.integers(-DEPTH, DEPTH, CHANNELS),
        DEPTH * rng.standard_normal(CHANNELS) / 3,
    )
    variance = np.where(
        rng.random(CHANNELS) < 0.5, rng.choice(VARIANCES, CHANNELS), 30 * rng.random(CHANNELS)
    )
    # Betas that put the flip right at an integer, where the last bit of torch's result decides.
    at = rng.integers(-DEPTH, DEPTH, CHANNELS)
    beta = np.where(
        rng.random(CHANNELS) < 0.6,
        -(at - mean) * gamma / np.sqrt(variance + eps),
        rng.standard_normal(CHANNELS),
    )
    with torch.no_grad():
        norm.weight.copy_(torch.from_numpy(gamma))
        norm.bias.copy_(torch.from_numpy(np.clip(beta, -3e38, 3e38)))
        norm.running_mean.copy_(torch.from_numpy(mean))
        norm.running_var.copy_(torch.from_numpy(variance))
    return norm.eval()


class OwnProducts(nn.Module):
    """Gives each end a product of its own with the same weights, so that chains stay single."""

    def __init__(self, make, ends):
        super().__init__()
        self.chains = nn.ModuleList(nn.Sequential(make(), *end, get("ste_sign")) for end in ends)

    def forward(self, x):
        return tuple(chain(x) for chain in self.chains)


BINARY = {"input_quantizer": "ste_sign", "weight_quantizer": "ste_sign", "bias": False}


def ones(product):
    with torch.no_grad():
        product.weight.fill_(1.0)
    return product


def every_accumulator():
    """Rows j with j inputs at +1 and the rest at -1: sums -K, -K + 2, … K."""
    x = np.where(np.arange(DEPTH) < np.arange(DEPTH + 1)[:, None], 1.0, -1.0)
    return torch.from_numpy(x.astype(np.float32))


def wrong_bits(module, report, x):
    values = run_oracle(report.model, x.numpy())
    with torch.no_grad():
        expected = module(x)
    return sum(
        int(np.sum(values[output.name] != e.numpy()))
        for output, e in zip(report.model.graph.output, expected, strict=True)
    )


@pytest.fixture(scope="module")
def vectors():
    ends = [
        [awkward_batch_norm(nn.BatchNorm1d, eps, seed)]
        for seed, eps in enumerate([*EPSILONS, *EPSILONS])
    ]
    return OwnProducts(lambda: ones(QuantLinear(DEPTH, CHANNELS, **BINARY)), ends).eval()


@pytest.fixture(scope="module")
def maps():
    ends = [
        [awkward_batch_norm(nn.BatchNorm2d, eps, 100 + seed)]
        for seed, eps in enumerate([*EPSILONS, *EPSILONS])
    ]
    return OwnProducts(lambda: ones(QuantConv2d(DEPTH, CHANNELS, 1, **BINARY)), ends).eval()


def test_every_accumulator_of_a_vector_decides_as_torch(vectors):
    report = export(vectors, torch.zeros(2, DEPTH))
    assert node_types(report).count("XnorGemm") == 10
    assert "BatchNormalization" not in node_types(report)

    assert wrong_bits(vectors, report, every_accumulator()) == 0


def test_every_accumulator_of_a_map_decides_as_torch(maps):
    size = {2: torch.export.Dim.DYNAMIC, 3: torch.export.Dim.DYNAMIC}
    report = export(
        maps, torch.zeros(2, DEPTH, 4, 6), dynamic_shapes=({0: torch.export.Dim.DYNAMIC, **size},)
    )
    assert "BatchNormalization" not in node_types(report)
    rows = every_accumulator().T.reshape(1, DEPTH, 1, DEPTH + 1)

    # Torch takes other loops for other widths: whole vectors, a tail, one pixel an image.
    for repeat in (1, 3, 4):
        assert wrong_bits(maps, report, rows.repeat(1, 1, repeat, 1)) == 0
    assert wrong_bits(maps, report, rows.permute(3, 1, 0, 2).contiguous()) == 0


def test_more_lies_before_a_sign_than_a_batch_norm():
    torch.manual_seed(1)
    ends = [
        [nn.PReLU(CHANNELS, init=0.3), awkward_batch_norm(nn.BatchNorm2d, 1e-5, 7)],
        [awkward_batch_norm(nn.BatchNorm2d, 1e-5, 8), nn.Hardtanh(-0.5, 2.0)],
        [nn.ReLU(), awkward_batch_norm(nn.BatchNorm2d, 1e-3, 9)],
        [nn.Tanh(), awkward_batch_norm(nn.BatchNorm2d, 1e-3, 10), nn.LeakyReLU(0.2)],
        [awkward_batch_norm(nn.BatchNorm2d, 1e-3, 11), awkward_batch_norm(nn.BatchNorm2d, 1, 12)],
    ]
    module = OwnProducts(
        lambda: QuantConv2d(
            DEPTH, CHANNELS, 1, input_quantizer="ste_sign", weight_quantizer="xnor_scale"
        ),
        ends,
    ).eval()
    report = export(module, torch.zeros(2, DEPTH, 4, 6))

    assert set(node_types(report)) == {"PackBits", "XnorConv", "UnpackBits"}
    rng = np.random.default_rng(5)
    assert (
        wrong_bits(
            module, report, torch.from_numpy(rng.standard_normal((9, DEPTH, 4, 6), np.float32))
        )
        == 0
    )


@pytest.mark.parametrize("pool_first", [True, False])
def test_a_max_pool_before_or_after_batch_norm_works_on_bits(pool_first):
    norms = [awkward_batch_norm(nn.BatchNorm2d, 1e-5, seed) for seed in (20, 21)]
    pools = [nn.MaxPool2d(2), nn.MaxPool2d(3, stride=2, padding=1)]
    ends = [
        [pool, norm] if pool_first else [norm, pool]
        for norm, pool in zip(norms, pools, strict=True)
    ]
    torch.manual_seed(2)
    module = OwnProducts(
        lambda: QuantConv2d(DEPTH, CHANNELS, 3, padding=1, pad_value=1, **BINARY), ends
    ).eval()
    report = export(module, torch.zeros(2, DEPTH, 7, 6))

    assert sorted(set(node_types(report))) == ["MaxPoolBits", "PackBits", "UnpackBits", "XnorConv"]
    rng = np.random.default_rng(6)
    assert (
        wrong_bits(
            module, report, torch.from_numpy(rng.standard_normal((5, DEPTH, 7, 6), np.float32))
        )
        == 0
    )


def test_a_pool_that_rounds_up_keeps_its_last_window():
    module = OwnProducts(
        lambda: QuantConv2d(DEPTH, CHANNELS, 1, **BINARY),
        [[nn.MaxPool2d(2, ceil_mode=True), awkward_batch_norm(nn.BatchNorm2d, 1e-5, 22)]],
    ).eval()
    report = export(module, torch.zeros(2, DEPTH, 5, 7))

    assert "MaxPoolBits" in node_types(report)
    rng = np.random.default_rng(7)
    assert (
        wrong_bits(
            module, report, torch.from_numpy(rng.standard_normal((3, DEPTH, 5, 7), np.float32))
        )
        == 0
    )


def test_batch_norm_of_real_values_decides_as_torch_at_every_float():
    """The flip lies at one float32; its neighbours are tried on both sides."""
    norm = awkward_batch_norm(nn.BatchNorm2d, 1e-5, 30)
    module = OwnProducts(nn.Identity, [[norm]])
    report = export(module, torch.zeros(2, CHANNELS, 3, 3))
    assert node_types(report) == ["PackBits", "UnpackBits"]

    pack = next(node for node in report.model.graph.node if node.op_type == "PackBits")
    arrays = {t.name: t for t in report.model.graph.initializer}
    sign, threshold = (np.frombuffer(arrays[n].raw_data, "<f4") for n in pack.input[1:])
    edge = np.where(np.isfinite(threshold), threshold * sign, 0).astype(np.float32)
    below, above = (np.nextafter(edge, np.float32(side * np.inf)) for side in (-1, 1))
    rows = np.stack([below, edge, above, edge * 2, -edge, np.ones_like(edge)])
    x = torch.from_numpy(np.ascontiguousarray(rows.T[None, :, :, None]))

    assert wrong_bits(module, report, x) == 0


def test_a_zero_gamma_gives_a_constant_bit():
    norm = nn.BatchNorm1d(2).eval()
    with torch.no_grad():
        norm.weight.zero_()
        norm.bias.copy_(torch.tensor([0.5, -0.5]))
    module = OwnProducts(lambda: ones(QuantLinear(DEPTH, 2, **BINARY)), [[norm]]).eval()
    report = export(module, torch.zeros(2, DEPTH))
    arrays = {t.name: t for t in report.model.graph.initializer}
    gemm = next(node for node in report.model.graph.node if node.op_type == "XnorGemm")

    threshold = np.frombuffer(arrays[gemm.input[-1]].raw_data, "<f4")
    np.testing.assert_array_equal(threshold, [-np.inf, np.inf])


def test_a_function_that_turns_back_is_not_a_threshold():
    prelu = nn.PReLU(CHANNELS, init=-0.5)
    norm = nn.BatchNorm2d(CHANNELS).eval()
    with torch.no_grad():
        norm.bias.fill_(-1.0)
    torch.manual_seed(3)
    module = OwnProducts(lambda: QuantConv2d(DEPTH, CHANNELS, 1, **BINARY), [[prelu, norm]]).eval()
    report = export(module, torch.zeros(2, DEPTH, 2, 2))

    # Only the batch-norm became a threshold; the PReLU stays, in the product's epilogue.
    conv = next(node for node in report.model.graph.node if node.op_type == "XnorConv")
    assert conv.input[5] == "chains.0.0.slope"
    rng = np.random.default_rng(8)
    x = torch.from_numpy(rng.standard_normal((4, DEPTH, 2, 2), np.float32))
    assert wrong_bits(module, report, x) == 0


def test_floats_that_are_needed_too_keep_bits_exact():
    """The product returns the folded batch-norm and its bits; the bits are still torch's."""
    torch.manual_seed(4)

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.product = ones(QuantConv2d(DEPTH, CHANNELS, 1, **BINARY))
            self.norm = awkward_batch_norm(nn.BatchNorm2d, 1e-5, 40)
            with torch.no_grad():  # thresholds on Y express rising and falling Y, not huge ones
                self.norm.weight.copy_(torch.randn(CHANNELS))
                self.norm.bias.copy_(
                    -(torch.arange(CHANNELS) % DEPTH - self.norm.running_mean)
                    * self.norm.weight
                    * torch.rsqrt(self.norm.running_var + 1e-5)
                )
            self.sign = get("ste_sign")

        def forward(self, x):
            y = self.norm(self.product(x))
            return self.sign(y), y

    module = Both().eval()
    report = export(module, torch.zeros(2, DEPTH, 1, 4))
    assert node_types(report) == ["PackBits", "XnorConv", "UnpackBits"]
    rows = every_accumulator().T.reshape(1, DEPTH, 1, DEPTH + 1)
    x = rows[..., : 4 * (DEPTH // 4)].reshape(1, DEPTH, -1, 4).permute(2, 1, 0, 3).contiguous()
    values = run_oracle(report.model, x.numpy())
    with torch.no_grad():
        bits, floats = module(x)

    names = [output.name for output in report.model.graph.output]
    np.testing.assert_array_equal(values[names[0]], bits.numpy())
    np.testing.assert_allclose(values[names[1]], floats.numpy(), rtol=1e-5, atol=1e-3)
