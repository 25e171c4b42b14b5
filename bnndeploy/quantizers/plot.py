"""Draws what quantizers do: the forward rule and the gradient rule side by side.

``python -m bnndeploy.quantizers.plot docs/quantizers`` draws one PNG for each registered
quantizer; more arguments are the names of those to draw.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bnndeploy.errors import MissingExtraError
from bnndeploy.quantizers import Quantizer, WeightQuantizer, builder, get, names

_POINTS = 801
_REACH = 2.0
_PROGRESS = (0.0, 0.5, 1.0)


def rules(quantizer: Quantizer) -> tuple[Tensor, Tensor, Tensor]:
    """Returns points in [-2, 2], the quantizer's values there and the gradient that reaches each.

    A weight quantizer sees the points as one weight tensor of one filter, and the gradient is
    that of each effective weight with respect to its own latent.

    Shape: three times ``(801,)``.
    """
    x = torch.linspace(-_REACH, _REACH, _POINTS)
    if isinstance(quantizer, WeightQuantizer):
        row = x.reshape(1, -1)
        quantizer.attach(row)

        row.requires_grad_()
        value = quantizer(row).flatten()
        each = torch.eye(_POINTS)
        gradient = torch.stack(
            [
                torch.autograd.grad(value, row, each[i], retain_graph=True)[0][0, i]
                for i in range(_POINTS)
            ]
        )
        return x, value.detach(), gradient
    x.requires_grad_()
    value = quantizer(x.reshape(1, 1, -1)).flatten()
    (gradient,) = torch.autograd.grad(value.sum(), x)
    return x.detach(), value.detach(), gradient


def draw(name: str, folder: Path) -> Path:
    """Draws the rules of one quantizer with default options.

    Returns:
        The PNG, ``<folder>/<name>.png``.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "tools") from None
    figure: Any = Figure(figsize=(6.4, 2.4), dpi=75, layout="constrained")
    left, right = figure.subplots(1, 2)
    for label, quantizer in _variants(name):
        x, value, gradient = rules(quantizer)
        left.plot(x, value, color="C0")
        right.plot(x, gradient, label=label)
    left.set_title(f"{name}: q(x)")
    right.set_title("gradient")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.axhline(0, color="grey", linewidth=0.6)
        axes.axvline(0, color="grey", linewidth=0.6)
    if label:
        right.legend(fontsize="small")
    target = folder / f"{name}.png"
    # No software version in the file: a new matplotlib alone must not change it.
    figure.savefig(target, metadata={"Software": None})
    return target


def _variants(name: str) -> Iterator[tuple[str, Quantizer]]:
    """Yields the quantizer, or one at each of three moments if it changes while training."""
    quantizer = get(name)
    parts = [part for part in quantizer.modules() if isinstance(part, Quantizer)]
    if all(type(part).set_progress is Quantizer.set_progress for part in parts):
        yield "", quantizer
        return
    for progress in _PROGRESS:
        for part in parts:
            part.set_progress(progress)
        yield f"progress {progress:g}", quantizer


def main(arguments: list[str]) -> None:
    """Draws the quantizers named after the folder, or all."""
    if not arguments:
        sys.exit("usage: python -m bnndeploy.quantizers.plot FOLDER [NAME ...]")
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name in arguments[1:] or _own_names():
        print(draw(name, folder))


def _own_names() -> list[str]:
    """Returns the names that quantizers have in their files, without second names."""
    return [name for name in names() if builder(name).__module__.endswith(f".{name}")]


if __name__ == "__main__":
    main(sys.argv[1:])
