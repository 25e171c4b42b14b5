"""Proves that a model file computes what was trained; see ``docs/parity.md``."""

from bnndeploy.parity._report import (
    Check,
    Disagreement,
    EndToEndStep,
    NodeStep,
    ParityReport,
)
from bnndeploy.parity._verify import verify

__all__ = ["Check", "Disagreement", "EndToEndStep", "NodeStep", "ParityReport", "verify"]
