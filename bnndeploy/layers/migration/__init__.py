"""Ways in from other systems: BinaryNet.pytorch's checkpoints and Larq's configurations."""

from bnndeploy.layers.migration.binarynet import (
    BinarizeConv2d,
    BinarizeLinear,
    LoadReport,
    load_binarynet,
)
from bnndeploy.layers.migration.checkpoint import read_checkpoint
from bnndeploy.layers.migration.larq import larq_kernel, larq_quantizer, larq_sequential

__all__ = [
    "BinarizeConv2d",
    "BinarizeLinear",
    "LoadReport",
    "larq_kernel",
    "larq_quantizer",
    "larq_sequential",
    "load_binarynet",
    "read_checkpoint",
]
