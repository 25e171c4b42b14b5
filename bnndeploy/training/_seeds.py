"""Every random draw of a run is seeded by what it is for, so no generator state is ever saved."""

from __future__ import annotations

import hashlib

import torch


def seed_for(*parts: object) -> int:
    """Derives a 63-bit seed from the run's seed, a purpose and a position."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def generator_for(*parts: object) -> torch.Generator:
    """Returns a fresh CPU generator seeded from the parts."""
    return torch.Generator().manual_seed(seed_for(*parts))
