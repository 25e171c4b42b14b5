"""How far outputs of the trained module and of the graph may lie apart."""

from __future__ import annotations

import numpy as np

from bnndeploy.errors import CheckpointError
from bnndeploy.parity._model import Array, Model

RELATIVE = 1e-4
"""Of outputs, relative to the largest: how far float32 sums of two programs may differ."""

HALF = 40.0
"""How much coarser float16 outputs are."""


def tolerance(expected: Array) -> float:
    """Bounds the difference of outputs that float arithmetic explains."""
    coarse = HALF if expected.dtype == np.float16 else 1.0
    return RELATIVE * coarse * max(1.0, float(np.abs(expected).max(initial=0.0)))


def check_shapes(model: Model, expected: list[Array], got: list[Array]) -> None:
    """Refuses to compare outputs of other numbers or sizes.

    Raises:
        CheckpointError: If they do not fit: the run is not that of the file.
    """
    have, want = ([array.shape for array in arrays] for arrays in (got, expected))
    if have != want:
        raise CheckpointError(
            f"{model.path}: gives outputs of shape {have}, the trained module {want}; give the "
            "run that the file was made from"
        )
