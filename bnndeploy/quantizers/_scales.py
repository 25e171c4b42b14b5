"""Statistics of a weight: one for the tensor, or one for each filter."""

from __future__ import annotations

from torch import Tensor

from bnndeploy.errors import RecipeError

GRANULARITIES = ("tensor", "filter")


def check_granularity(granularity: str) -> str:
    """Returns ``granularity`` if it is known.

    Raises:
        RecipeError: If it is none of "tensor", "filter".
    """
    if granularity not in GRANULARITIES:
        raise RecipeError(
            f"granularity: got {granularity!r}, expected one of {', '.join(GRANULARITIES)}"
        )
    return granularity


def mean_of(weight: Tensor, granularity: str) -> Tensor:
    """Returns the mean of the tensor or of each filter.

    Shape: ``(O, *)`` to ``(1,)`` or ``(O,)``.
    """
    return weight.mean().reshape(1) if granularity == "tensor" else weight.flatten(1).mean(1)


def per_filter(vector: Tensor, weight: Tensor) -> Tensor:
    """Views a ``(1,)`` or ``(O,)`` vector so that it broadcasts along the weight's filters."""
    return vector.reshape(-1, *(1,) * (weight.ndim - 1))
