"""One network of each kind of block, exported with random weights and proven."""

from types import SimpleNamespace

import pytest
import torch

from bnndeploy import networks
from bnndeploy.export import export_model
from bnndeploy.layers import QuantLayer
from bnndeploy.parity import verify
from bnndeploy.training.runs import randomise_batch_norms

PRODUCTS = ("XnorConv", "XnorGemm", "TernaryConv", "TernaryGemm")
NETWORKS = {
    "quicknet-small": {"input_shape": (3, 32, 32)},  # ReLU before batch-norm, border of +1
    "reactnet-18": {"input_shape": (3, 16, 16)},  # learned thresholds and corners
    "resnet-binary": {"input_shape": (3, 8, 8), "depth": 14, "inflate": 2},  # clipped shortcuts
    "ttq-resnet-20": {"input_shape": (3, 8, 8)},  # ternary weights, real inputs
}


@pytest.mark.slow
@pytest.mark.parametrize("network", NETWORKS)
def test_every_quantized_layer_becomes_one_packed_operator_that_computes_the_same(
    network, tmp_path
):
    torch.manual_seed(0)
    shape = NETWORKS[network]["input_shape"]
    module = networks.build(network, **NETWORKS[network]).eval()
    randomise_batch_norms(module, seed=0)

    report = export_model(module, torch.randn(2, *shape), tmp_path / "model.onnx")
    proof = verify(
        tmp_path / "model.onnx",
        SimpleNamespace(name=network, module=module, recipe=SimpleNamespace(seed=0)),
    )

    layers = sum(
        isinstance(part, QuantLayer) and part.weight_quantizer is not None
        for part in module.modules()
    )
    assert sum(report.nodes_after.get(op, 0) for op in PRODUCTS) == layers
    assert proof.passed, [step.result for step in proof.steps]
