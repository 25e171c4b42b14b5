"""Names the values after the layers, so that a reader finds them."""

from __future__ import annotations

import onnx_ir as ir

from bnndeploy.export.context import Context
from bnndeploy.export.graph import is_dead, number_nodes
from bnndeploy.export.product import PRODUCTS
from bnndeploy.ops.names import DOMAIN


class NameValues:
    """Names every value after the node that makes it.

    1. A product's floats take the layer's module path, its bits ``<path>.bits``; an unwanted
       output is ''.
    2. Other values take the node's name. Graph inputs and outputs keep theirs.
    """

    name = "name-values"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        taken = {value.name for value in [*graph.inputs, *graph.outputs]} | set(graph.initializers)
        number_nodes(graph)
        for node in graph:
            is_product = node.domain == DOMAIN and node.op_type in PRODUCTS
            wanted = [str(node.name), *(f"{node.name}.{i}" for i in range(1, len(node.outputs)))]
            if is_product:
                wanted = [str(node.name), f"{node.name}.bits"]
            for output, name in zip(node.outputs, wanted, strict=True):
                if output.is_graph_output():
                    continue
                if is_product and is_dead(output):
                    output.name = ""
                    continue
                number, chosen = 1, name
                while chosen in taken:
                    chosen, number = f"{name}_{number}", number + 1
                output.name = chosen
                taken.add(chosen)
