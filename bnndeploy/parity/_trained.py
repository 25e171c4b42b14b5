"""Step 1 with a run: the trained module against the packed graph run by the oracle."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bnndeploy.ops.packing import pack_mask
from bnndeploy.parity._compare import (
    Difference,
    along_channels,
    bits_differ,
    is_product,
    numbers_differ,
)
from bnndeploy.parity._end_to_end import Batch
from bnndeploy.parity._model import Array, Model, describe, is_ours, label
from bnndeploy.parity._probes import Recording, activation, read_probes, record
from bnndeploy.parity._report import Check, NodeStep
from bnndeploy.parity._reproducer import Reproducer
from bnndeploy.parity._run import RunInputs, check_recipe, version_note
from bnndeploy.parity._tolerance import check_shapes, tolerance
from bnndeploy.parity._walk import NodeRun

if TYPE_CHECKING:
    from bnndeploy.training import TrainedRun
    from bnndeploy.training.data import DataSplits

MARGIN = 1e-4
"""Of decisions: how near a threshold, relative to the spread around it, rounding explains."""

UNSEEN = 1e-4
"""Share of bits that rounding may flip where the real value behind them cannot be seen."""

FLOAT16_PLACE = 2.0**-10
"""Of a number: how far the next one of float16 is at most."""

# Standard operators that move values or compare them: exact on exact input.
_EXACT_STANDARD = {
    "Concat", "Expand", "Flatten", "Gather", "Identity", "Max", "MaxPool", "Pad", "Relu",
    "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze",
}  # fmt: skip


class RunReference:
    """Holds the file against the trained module; see ``Reference``.

    Each probed value is compared and then replaced by the trained module's own. So each piece
    of the graph is tested on the right inputs, and a difference shows where it arises and
    nowhere behind it.
    """

    def __init__(
        self, model: Model, run: TrainedRun, data: DataSplits | None, limit: int | None
    ) -> None:
        check_recipe(model, run)
        self.name: str | None = run.name
        self.real_values: dict[str, Array] = {}
        self.exact_values: dict[str, Array] = {}
        self.reproducer: Reproducer | None = None
        self.step = NodeStep(
            1, "trained module ↔ graph run by the oracle", note=version_note(model)
        )
        self._model, self._module = model, run.module
        self._inputs = RunInputs(model, data, limit)
        self.source, self.feeds = self._inputs.source, self._inputs.first()
        probes = read_probes(model, run.module)
        paths = [probe.module for probe in probes.values()]
        self._recording = record(run.module, list(self.feeds.values()), paths)
        # A module that is called several times cannot say which call gave which value.
        calls = self._recording.activations
        self._probes = {name: p for name, p in probes.items() if len(calls[p.module]) == 1}
        self._exact = dict.fromkeys(model.constants, True)
        self._given = dict(self.feeds)

    def see(self, run: NodeRun) -> None:
        """Compares the probed outputs of one node and replaces them by the trained ones."""
        exact = _keeps_exactness(run) and all(
            self._exact.get(name, False) for name in run.node.input if name
        )
        for name, value in list(run.outputs.items()):
            probe = self._probes.get(name)
            if probe is None:
                self._exact[name] = exact
                continue
            expected = activation(self._recording, probe, value)
            found = _compare(run, value, expected, exact)
            self._add(label(run.node), probe.module, exact, found, {name: expected})
            run.outputs[name] = self._given[name] = expected
            self._exact[name] = True
            (self.exact_values if exact else self.real_values)[name] = expected

    def finish(self, outputs: dict[str, Array]) -> NodeStep:
        """Compares the outputs of the graph with those of the trained module."""
        expected = self._recording.outputs
        check_shapes(self._model, expected, list(outputs.values()))
        for (name, value), want in zip(outputs.items(), expected, strict=True):
            found = numbers_differ(value, want, tolerance(want))
            self._add(name, "output", False, found, {name: want})
        return self.step

    def batches(self) -> Iterator[Batch]:
        """Yields the test images with the trained module's outputs and activations."""
        kept = [self._probes[name] for name in (*self.real_values, *self.exact_values)]
        paths = [probe.module for probe in kept]
        for inputs, labels in self._inputs.batches():
            recording = record(self._module, list(inputs.values()), paths)
            given, exact = (
                self._activations(recording, values)
                for values in (self.real_values, self.exact_values)
            )
            yield Batch(inputs, recording.outputs[0], given, exact, labels)

    def _activations(self, recording: Recording, seen: dict[str, Array]) -> dict[str, Array]:
        """Returns the trained module's values where steps 1 to 3 saw values of this shape."""
        found = {}
        for name, value in seen.items():
            rows = len(value) * len(recording.outputs[0]) // len(self._recording.outputs[0])
            like = np.empty((rows, *value.shape[1:]), value.dtype)
            found[name] = activation(recording, self._probes[name], like)
        return found

    def _add(
        self, node: str, against: str, exact: bool, found: Difference, expected: dict[str, Array]
    ) -> None:
        check = Check(node, against, exact, found.compared, found.differing, found.explained,
                      found.worst)  # fmt: skip
        if not check.passed and self.reproducer is None:
            self.reproducer = self._reproduce(f"{node}, {against}", expected)
            between = tuple(map(label, self.reproducer.model.graph.node))
            check = replace(check, through=between if len(between) > 1 else ())
        self.step.checks.append(check)

    def _reproduce(self, subject: str, expected: dict[str, Array]) -> Reproducer:
        """Cuts out what leads from the values that agree to one that does not."""
        part = self._model.part(
            [describe(name, array) for name, array in self._given.items()],
            [describe(name, array) for name, array in expected.items()],
            functions=True,
        )
        feeds = {v.name: self._given[v.name] for v in part.graph.input if v.name in self._given}
        return Reproducer(subject, part, feeds, expected)


