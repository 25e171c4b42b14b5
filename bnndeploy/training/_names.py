"""Says which known name a wrong one was meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns the end of an error: the nearest known name, or all of them."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1)
    return f", did you mean {close[0]!r}" if close else f", expected one of {', '.join(known)}"
