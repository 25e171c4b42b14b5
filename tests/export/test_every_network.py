"""Every network of the zoo, its input reduced, in every form: fused, small, and equal.

``benchmarks/export_zoo.py`` does the same at the real sizes.
"""

import warnings
from types import SimpleNamespace

import numpy as np
import onnx_ir as ir
import onnxruntime as ort
import pytest
import torch
from _exported import fix_batch

from bnndeploy.export import import_model
from bnndeploy.export.compiler import compile_graph
from bnndeploy.export.emission import copy_for_export, emit, freeze
from bnndeploy.export.sample import take_sample
from bnndeploy.layers import QuantLayer
from bnndeploy.networks import build
from bnndeploy.parity import _run, verify
from bnndeploy.training import recipe as recipes
from bnndeploy.training import zoo
from bnndeploy.training.runs import randomise_batch_norms

# Of each network one size; the others repeat its layers. Smaller inputs, and depth where it can.
NETWORKS = {
    "binary-alexnet-imagenet": {"input_shape": (3, 64, 64)},
    "binary-densenet-28-imagenet": {"input_shape": (3, 32, 32)},
    "binary-resnet-e-18-imagenet": {"input_shape": (3, 32, 32)},
    "birealnet-18-imagenet": {"input_shape": (3, 32, 32)},
    "bnn-cnn-digits": {"input_shape": (1, 8, 8)},
    "bnn-mlp-digits": {"input_shape": (1, 8, 8)},
    "bnn-vgg-cifar10": {"input_shape": (3, 32, 32)},
    # Its own head, since the bound on size leaves room for the graph in proportion to weights.
    "dorefa-resnet-18-imagenet": {"input_shape": (3, 32, 32), "classes": 1000},
    "meliusnet-22-imagenet": {"input_shape": (3, 32, 32)},
    "quicknet-small-imagenet": {"input_shape": (3, 32, 32)},
    "reactnet-18-imagenet": {"input_shape": (3, 32, 32)},
    "reactnet-a-imagenet": {"input_shape": (3, 32, 32)},
    "real-to-binary-18-imagenet": {"input_shape": (3, 32, 32)},
    "resnet-binary-cifar10": {"input_shape": (3, 16, 16), "depth": 14},
    "ttq-lenet-digits": {"input_shape": (1, 8, 8)},
    "ttq-resnet-20-cifar10": {"input_shape": (3, 16, 16)},
    "xnor-alexnet-imagenet": {"input_shape": (3, 64, 64)},
}
SAME_LAYERS = {
    "binary-densenet-37-imagenet": "binary-densenet-28-imagenet",
    "binary-densenet-45-imagenet": "binary-densenet-28-imagenet",
    "birealnet-34-imagenet": "birealnet-18-imagenet",
    "bnn-mlp-4096-mnist": "bnn-mlp-digits",
    "bnn-mlp-mnist": "bnn-mlp-digits",
    "quicknet-large-imagenet": "quicknet-small-imagenet",
    "quicknet-medium-imagenet": "quicknet-small-imagenet",
    "ttq-lenet-mnist": "ttq-lenet-digits",
    "ttq-resnet-32-cifar10": "ttq-resnet-20-cifar10",
    "ttq-resnet-44-cifar10": "ttq-resnet-20-cifar10",
    "ttq-resnet-56-cifar10": "ttq-resnet-20-cifar10",
}

REAL = {"Conv", "Gemm", "BatchNormalization", "AveragePool", "MaxPool", "ReduceMean", "Reshape"}
FUSED = {  # how many PackBits stay, and which operators besides the real layers
    # One operator a block: convolution, batch-norm, shortcut, activation, the next sign.
    "reactnet-18-imagenet": (1, set()),
    "quicknet-small-imagenet": (4, {"Relu"}),
    # Each block concatenates floats, which batch-norms of their own then binarise.
    "meliusnet-22-imagenet": (34, {"Concat", "Relu"}),
    "ttq-resnet-20-cifar10": (0, {"Relu", "Pad"}),
}
PRODUCTS = ("XnorConv", "XnorGemm", "TernaryConv", "TernaryGemm")


