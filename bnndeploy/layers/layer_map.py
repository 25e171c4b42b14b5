"""Layer maps: which layers of a network are quantized, and how."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from bnndeploy.errors import RecipeError
from bnndeploy.layers._base import QuantizerLike, QuantLayer, build_quantizer
from bnndeploy.layers._padding import check_pad_value
from bnndeploy.registry import nearest

LayerMap = Mapping[str, Mapping[str, Any] | str]

REAL = "real"
REGEX_PREFIX = "re:"
KINDS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Embedding)
PLACES = ("input", "weight", "output")
_SETTINGS = (*PLACES, "pad_value")


@dataclass(frozen=True)
class Choice:
    """What a layer map decides about one layer.

    Attributes:
        layer: Path of the layer in the network.
        kind: Its class.
        reason: The key that decided, or why the layer stays real.
        settings: The key's table, or None for a layer that stays real.
    """

    layer: str
    kind: str
    reason: str
    settings: Mapping[str, Any] | None = None


def plan(
    model: nn.Module, layer_map: LayerMap, *, keep_first_and_last: bool = True
) -> list[Choice]:
    """Decides about every layer without changing anything; see :func:`bnndeploy.quantize`.

    Raises:
        RecipeError: If a key matches nothing or a table is wrong.
    """
    layers = {path: part for path, part in model.named_modules() if isinstance(part, KINDS)}
    for key, value in layer_map.items():
        _check_key(key, model, layers)
        _check_settings(key, value)
    products = [path for path, part in layers.items() if not isinstance(part, nn.Embedding)]
    ends = dict.fromkeys(products[:1], "first layer") | dict.fromkeys(products[-1:], "last layer")
    return [
        _choose(path, part, layer_map, ends.get(path) if keep_first_and_last else None)
        for path, part in layers.items()
    ]


def format_plan(choices: list[Choice]) -> str:
    """Returns the decisions as a table, one line for each layer."""
    rows: list[tuple[str, ...]] = [("layer", "kind", *PLACES, "decided by")]
    for choice in choices:
        settings = choice.settings or {}
        shown = (_shown(settings.get(place)) for place in PLACES)
        rows.append((choice.layer, choice.kind, *shown, choice.reason))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _shown(quantizer: QuantizerLike) -> str:
    if quantizer is None:
        return REAL
    if isinstance(quantizer, Mapping):
        given = ", ".join(f"{k}={v}" for k, v in quantizer.items() if k != "name")
        return f"{quantizer['name']}({given})" if given else str(quantizer["name"])
    return quantizer if isinstance(quantizer, str) else type(quantizer).__name__


def _kind_of(key: str) -> int:
    """Returns the rank of a key: 0 exact, 1 glob, 2 regular expression."""
    if key.startswith(REGEX_PREFIX):
        return 2
    return 1 if any(mark in key for mark in "*?[") else 0


def _matches(key: str, path: str) -> bool:
    if key == path:
        return True
    if _kind_of(key) == 2:
        return re.fullmatch(key.removeprefix(REGEX_PREFIX), path) is not None
    return fnmatch.fnmatchcase(path, key)


def _check_key(key: str, model: nn.Module, layers: Mapping[str, nn.Module]) -> None:
    try:
        if any(_matches(key, path) for path in layers):
            return
    except re.error as error:
        raise RecipeError(
            f"layer map: {key!r} is no regular expression ({error}); correct it"
        ) from None
    others = {path: part for path, part in model.named_modules() if path not in layers}
    if key in others:
        kind = type(others[key]).__name__
        advice = f"to mean all layers inside it write {key + '.*'!r}"
        raise RecipeError(
            f"layer map: {key!r} is a {kind}, expected a layer with weights; {advice}"
        )
    raise RecipeError(
        f"layer map: {key!r} matches no layer{nearest(key, layers)}; "
        f"the layers are {', '.join(layers) or 'none'}"
    )


def _check_settings(key: str, value: Mapping[str, Any] | str) -> None:
    if value == REAL:
        return
    if not isinstance(value, Mapping):
        raise RecipeError(
            f"layer map: {key!r} has the value {value!r}, expected {REAL!r} or a table with "
            f"{', '.join(_SETTINGS)}"
        )
    for name in value:
        if name not in _SETTINGS:
            raise RecipeError(
                f"layer map: {key!r} has the unknown setting {name!r}{nearest(name, _SETTINGS)}; "
                f"known: {', '.join(_SETTINGS)}"
            )
    if not any(value.get(place) for place in PLACES):
        raise RecipeError(
            f"layer map: {key!r} quantizes nothing; give {', '.join(PLACES)} or {REAL!r}"
        )
    for place in PLACES:
        try:
            build_quantizer(value.get(place))
        except RecipeError as error:
            raise RecipeError(f"layer map: {key!r}, {place}: {error}") from None
    check_pad_value(value.get("pad_value", 0))


def _choose(path: str, layer: nn.Module, layer_map: LayerMap, end: str | None) -> Choice:
    kind = type(layer).__name__
    keys = sorted((key for key in layer_map if _matches(key, path)), key=_kind_of)
    if not keys:
        return Choice(path, kind, "no key")
    key = keys[0]
    value = layer_map[key]
    if isinstance(value, str):
        return Choice(path, kind, f"{key} = {REAL}")
    if end is not None and key != path:
        return Choice(path, kind, f"{end} stays real")
    convertible = type(layer) in KINDS or isinstance(layer, QuantLayer)
    if not convertible and key != path:
        return Choice(path, kind, "its class is not known to use its weight like its base")
    if not convertible:
        raise RecipeError(
            f"layer map: {path!r} is a {kind}, expected one of "
            f"{', '.join(known.__name__ for known in KINDS)}; leave it out"
        )
    if value.get("pad_value") and not isinstance(layer, (nn.Conv1d, nn.Conv2d)):
        if key == path:
            raise RecipeError(f"layer map: {path!r} is a {kind}, which has no pad_value; drop it")
        value = {name: v for name, v in value.items() if name != "pad_value"}
    return Choice(path, kind, key, value)
