"""Things that recipes and commands find by name."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from bnndeploy.errors import RecipeError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Registry(Generic[T]):
    """Maps a name to what builds a ``T``: a class or a function with keyword options."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._builders: dict[str, Callable[..., T]] = {}

    def register(self, name: str) -> Callable[[F], F]:
        """Returns a decorator that adds a class or function under ``name``.

        Raises:
            RecipeError: If the name is taken.
        """
        if name in self._builders:
            raise RecipeError(
                f"{self.kind} {name!r} is already registered by "
                f"{self._builders[name].__module__}; choose another name"
            )

        def add(builder: F) -> F:
            self._builders[name] = builder
            return builder

        return add

    def names(self) -> list[str]:
        """Returns the registered names in order."""
        return sorted(self._builders)

    def builder(self, name: str) -> Callable[..., T]:
        """Returns what was registered under ``name``.

        Raises:
            RecipeError: If the name is unknown.
        """
        if name not in self._builders:
            raise RecipeError(
                f"{self.kind} {name!r} is unknown{nearest(name, self._builders)}; "
                f"known: {', '.join(self.names())}"
            )
        return self._builders[name]

    def options(self, name: str) -> dict[str, Any]:
        """Returns the options of ``name`` with their defaults."""
        parameters = inspect.signature(self.builder(name)).parameters
        # A class without options shows the *args and **kwargs of its base.
        return {
            key: parameter.default
            for key, parameter in parameters.items()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        }

    def build(self, name: str, **options: Any) -> T:
        """Builds what was registered under ``name``.

        Raises:
            RecipeError: If the name or an option is unknown, or an option's value is wrong.
        """
        builder = self.builder(name)
        known = self.options(name)
        for option in options:
            if option not in known:
                raise RecipeError(
                    f"{self.kind} {name!r}: option {option!r} is unknown"
                    f"{nearest(option, known)}; known: {', '.join(known) or 'none'}"
                )
        missing = [k for k, v in known.items() if v is inspect.Parameter.empty and k not in options]
        if missing:
            raise RecipeError(f"{self.kind} {name!r}: option {missing[0]!r} is missing; give it")
        return builder(**options)


def nearest(word: str, known: Iterable[str]) -> str:
    """Returns ``", did you mean ...?"``-text for the likeliest known word, or nothing."""
    matches = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""
