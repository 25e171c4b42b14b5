"""The inputs on which a run and its file are compared, and whether they belong together."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch

from bnndeploy.errors import CheckpointError
from bnndeploy.export.metadata import versions
from bnndeploy.parity._model import Array, Model
from bnndeploy.parity._sample import more_inputs

if TYPE_CHECKING:
    from bnndeploy.training import TrainedRun
    from bnndeploy.training.data import DataSplits

BATCH = 256

_FIRST_VALUES = 1 << 18
_FIRST_ROWS = (2, BATCH)


class RunInputs:
    """The test images of a data set, or more inputs like those of the embedded sample."""

    def __init__(self, model: Model, data: DataSplits | None, limit: int | None) -> None:
        self._model = model
        self._split = None if data is None else data.test
        if self._split is None:
            self.source = "generated inputs"
            self._made = more_inputs(model, _rows)
            return
        self._count = min(len(self._split), limit or len(self._split))
        self.source = f"{self._count:,} test images"

    def first(self) -> dict[str, Array]:
        """Returns the inputs for the comparison node by node: fewer where they are large."""
        if self._split is None:
            return self._made
        rows = self._model.batch or _rows(math.prod(self._images(0, 1).shape))
        return {self._model.inputs[0]: self._images(0, min(rows, self._count))}

    def batches(self) -> Iterator[tuple[dict[str, Array], Array | None]]:
        """Yields inputs with their labels, where there are any."""
        if self._split is None:
            yield self._made, None
            return
        rows = self._model.batch or BATCH
        for start in range(0, self._count, rows):
            stop = min(start + rows, self._count)
            labels = self._split.labels[start:stop].numpy()
            yield {self._model.inputs[0]: self._images(start, stop)}, labels

    def _images(self, start: int, stop: int) -> Array:
        assert self._split is not None
        images = self._split.batch(torch.arange(start, stop))
        return images.contiguous().numpy()


def _rows(values: int) -> int:
    """Returns how many inputs of so many values the oracle goes through in seconds."""
    low, high = _FIRST_ROWS
    return max(low, min(high, _FIRST_VALUES // max(1, values)))


def check_recipe(model: Model, run: TrainedRun) -> None:
    """Refuses a run of another recipe than the file's.

    Raises:
        CheckpointError: If they differ, naming the keys.
    """
    written = model.metadata.values.get("recipe")
    if not isinstance(written, dict):
        return
    ours = json.loads(json.dumps(asdict(run.recipe)))
    differing = sorted(_differences(written, ours))
    if differing:
        raise CheckpointError(
            f"run {run.name}: its recipe differs from that of {model.path} in "
            f"{', '.join(differing)}; give the run that the file was made from"
        )


def version_note(model: Model) -> str:
    """Says what differs from the machine of the export; thresholds are exact for that one."""
    written = model.metadata.values.get("versions")
    if not isinstance(written, dict):
        return ""
    here = versions()
    changed = [
        f"{key} {written[key]} there, {here[key]} here"
        for key in ("torch", "cpu_capability")
        if key in written and written[key] != here[key]
    ]
    return f"exported elsewhere: {'; '.join(changed)}" if changed else ""


def _differences(left: Any, right: Any, path: str = "") -> Iterator[str]:
    """Yields the keys in which two nested tables differ."""
    if not (isinstance(left, dict) and isinstance(right, dict)):
        if left != right:
            yield path
        return
    for key in left.keys() | right.keys():
        yield from _differences(left.get(key), right.get(key), f"{path}.{key}".lstrip("."))
