"""Takes over networks and weights made with other systems (``docs/migration.md``)."""

from bnndeploy.training.migration.binarynet import Migration, load_binarynet, read_checkpoint
from bnndeploy.training.migration.larq import (
    kernel_from_larq,
    layer_from_larq,
    quantizer_from_larq,
)

__all__ = [
    "Migration",
    "kernel_from_larq",
    "layer_from_larq",
    "load_binarynet",
    "quantizer_from_larq",
    "read_checkpoint",
]
