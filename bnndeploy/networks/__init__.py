"""Networks, registered by name."""

from bnndeploy.networks import bnn_cnn, bnn_mlp, ttq_lenet
from bnndeploy.networks._base import build, names, options, register

__all__ = ["bnn_cnn", "bnn_mlp", "build", "names", "options", "register", "ttq_lenet"]
