"""Networks, registered by name."""

from bnndeploy.networks import (
    binary_alexnet,
    binary_densenet,
    binary_resnet_e,
    bnn_cnn,
    bnn_mlp,
    bnn_vgg,
    meliusnet,
    quicknet,
    real_to_binary,
    resnet_binary,
    ttq_lenet,
    ttq_resnet,
)
from bnndeploy.networks._base import build, names, options, register

__all__ = [
    "binary_alexnet",
    "binary_densenet",
    "binary_resnet_e",
    "bnn_cnn",
    "bnn_mlp",
    "bnn_vgg",
    "build",
    "meliusnet",
    "names",
    "options",
    "quicknet",
    "real_to_binary",
    "register",
    "resnet_binary",
    "ttq_lenet",
    "ttq_resnet",
]
