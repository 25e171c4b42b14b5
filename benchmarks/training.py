"""Training steps per second: a quantized network against the same one written plainly in torch.

    python benchmarks/training.py [RECIPE ...] [--data DIR] [--steps N] [--set train.amp=true]

The plain twin has the same layers without weight quantizers, and hard tanh where the
activations are binarised. Both are trained by the same loop on the same batches, step by step
in turn, so that whatever else the machine does falls on both; medians are compared. A ratio of
at most 1.25 is what the project asks for.
"""

import argparse
import copy
import json
import statistics
import tempfile
import time

import torch
from torch import nn

from bnndeploy.layers import QuantLayer
from bnndeploy.training import data, recipe, zoo
from bnndeploy.training.build import build_module
from bnndeploy.training.data import DataSplits, TensorSplit
from bnndeploy.training.run_folder import RunFolder
from bnndeploy.training.trainer import Trainer

WARM_UP = 3


def plain(module):
    """Takes the quantizers out of a copy of a network."""
    twin = copy.deepcopy(module)
    for layer in twin.modules():
        if isinstance(layer, QuantLayer):
            layer.weight_quantizer = None
            for place in ("input_quantizer", "output_quantizer"):
                if getattr(layer, place) is not None:
                    setattr(layer, place, nn.Hardtanh())
    return twin


def synthetic(dataset, batch):
    """Random images where the real ones are not at hand: the speed is the same."""
    generator = torch.Generator().manual_seed(0)
    shape = (4 * batch, *dataset.shape)
    pixels = torch.randint(0, dataset.range_max + 1, shape, generator=generator).to(torch.uint8)
    labels = torch.arange(4 * batch) % len(dataset.classes)
    split = TensorSplit(pixels, labels, dataset.normalise, dataset.augment)
    return DataSplits(split, split, split, dataset.classes, dataset.input_spec)


def step_time(trainer, step):
    started = time.perf_counter()
    trainer.backward(step)
    trainer.update(step)
    return time.perf_counter() - started


def measure(name, root, steps, settings):
    wanted = recipe.load(zoo.find_recipe(name), settings)
    dataset = data.get(wanted.data)
    splits = data.load(wanted.data, root) if root else synthetic(dataset, wanted.train.batch)
    torch.manual_seed(0)
    module = build_module(wanted, dataset)
    with tempfile.TemporaryDirectory() as folder:
        trainers = {
            kind: Trainer(wanted, network, splits, RunFolder(folder))
            for kind, network in (("plain", plain(module)), ("quantized", module))
        }
    times = {kind: [] for kind in trainers}
    for step in range(WARM_UP + steps):
        for kind, trainer in trainers.items():
            seconds = step_time(trainer, step)
            if step >= WARM_UP:
                times[kind].append(seconds)
    medians = {kind: statistics.median(values) for kind, values in times.items()}
    return {
        "recipe": name,
        "batch": wanted.train.batch,
        "type": "bfloat16" if wanted.train.amp else "float32",
        "plain_ms": round(1000 * medians["plain"], 2),
        "quantized_ms": round(1000 * medians["quantized"], 2),
        "ratio": round(medians["quantized"] / medians["plain"], 3),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    defaults = ["bnn-mlp-mnist", "bnn-cnn-digits", "ttq-lenet-mnist"]
    parser.add_argument("recipes", nargs="*", default=defaults)
    parser.add_argument("--data", help="folder of the data sets; random images without it")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--set", action="append", default=[], help="override of the recipes")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [measure(name, options.data, options.steps, options.set) for name in options.recipes]
    if options.json:
        print(json.dumps({"threads": torch.get_num_threads(), "rows": rows}, indent=2))
        return
    for row in rows:
        print(
            f"{row['recipe']:<20} batch {row['batch']:>4} {row['type']:<8}  "
            f"plain {row['plain_ms']:>8.2f} ms  quantized {row['quantized_ms']:>8.2f} ms  "
            f"ratio {row['ratio']:.3f}"
        )


if __name__ == "__main__":
    main()
