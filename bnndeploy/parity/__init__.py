"""Proves that a model file computes what was trained; see ``docs/parity.md``."""

from bnndeploy.parity._html import to_html, write_html
from bnndeploy.parity._report import (
    Check,
    Disagreement,
    EndToEndStep,
    NodeStep,
    ParityReport,
)
from bnndeploy.parity._verify import verify

__all__ = [
    "Check",
    "Disagreement",
    "EndToEndStep",
    "NodeStep",
    "ParityReport",
    "to_html",
    "verify",
    "write_html",
]
