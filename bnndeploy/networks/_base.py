"""The registry of networks."""

from __future__ import annotations

from typing import Any

from torch import nn

from bnndeploy.registry import Registry

_REGISTRY: Registry[nn.Module] = Registry("network")
register = _REGISTRY.register
names = _REGISTRY.names
builder = _REGISTRY.builder
options = _REGISTRY.options


def build(name: str, **settings: Any) -> nn.Module:
    """Builds the network ``name`` with fresh weights; see ``names()`` and ``options(name)``.

    Raises:
        RecipeError: If the name or an option is unknown, or an option's value is wrong.
    """
    return _REGISTRY.build(name, **settings)
