"""Networks, registered by name."""

from bnndeploy.networks import (
    binary_alexnet,
    binary_densenet,
    binary_resnet_e,
    birealnet,
    bnn_cnn,
    bnn_mlp,
    bnn_vgg,
    dorefa_resnet,
    meliusnet,
    quicknet,
    reactnet,
    real_to_binary,
    resnet_binary,
    ttq_lenet,
    ttq_resnet,
    xnor_alexnet,
)
from bnndeploy.networks._base import build, names, options, register

__all__ = [
    "binary_alexnet",
    "binary_densenet",
    "binary_resnet_e",
    "birealnet",
    "bnn_cnn",
    "bnn_mlp",
    "bnn_vgg",
    "build",
    "dorefa_resnet",
    "meliusnet",
    "names",
    "options",
    "quicknet",
    "reactnet",
    "real_to_binary",
    "register",
    "resnet_binary",
    "ttq_lenet",
    "ttq_resnet",
    "xnor_alexnet",
]
