"""Runs one operator in ONNX Runtime with our library, on each instruction set of the machine.

``BNNDEPLOY_TEST_PROVIDER=CUDAExecutionProvider`` runs them on a device instead, and
``BNNDEPLOY_LIBRARY`` may name the library that runs the CUDA kernels on the host; the devices that
it can play then take the place of instruction sets.
"""

import os

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper

from bnndeploy.ops import oracle
from bnndeploy.ops.names import DOMAIN, IR_VERSION, OPSET, SIGNATURES, VERSION
from bnndeploy.runtime import InferenceSession
from bnndeploy.runtime.library import kernel_report
from bnndeploy.runtime.providers import CPU, CUDA

REPORT = kernel_report()
PROVIDER = os.environ.get("BNNDEPLOY_TEST_PROVIDER", CPU)
# The CUDA kernels pack weights when a node is created, and refuse those that a graph computes.
CONSTANT_WEIGHTS_ONLY = PROVIDER == CUDA or "constant_weights_only" in REPORT
ELEMENT_TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.float16): TensorProto.FLOAT16,
    np.dtype(np.float64): TensorProto.DOUBLE,
    np.dtype(np.uint32): TensorProto.UINT32,
    np.dtype(np.int32): TensorProto.INT32,
}


@pytest.fixture
def provider():
    return PROVIDER


@pytest.fixture
def rng():
    return np.random.default_rng(20240607)


def pytest_generate_tests(metafunc):
    """Runs a test that takes ``isa`` on every instruction set of the machine.

    A module that names its ``KERNEL`` leaves out the sets for which that has no variant.
    """
    if "isa" in metafunc.fixturenames:
        isas = REPORT["isa"]["supported"] if PROVIDER == CPU else ["cuda"]
        if PROVIDER == CPU and (kernel := getattr(metafunc.module, "KERNEL", None)):
            isas = [isa for isa in isas if isa in REPORT["kernels"][kernel]["variants"]]
        metafunc.parametrize("isa", isas, indirect=True)


@pytest.fixture
def isa(request, monkeypatch):
    """Caps the kernels of sessions created from here on."""
    if request.param != "cuda":
        monkeypatch.setenv("BNNDEPLOY_ISA", request.param)
    return request.param


def node_model(op_type, inputs, attributes, dynamic=False, outputs=None, shapes=None):
    """Returns a model of one node; the first input, or all if dynamic, is fed, the others stored.

    ``outputs`` names the outputs to ask for ('' for an unwanted one), ``shapes`` replaces the
    declared shapes of fed inputs.
    """
    signature = SIGNATURES[op_type]
    names = signature.inputs[: len(inputs)]
    outputs = signature.outputs if outputs is None else outputs
    fed = [n for n in names if n != "W" or not CONSTANT_WEIGHTS_ONLY] if dynamic else names[:1]
    node = helper.make_node(op_type, names, outputs, name="it", domain=DOMAIN, **attributes)
    values = dict(zip(names, inputs, strict=True))
    declared = shapes if shapes is not None else {name: [None] * values[name].ndim for name in fed}
    graph = helper.make_graph(
        [node],
        "one_node",
        [
            helper.make_tensor_value_info(name, ELEMENT_TYPES[values[name].dtype], declared[name])
            for name in fed
        ],
        [helper.make_empty_tensor_value_info(name) for name in outputs if name],
        [numpy_helper.from_array(values[name], name) for name in names if name not in fed],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, VERSION)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    return model.SerializeToString(), {name: values[name] for name in fed}


@pytest.fixture
def make_model():
    return node_model


@pytest.fixture
def run_op():
    """Runs ``run_op(op_type, inputs, **attributes)`` in our kernels; returns the outputs."""

    def run(op_type, inputs, *, dynamic=False, outputs=None, threads=1, **attributes):
        model, feeds = node_model(op_type, inputs, attributes, dynamic, outputs)
        return InferenceSession(model, [PROVIDER], threads).run(None, feeds)

    return run


@pytest.fixture
def assert_equals_oracle(run_op):
    """Asserts that kernel and oracle give the same values, types and words."""

    def check(op_type, inputs, *, dynamic=False, threads=1, **attributes):
        expected = oracle.run_op(op_type, inputs, attributes)
        found = run_op(op_type, inputs, dynamic=dynamic, threads=threads, **attributes)
        assert len(found) == len(expected)
        for got, want in zip(found, expected, strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want, strict=True)
        return found

    return check


def special_values(rng, shape, dtype=np.float32):
    """Returns normal values sprinkled with zeros of both signs, NaN and infinities."""
    values = rng.normal(size=shape).astype(dtype)
    specials = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-7, -1e-7], dtype)
    chosen = rng.random(shape) < 0.2
    values[chosen] = rng.choice(specials, size=int(chosen.sum()))
    return values


@pytest.fixture
def specials(rng):
    return lambda shape, dtype=np.float32: special_values(rng, shape, dtype)
