"""Small ONNX models in standard operators, for tests of what runs and serves files."""

import json

import numpy as np
from onnx import TensorProto, helper, numpy_helper

DIGITS_INPUT = {
    "shape": [1, 8, 8],
    "colour": "grey",
    "mean": [0.5],
    "std": [0.25],
    "range": [0, 16],
}


def save(graph, metadata=None):
    """Wraps a graph into the bytes of a model as bnndeploy writes it: IR 10, opset 21."""
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    helper.set_model_props(
        model, {f"bnndeploy.{key}": json.dumps(value) for key, value in (metadata or {}).items()}
    )
    return model.SerializeToString()


def classifier(classes=("zero", "one", "two"), spec=None, *, flat=False, seed=0):
    """One linear layer on an image; returns the model's bytes and its weight [pixels, classes]."""
    spec = spec or DIGITS_INPUT
    pixels = int(np.prod(spec["shape"]))
    weight = np.random.default_rng(seed).standard_normal((pixels, len(classes)), np.float32)
    nodes = [
        helper.make_node("Flatten", ["x"], ["rows"]),
        helper.make_node("MatMul", ["rows", "weight"], ["logits"]),
    ]
    shape = ["N", pixels] if flat else ["N", *spec["shape"]]
    graph = helper.make_graph(
        nodes,
        "classifier",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", len(classes)])],
        [numpy_helper.from_array(weight, "weight")],
    )
    return save(graph, {"format": 1, "classes": list(classes), "input": spec}), weight


def identity(element=TensorProto.FLOAT, shape=("N", 4), metadata=None):
    """Returns its input unchanged."""
    return save(
        helper.make_graph(
            [helper.make_node("Identity", ["x"], ["y"])],
            "identity",
            [helper.make_tensor_value_info("x", element, shape)],
            [helper.make_tensor_value_info("y", element, shape)],
        ),
        metadata,
    )


def sum_and_difference(batch="N", metadata=None):
    """Two inputs, two outputs of one shape: total = a + b, rest = a - b."""
    values = {
        name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, 3])
        for name in ("a", "b", "total", "rest")
    }
    nodes = [
        helper.make_node("Add", ["a", "b"], ["total"]),
        helper.make_node("Sub", ["a", "b"], ["rest"]),
    ]
    graph = helper.make_graph(
        nodes, "arithmetic", [values["a"], values["b"]], [values["total"], values["rest"]]
    )
    return save(graph, metadata)


def gather():
    """Picks rows of a table of four; an index beyond it makes the run fail."""
    table = numpy_helper.from_array(np.arange(8, dtype=np.float32).reshape(4, 2), "table")
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "index"], ["row"])],
        "gather",
        [helper.make_tensor_value_info("index", TensorProto.INT64, ["N"])],
        [helper.make_tensor_value_info("row", TensorProto.FLOAT, ["N", 2])],
        [table],
    )
    return save(graph)


def write_version(folder, name, version, data):
    """Puts ``<name>/<version>/model.onnx`` in place at once, as a deployment should."""
    target = folder / name / str(version) / "model.onnx"
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_suffix(".new")
    new.write_bytes(data)
    new.replace(target)
