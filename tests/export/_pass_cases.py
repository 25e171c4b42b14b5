"""Small graphs in ONNX text, and what a list of passes makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import onnx_ir as ir
from _exported import run_oracle

from bnndeploy.export.context import Context, Event, Pass, run_passes
from bnndeploy.export.finish import finish
from bnndeploy.export.functions import attach_functions
from bnndeploy.export.passes.name_values import NameValues

HEADER = '<ir_version: 10, opset_import: ["" : 21, "ai.bnndeploy" : 1, "quant" : 1]>'


@dataclass
class Rewritten:
    before: onnx.ModelProto
    after: onnx.ModelProto
    events: list[Event]

    @property
    def nodes(self) -> list[str]:
        return [node.op_type for node in self.after.graph.node]

    @property
    def declined(self) -> list[str]:
        return [event.text for event in self.events if not event.fired]

    def constant(self, op_type: str, index: int) -> np.ndarray:
        node = next(node for node in self.after.graph.node if node.op_type == op_type)
        found = [t for t in self.after.graph.initializer if t.name == node.input[index]]
        return onnx.numpy_helper.to_array(found[0])


def build(
    inputs: str, nodes: str, outputs: str, constants: Mapping[str, np.ndarray]
) -> onnx.ModelProto:
    """Parses a graph; ``constants`` become initializers, shapes are inferred."""
    model = onnx.parser.parse_model(f"{HEADER} g ({inputs}) => ({outputs}) {{ {nodes} }}")
    for index, node in enumerate(model.graph.node):
        node.name = f"layer{index}/{node.op_type}"
    for name, array in constants.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    attach_functions(model)
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def rewrite(
    passes: Sequence[Pass],
    inputs: str,
    nodes: str,
    outputs: str,
    **constants: np.ndarray,
) -> Rewritten:
    before = build(inputs, nodes, outputs, constants)
    model = ir.from_proto(before)
    model.functions.clear()
    context = Context()
    run_passes(model, [*passes, NameValues()], context)
    return Rewritten(before, finish(model), context.events)


def assert_equal_values(rewritten: Rewritten, *inputs: np.ndarray, atol: float = 0.0) -> None:
    """Runs both graphs by the oracle; the outputs agree exactly unless ``atol`` says else."""
    with np.errstate(divide="ignore"):
        values = [run_oracle(model, *inputs) for model in (rewritten.before, rewritten.after)]
    for old, new in zip(rewritten.before.graph.output, rewritten.after.graph.output, strict=True):
        np.testing.assert_allclose(
            values[1][new.name], values[0][old.name], rtol=1e-6 if atol else 0, atol=atol
        )
