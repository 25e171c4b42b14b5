"""Turns TOML tables into frozen dataclasses, checked key by key, and back into TOML text."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from bnndeploy.errors import RecipeError
from bnndeploy.registry import nearest

_TYPE_NAMES: dict[Any, str] = {
    int: "an integer",
    float: "a number",
    str: "a string",
    bool: "true or false",
    Mapping: "a table",
}


def override(content: dict[str, Any], assignment: str) -> None:
    """Applies one ``table.key=value``; a value that is no TOML is taken as a string."""
    key, separator, text = assignment.partition("=")
    path = [part.strip() for part in key.split(".")]
    if not separator or not all(path):
        raise RecipeError(
            f"override {assignment!r}: expected table.key=value, as in train.epochs=3"
        )
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()  # a bare word: train.optimizer=adam
    table = content
    for part in path[:-1]:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise RecipeError(f"override {assignment!r}: {part} is a value, expected a table")
    table[path[-1]] = value


def build(cls: type[Any], content: Any, subject: str) -> Any:
    """Builds a dataclass from a table.

    Raises:
        RecipeError: a key is unknown or missing, or a value has the wrong type.
    """
    if not isinstance(content, Mapping):
        raise RecipeError(f"{subject}: got {content!r}, expected a table")
    hints = get_type_hints(cls)
    known = {item.name: item for item in fields(cls)}
    for key in content:
        if key not in known:
            raise RecipeError(
                f"{subject}: unknown key {key!r}{nearest(key, known)}; known: {', '.join(known)}"
            )
    values = {
        key: _convert(value, hints[key], f"{subject}: {key}") for key, value in content.items()
    }
    try:
        return cls(**values)
    except TypeError:
        missing = sorted(_required(cls) - values.keys())
        raise RecipeError(f"{subject}: missing {', '.join(missing)}") from None


def _required(cls: type[Any]) -> set[str]:
    return {
        item.name
        for item in fields(cls)
        if item.default is MISSING and item.default_factory is MISSING
    }


def _convert(value: Any, hint: Any, subject: str) -> Any:
    if is_dataclass(hint):
        return build(hint, value, subject)  # type: ignore[arg-type]
    if get_origin(hint) is tuple:
        if not isinstance(value, list | tuple):
            raise RecipeError(f"{subject}: got {value!r}, expected an array")
        return tuple(_convert(item, get_args(hint)[0], subject) for item in value)
    if hint is float and type(value) is int:
        return float(value)
    expected = Mapping if get_origin(hint) is Mapping else hint
    # type() and not isinstance(): True is an int in Python, not in a recipe.
    fits = isinstance(value, Mapping) if expected is Mapping else type(value) is expected
    if not fits:
        raise RecipeError(f"{subject}: got {value!r}, expected {_TYPE_NAMES[expected]}")
    return dict(value) if expected is Mapping else value


def dump(table: Mapping[str, Any], path: tuple[str, ...] = ()) -> str:
    """Writes nested tables as TOML: plain keys first, then one section for each table."""
    plain = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lines = [f"[{'.'.join(path)}]"] if path else []
    lines += [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    own = "\n".join(lines) + "\n" if lines else ""
    return "\n".join([own, *(dump(value, (*path, _key(key))) for key, value in tables.items())])


def _key(key: str) -> str:
    bare = key.replace("_", "").replace("-", "")
    return key if bare.isascii() and bare.isalnum() else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    return repr(value)


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Gives nested tables dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = list(value) if isinstance(value, tuple) else value
    return flat