def _compare(run: NodeRun, value: Array, expected: Array, exact: bool) -> Difference:
    if exact:
        same_type = expected.dtype == np.uint32
        return (bits_differ if same_type else numbers_differ)(value, expected)
    near = _near_threshold(run)
    if value.dtype == np.uint32:
        packed = None if near is None else pack_mask(np.moveaxis(near, 1, -1))
        found = bits_differ(value, expected, packed)
    else:
        band = _real_band(run, expected) if near is None else np.where(near, 2.0, 0.0)
        found = numbers_differ(value, expected, band)
    if near is None and found.differing <= max(1, math.ceil(UNSEEN * found.compared)):
        return Difference(found.compared, 0, found.differing + found.explained, found.worst)
    return found


def _real_band(run: NodeRun, expected: Array) -> Array:
    """Bounds what rounding moves a value that a standard operator gives.

    A cast to float16 and back turns that into a whole place of float16. Quantizers of coarser
    levels give the same level or one beyond this band.
    """
    place = FLOAT16_PLACE if run.node.op_type == "Cast" else 0.0
    band: Array = tolerance(expected) + place * np.abs(expected)
    return band


def _keeps_exactness(run: NodeRun) -> bool:
    """Says whether a node computes without any rounding on integers."""
    if not is_ours(run.node):
        return run.node.op_type in _EXACT_STANDARD
    if not is_product(run.node):
        return True
    *weights, scale, bias, residual, slope, shift, _ = run.inputs[2:]
    units, zeros = [*weights, scale, slope], [bias, residual, shift]
    return all(np.all(np.abs(v) == 1) for v in units) and not any(np.any(v) for v in zeros)


def _near_threshold(run: NodeRun) -> Array | None:
    """Marks the decisions that rounding of the real value before them may turn.

    Near is, for each channel, within MARGIN of the usual distance from the threshold. None if
    the node does not decide on a real value itself.
    """
    op_type, inputs = run.node.op_type, run.inputs
    if not is_ours(run.node):
        return None
    if op_type == "PackBits":
        value, threshold = inputs[0] * along_channels(inputs[1], inputs[0].ndim), inputs[2]
    elif op_type == "Ternary":
        value, threshold = np.abs(inputs[0]), inputs[1]
    elif op_type == "Sign":
        value, threshold = inputs[0], np.zeros(1, np.float32)
    elif is_product(run.node):
        value, threshold = run.results[0], inputs[-1]
    else:
        return None
    with np.errstate(invalid="ignore"):
        t = along_channels(threshold, value.ndim)
        distance = value.astype(np.float64) - t
        band = MARGIN * _spread(distance) + 2.0**-18 * _spread(value.astype(np.float64))
        near: Array = np.abs(distance) <= band
    return near


def _spread(values: Array) -> Array:
    """Returns the root mean square of each channel, 0 where it is not finite."""
    axes = tuple(axis for axis in range(values.ndim) if axis != 1)
    spread = np.sqrt(np.mean(np.square(values), axis=axes, keepdims=True))
    return np.where(np.isfinite(spread), spread, 0.0)
