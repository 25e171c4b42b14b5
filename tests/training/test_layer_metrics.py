"""Flips, zeros, scales and histograms of quantized layers."""

import torch
from torch import nn

from bnndeploy.layers import QuantLinear
from bnndeploy.training.layer_metrics import LayerMetrics, latent_histograms


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(4, 4),
        QuantLinear(4, 2, weight_quantizer="ste_sign"),
        QuantLinear(2, 4, weight_quantizer="ttq"),
    )


def test_flips_count_the_codes_that_changed_since_the_epoch_before():
    net = network()
    metrics = LayerMetrics(net)
    with torch.no_grad():
        net[1].weight[0, :2] *= -1

    first, again = metrics.rows(1, 10), metrics.rows(2, 20)

    assert [row["layer"] for row in first] == ["1", "2"]
    assert [row["flips"] for row in first] == [0.25, 0.0]
    assert [row["flips"] for row in again] == [0.0, 0.0]


def test_ternary_layers_report_zeros_and_both_scales():
    net = network()
    with torch.no_grad():
        net[2].weight.copy_(torch.tensor([[1.0, 0.0], [0.0, -1.0], [1.0, 0.0], [0.0, 0.0]]))
    quantizer = net[2].weight_quantizer

    row = LayerMetrics(net).rows(1, 1)[1]

    assert row["zeros"] == 5 / 8
    assert row["w_pos"] == quantizer.w_pos.item()
    assert row["w_neg"] == quantizer.w_neg.item()


def test_the_state_survives_packing():
    net = network()
    metrics, again = LayerMetrics(net), LayerMetrics(net)
    with torch.no_grad():
        net[1].weight.mul_(-1)
    metrics.rows(1, 1)

    again.unpack(metrics.pack())

    assert again.rows(2, 2)[0]["flips"] == 0.0


def test_a_histogram_counts_every_latent_weight():
    net = network()

    histograms = latent_histograms(net)

    assert set(histograms) == {"1", "2"}
    assert sum(histograms["1"]["counts"]) == 8
    assert histograms["1"]["low"] == net[1].weight.min().item()
