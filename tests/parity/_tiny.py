"""A small trained module and its packed file, written by hand so that each part can be broken."""

from dataclasses import dataclass

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.nn import functional as F

from bnndeploy.export.functions import attach_functions
from bnndeploy.export.metadata import get_metadata, set_metadata, versions, weights_sha256
from bnndeploy.export.sample import encode, generate_inputs
from bnndeploy.ops.names import DOMAIN, IR_VERSION, OPSET, VERSION
from bnndeploy.ops.packing import pack_bits
from bnndeploy.quantizers import get

CHANNELS, WIDE, CLASSES, SIZE = 33, 40, 10, 4
INFINITY = float("inf")


class TinyNet(nn.Module):
    """Real convolution, sign, binary convolution, pooling, threshold, sign, binary head."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)

        def normal(*shape):
            return torch.randn(shape, generator=generator)

        self.stem = nn.Conv2d(1, CHANNELS, 3, padding=1)
        with torch.no_grad():
            self.stem.weight.copy_(normal(*self.stem.weight.shape))
            self.stem.bias.copy_(normal(CHANNELS))
        self.first = get("ste_sign")
        self.codes = normal(WIDE, CHANNELS, 3, 3).sign()
        self.threshold = torch.round(4 * normal(WIDE)) + 0.5
        self.second = get("ste_sign")
        self.head = normal(CLASSES, WIDE, 2, 2).sign()
        self.scale, self.bias = normal(CLASSES).abs() / 8, normal(CLASSES)

    def forward(self, x):
        bits = self.first(self.stem(x))
        total = F.conv2d(F.pad(bits, (1, 1, 1, 1), value=1.0), self.codes)
        pooled = F.max_pool2d(total, 2)
        flat = self.second((pooled - self.threshold[:, None, None]).flatten(1))
        return F.linear(flat, self.head.flatten(1)) * self.scale + self.bias


@dataclass
class Recipe:
    seed: int = 0


def words(codes):
    return pack_bits(np.moveaxis(codes.numpy(), 1, -1))


def geometry(channels, pads, pad_value):
    return {
        "channels": channels,
        "strides": [1, 1],
        "pads": pads,
        "dilations": [1, 1],
        "group": 1,
        "pad_value": pad_value,
        "acc_min": -INFINITY,
    }


def our_node(op_type, name, inputs, outputs, **attributes):
    return helper.make_node(op_type, inputs, outputs, name=name, domain=DOMAIN, **attributes)


def packed_model(net):
    constants = {
        "stem.weight": net.stem.weight.detach().numpy(),
        "stem.bias": net.stem.bias.detach().numpy(),
        "codes": words(net.codes),
        "threshold": net.threshold.numpy(),
        "invert": np.zeros(2, np.uint32),
        "head": words(net.head),
        "head.scale": net.scale.numpy(),
        "head.bias": net.bias.numpy(),
        "shape": np.array([-1, CLASSES]),
        "one": np.ones(1, np.float32),
        "zero": np.zeros(1, np.float32),
        "none": np.full(1, -0.0, np.float32),
    }
    nodes = [
        helper.make_node(
            "Conv", ["image", "stem.weight", "stem.bias"], ["real"], "stem", pads=[1, 1, 1, 1]
        ),
        our_node("PackBits", "first", ["real", "one", "zero"], ["first.bits"]),
        our_node(
            "XnorConv",
            "binary",
            ["first.bits", "codes", "one", "none", "none", "one", "none", "threshold"],
            ["", "binary.bits"],
            **geometry(CHANNELS, [1, 1, 1, 1], 1),
        ),
        our_node(
            "MaxPoolBits",
            "pool",
            ["binary.bits", "invert"],
            ["second.bits"],
            kernel_shape=[2, 2],
            strides=[2, 2],
            pads=[0, 0, 0, 0],
        ),
        our_node(
            "XnorConv",
            "head",
            ["second.bits", "head", "head.scale", "head.bias", "none", "one", "none", "zero"],
            ["map", ""],
            **geometry(WIDE, [0, 0, 0, 0], 0),
        ),
        helper.make_node("Reshape", ["map", "shape"], ["logits"], "flatten"),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, SIZE, SIZE])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", CLASSES])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, VERSION)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    described = [{"name": "image", "dtype": "float32", "shape": [4, 1, SIZE, SIZE]}]
    (inputs,) = generate_inputs(7, described)
    with torch.no_grad():
        outputs = net(torch.from_numpy(inputs)).numpy()
    metadata = {
        "format": 1,
        "versions": versions(),
        "recipe": {"seed": 0},
        "probes": {
            "first.bits": {"module": "first", "kind": "bits", "channels": CHANNELS},
            "second.bits": {"module": "second", "kind": "bits", "channels": WIDE},
        },
        "weights_sha256": weights_sha256(model),
        "sample": {
            "seed": 7,
            "inputs": described,
            "outputs": [{"name": "logits", **encode(outputs)}],
        },
    }
    set_metadata(model, metadata)
    attach_functions(model)
    return model


class Packed:
    """The model and its file; ``change`` edits a constant as damage or a wrong export would."""

    def __init__(self, model, path):
        self.model, self.path = model, path
        self.save()

    def save(self):
        onnx.save(self.model, self.path)

    def change(self, name, edit):
        (tensor,) = (t for t in self.model.graph.initializer if t.name == name)
        array = numpy_helper.to_array(tensor).copy()
        edit(array)
        tensor.CopyFrom(numpy_helper.from_array(array, name))
        self.save()

    def set_metadata(self, **entries):
        kept = get_metadata(self.model) | entries
        set_metadata(self.model, {key: value for key, value in kept.items() if value is not None})
        self.save()
