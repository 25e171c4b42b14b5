"""Runs a graph node by node: our operators by the oracle, the others by onnxruntime."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import onnxruntime as ort
from onnx import NodeProto, helper, numpy_helper

from bnndeploy.errors import ModelFileError, OperatorError
from bnndeploy.ops.oracle import run_op
from bnndeploy.parity._model import Array, Model, attributes, describe, is_ours, label

_UNWANTED: Array = np.empty(0, np.float32)


@dataclass
class NodeRun:
    """One node with the values that it read and gave.

    Attributes:
        node: The node.
        inputs: Its inputs in order.
        results: All outputs of its operator, also unwanted ones.
        outputs: Its wanted outputs by name; what an observer puts here is what later nodes read.
    """

    node: NodeProto
    inputs: list[Array]
    results: tuple[Array, ...]
    outputs: dict[str, Array]


def walk(model: Model, feeds: Mapping[str, Array]) -> Iterator[NodeRun]:
    """Yields every node after it ran; a value is dropped after its last reader."""
    values = {**model.constants, **feeds}
    readers = Counter(name for node in model.nodes for name in node.input if name)
    for node in model.nodes:
        inputs = [values[name] for name in node.input if name]
        results = _run(model, node, inputs)
        wanted = {name: result for name, result in zip(node.output, results, strict=False) if name}
        run = NodeRun(node, inputs, results, wanted)
        yield run
        values.update(run.outputs)
        for name in filter(None, node.input):
            readers[name] -= 1
            if readers[name] == 0:
                values.pop(name, None)


def _run(model: Model, node: NodeProto, inputs: list[Array]) -> tuple[Array, ...]:
    try:
        if is_ours(node):
            return run_op(node.op_type, inputs, attributes(node))
        return _run_standard(model, node, inputs)
    except OperatorError as error:
        raise ModelFileError(f"{model.path}: node {label(node)}: {error}") from error


def _run_standard(model: Model, node: NodeProto, inputs: list[Array]) -> tuple[Array, ...]:
    """Runs one standard node by itself, so that no fusion changes its arithmetic."""
    named = dict(zip(filter(None, node.input), inputs, strict=True))
    # onnxruntime takes no INT2 array as a feed, so such weights are constants of the model.
    small = {name: array for name, array in named.items() if array.dtype.kind == "V"}
    feeds = {name: array for name, array in named.items() if name not in small}
    graph = helper.make_graph(
        [node],
        "node",
        [describe(name, array) for name, array in feeds.items()],
        [helper.make_empty_tensor_value_info(name) for name in node.output if name],
        [numpy_helper.from_array(array, name) for name, array in small.items()],
    )
    proto = helper.make_model(
        graph, ir_version=model.proto.ir_version, opset_imports=model.proto.opset_import
    )
    options = ort.SessionOptions()
    options.log_severity_level = 3
    try:
        session = ort.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"])
        results = iter(session.run(None, feeds))
    except Exception as error:  # onnxruntime raises its own class per status code
        raise OperatorError(str(error).strip().splitlines()[0]) from error
    return tuple(next(results) if name else _UNWANTED for name in node.output)
