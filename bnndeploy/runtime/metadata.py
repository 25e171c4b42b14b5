"""Reads what bnndeploy export wrote into a model file: classes, input, sample, recipe."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bnndeploy.errors import ModelFileError

PREFIX = "bnndeploy."
FORMAT = 1
CHANNELS = {"grey": 1, "rgb": 3}


@dataclass(frozen=True)
class InputSpec:
    """Says how an image becomes the model's input.

    ``input = (pixel / range_max - mean) / std`` for each channel, with pixels in
    ``[0, range_max]``; an 8-bit image counts as ``range_max = 255``.
    """

    shape: tuple[int, int, int]  # channels, height, width
    colour: str  # "grey" or "rgb"
    mean: tuple[float, ...]
    std: tuple[float, ...]
    range_max: float = 255.0

    @classmethod
    def from_json(cls, value: Any) -> InputSpec:
        """Builds the description from the metadata value ``bnndeploy.input``.

        Raises:
            ModelFileError: If a part is missing or does not fit the others.
        """
        try:
            channels, height, width = (int(size) for size in value["shape"])
            colour = str(value["colour"])
            mean, std = (_per_channel(value[key], channels) for key in ("mean", "std"))
            range_max = float(value.get("range", (0, 255))[-1])
            valid = min(channels, height, width, range_max, *std) > 0
            valid = valid and CHANNELS.get(colour) == channels == len(mean) == len(std)
        except (KeyError, TypeError, ValueError, IndexError):
            valid = False
        if not valid:
            raise ModelFileError(
                f"metadata bnndeploy.input: got {value!r}, expected shape [C, H, W], colour grey "
                "(C = 1) or rgb (C = 3), mean and std of C values and a positive range; export "
                "the model again"
            )
        return cls((channels, height, width), colour, mean, std, range_max)


@dataclass(frozen=True)
class ModelMetadata:
    """Holds the metadata of a model; a part that the file lacks is None or empty."""

    values: Mapping[str, Any]  # every value under its key without the prefix "bnndeploy."
    classes: tuple[str, ...] = ()
    input: InputSpec | None = None


def read_metadata(properties: Mapping[str, str]) -> ModelMetadata:
    """Parses ``metadata_props``, or ``session.get_modelmeta().custom_metadata_map``.

    Raises:
        ModelFileError: If a value is not JSON, or was written by a later bnndeploy.
    """
    values = {
        key.removeprefix(PREFIX): _parse(key, text)
        for key, text in properties.items()
        if key.startswith(PREFIX)
    }
    if values.get("format", FORMAT) != FORMAT:
        raise ModelFileError(
            f"metadata bnndeploy.format: got {values['format']!r}, expected {FORMAT}; the file "
            "was written by another version of bnndeploy, export it again or update"
        )
    classes = values.get("classes") or []
    if not isinstance(classes, list):
        raise ModelFileError(
            f"metadata bnndeploy.classes: got {classes!r}, expected a list of names; export the "
            "model again"
        )
    spec = values.get("input")
    return ModelMetadata(
        values=values,
        classes=tuple(map(str, classes)),
        input=None if spec is None else InputSpec.from_json(spec),
    )


def _parse(key: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ModelFileError(
            f"metadata {key}: got {text[:60]!r}, expected a JSON value; the file was not written "
            "by bnndeploy or was damaged"
        ) from error


def _per_channel(value: Any, channels: int) -> tuple[float, ...]:
    """A single number stands for every channel."""
    numbers = [value] * channels if isinstance(value, int | float) else value
    return tuple(float(number) for number in numbers)
