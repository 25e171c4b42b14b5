"""Folds what is constant and gives reshapes constant targets."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
from onnx_ir.passes import common
from onnxscript import optimizer

from bnndeploy.export.context import Context
from bnndeploy.export.graph import add_constant, constant, dims, is_op, replace


class SimplifyShapes:
    """Leaves a graph whose constants are initializers and whose shapes need no computing.

    1. Fold constant sub-graphs (small ones: bias and scale views).
    2. ``Reshape(x, computed shape)`` with at most one dynamic output axis takes the constant
       shape that has -1 there.
    3. Constant nodes become initializers; Identity and Dropout disappear.
    """

    name = "simplify-shapes"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        model = ir.Model(graph, ir_version=10)
        optimizer.fold_constants_ir(model)
        for node in list(graph):
            if is_op(node, "Reshape") and constant(node.inputs[1]) is None:
                self._fix_target(graph, node, context)
            elif is_op(node, "Dropout"):
                assert node.inputs[0] is not None
                replace(node.outputs[0], node.inputs[0])
        common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
        common.IdentityEliminationPass()(model)
        common.RemoveUnusedNodesPass()(model)

    def _fix_target(self, graph: ir.Graph, node: ir.Node, context: Context) -> None:
        target = dims(node.outputs[0])
        if target is None or sum(not isinstance(size, int) for size in target) > 1:
            context.declined(self.name, node, "more than one axis of the reshape is dynamic")
            return
        shape = np.array([size if isinstance(size, int) else -1 for size in target], np.int64)
        node.replace_input_with(1, add_constant(graph, shape, f"{node.name}.shape"))