def as_trained(name):
    """Builds the network with what training leaves: no parameter or statistic is trivial."""
    torch.manual_seed(0)
    model = recipes.load(zoo.find_recipe(name)).model
    module = build(model.network, **{"classes": 10, **model.options, **NETWORKS[name]}).eval()
    randomise_batch_norms(module, 0)
    with torch.no_grad():
        for parameter in module.parameters():  # slopes, shifts, scales, thresholds, biases
            if parameter.numel() and parameter.min() == parameter.max():
                parameter += 0.2 * torch.randn(parameter.shape)
    return module


class Case:
    """One network, traced once and compiled in every form."""

    def __init__(self, name):
        self.module = as_trained(name)
        generator = torch.Generator().manual_seed(1)
        self.x = torch.randn(2, *NETWORKS[name]["input_shape"], generator=generator)
        self.entries = {"sample": take_sample(self.module, [self.x], fixed=True)}
        self.traced = emit(  # tracing takes half the time where the batch is fixed
            freeze(copy_for_export(self.module)), [self.x], dynamic_shapes=(None,),
            input_names=["input"], output_names=["logits"],
        )  # fmt: skip
        with torch.no_grad():
            self.expected = self.module(self.x).numpy()

    def compile(self, form, path=None, **options):
        graph = ir.from_proto(ir.to_proto(self.traced))
        for old, new in zip(self.traced.graph, graph.graph, strict=True):
            new.metadata_props.update(old.metadata_props)
        return compile_graph(
            graph, form, path=path, force=False, entries=self.entries,
            calibration=[self.x.numpy()], **options,
        )  # fmt: skip

    def differs(self, y):
        """Returns how far the nearer row is: a sign of floats that rounding turns changes a row."""
        return np.abs(y - self.expected).max(axis=1).min() / np.abs(self.expected).max()


def run(model, x):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), options)
    return session.run(None, {"input": x.numpy()})[0]


def test_every_network_of_the_zoo_stands_for_itself_or_another():
    assert sorted([*NETWORKS, *SAME_LAYERS]) == sorted(zoo.names())
    assert set(SAME_LAYERS.values()) <= set(NETWORKS)


@pytest.fixture(autouse=True)
def few_inputs(monkeypatch):
    monkeypatch.setattr(_run, "_FIRST_VALUES", 1)  # as few rows as verify-parity ever takes


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_of_the_zoo_exports_in_every_form(name, tmp_path):
    case = Case(name)
    packed = case.compile("packed", tmp_path / "packed.onnx")
    check_packed(name, case, packed)
    for form, options in (("float", {}), ("standard", {}), ("standard", {"int2": True})):
        report = case.compile(form, **options)
        assert case.differs(run(report.model, case.x)) < 1e-4, (form, options)
    int8 = case.compile("int8")
    assert int8.nodes_after["QuantizeLinear"] > 1
    assert np.isfinite(run(int8.model, case.x)).all()
    qonnx = case.compile("qonnx")
    assert import_model(qonnx.model).nodes_after == packed.nodes_after
    assert case.differs(execute_qonnx(qonnx.model, case.x)) < 1e-4


def check_packed(name, case, report):
    layers = [part for part in case.module.modules() if isinstance(part, QuantLayer)]
    quantised = sum(layer.weight_quantizer is not None for layer in layers)
    planes = 4 if name.startswith("dorefa") else 1
    counts = report.nodes_after
    assert sum(counts.get(op, 0) for op in PRODUCTS) == quantised * planes
    if name in FUSED:
        packings, left = FUSED[name]
        assert counts.get("PackBits", 0) == packings
        assert set(counts) - REAL - {*PRODUCTS, "PackBits"} <= left
    kinds = report.bytes_by_kind
    weights = kinds["one_bit"] + kinds["two_bit"] + kinds["float"]
    assert report.size <= 1.02 * weights + (64 << 10)
    trained = SimpleNamespace(name=name, module=case.module, recipe=None)
    proof = verify(report.path, trained)
    assert proof.passed, [step.result for step in proof.steps]


def execute_qonnx(model, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        execution = pytest.importorskip("qonnx.core.onnx_exec", reason="qonnx is not installed")
        wrapper = pytest.importorskip("qonnx.core.modelwrapper")
        whole = wrapper.ModelWrapper(fix_batch(model, len(x)))
        return execution.execute_onnx(whole, {"input": x.numpy()})["logits"]
