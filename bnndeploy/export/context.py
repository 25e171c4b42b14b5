"""What the passes share while they run: the model, the log, the thresholds found so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import onnx_ir as ir
from onnx_ir.passes import common

from bnndeploy.export.crossing import Crossing


@dataclass(frozen=True)
class Event:
    """Tells that a pass fired on a node, or that it declined and why.

    Attributes:
        pass_name: The pass.
        subject: The node, named by its module path.
        fired: False for "declined".
        text: What was done, or the reason for not doing it.
    """

    pass_name: str
    subject: str
    fired: bool
    text: str


@dataclass
class Context:
    """Collects what the passes report.

    Attributes:
        events: In the order they happened; a decline is listed once a subject and reason.
        crossings: For a PackBits node whose float input must stay: where its bits flip along
            the accumulator of the product at the head of its chain.
    """

    events: list[Event] = field(default_factory=list)
    crossings: dict[ir.Node, tuple[ir.Node, Crossing]] = field(default_factory=dict)
    _declined: dict[Event, ir.Node] = field(default_factory=dict)

    def fired(self, pass_name: str, node: ir.Node, text: str) -> None:
        self.events.append(Event(pass_name, node.name or node.op_type, True, text))

    def declined(self, pass_name: str, node: ir.Node, reason: str) -> None:
        event = Event(pass_name, node.name or node.op_type, False, reason)
        if event not in self._declined:
            self._declined[event] = node
            self.events.append(event)

    def forget_settled(self, graph: ir.Graph) -> None:
        """Drops the declines about nodes that a later rewrite took in after all."""
        alive = set(graph)
        settled = {event for event, node in self._declined.items() if node not in alive}
        self.events = [event for event in self.events if event not in settled]


class Pass(Protocol):
    """Rewrites a graph in place; one file, one class, verbs for names."""

    name: str

    def __call__(self, graph: ir.Graph, context: Context) -> None: ...


def run_passes(model: ir.Model, passes: Sequence[Pass], context: Context) -> None:
    """Runs passes one after the other, removing dead code after each."""
    for apply in passes:
        apply(model.graph, context)
        model.graph.sort()
        common.RemoveUnusedNodesPass()(model)
