"""The zoo as a table: what each network stores and computes, and how well it does."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bnndeploy.networks.summary import Counts, Summary, summary
from bnndeploy.training import data, zoo
from bnndeploy.training import recipe as recipes
from bnndeploy.training.build import build_module
from bnndeploy.training.recipe import Recipe

_PUBLISHED = "Published accuracy"
_SOURCE = "Source"
_TRAINED = "Trained here"
_PRODUCTS = (nn.Conv1d, nn.Conv2d, nn.Linear)
_HEADER = (
    "name",
    "network",
    "input",
    "layers",
    "1-bit",
    "2-bit",
    "float",
    "binary MACs",
    "ternary MACs",
    "float MACs",
    "packed",
    "published",
    "ours",
)


@dataclass(frozen=True)
class Entry:
    """One network of the zoo.

    Attributes:
        name: Its name in the zoo.
        network: The registered network that it is an instance of.
        dataset: The data set of its recipe.
        input_shape: Channels, height, width.
        layers: How many convolutions and linear layers it has.
        counts: Parameters, multiply-accumulates and packed bytes.
        published: Accuracy in the literature, as the card gives it.
        source: Where the network is from, as the card gives it.
        ours: Test accuracy of the weights in the zoo, or what the card says of a training here;
            empty if there is neither.
    """

    name: str
    network: str
    dataset: str
    input_shape: tuple[int, ...]
    layers: int
    counts: Counts
    published: str
    source: str
    ours: str

    def as_dict(self) -> dict[str, Any]:
        """Returns plain numbers, strings, lists and dicts, for JSON."""
        counts = asdict(self.counts)
        entry = {name: value for name, value in vars(self).items() if name != "counts"}
        return entry | {"input_shape": list(self.input_shape)} | counts


def describe(name: str) -> Entry:
    """Counts one network of the zoo, without its data or memory for its weights.

    Raises:
        RecipeError: If there is no such network, or its recipe is wrong.
    """
    folder = zoo.folder(name)
    recipe, module, shape = _build(folder)
    card = (folder / "README.md").read_text(encoding="utf-8")
    return Entry(
        name=name,
        network=recipe.model.network,
        dataset=recipe.data.dataset,
        input_shape=shape,
        layers=sum(isinstance(part, _PRODUCTS) for part in module.modules()),
        counts=summary(module, shape).total,
        published=_card_line(card, _PUBLISHED),
        source=_card_line(card, _SOURCE),
        ours=_accuracy(folder) or _first_figure(_card_line(card, _TRAINED)),
    )


def layers(name: str) -> Summary:
    """Counts every layer of one network of the zoo."""
    _, module, shape = _build(zoo.folder(name))
    return summary(module, shape)


def _build(folder: Path) -> tuple[Recipe, nn.Module, tuple[int, ...]]:
    """Builds the network of a recipe on the meta device; gives the shape of its input too."""
    recipe = recipes.load(folder / "recipe.toml")
    dataset = data.get(recipe.data)
    with torch.device("meta"):
        module = build_module(recipe, dataset)
    return recipe, module, tuple(recipe.model.options.get("input_shape", dataset.shape))


def to_markdown(entries: Sequence[Entry]) -> str:
    """Writes the table of docs/networks.md."""
    rows = [_HEADER, tuple("---" if i < 3 or i > 10 else "---:" for i in range(len(_HEADER)))]
    rows += [tuple(to_row(entry).values()) for entry in entries]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def to_row(entry: Entry) -> dict[str, str]:
    """Writes one entry as the cells of a table, by column."""
    counts = entry.counts
    cells = (
        entry.name,
        entry.network,
        "x".join(map(str, entry.input_shape)),
        str(entry.layers),
        _number(counts.binary_parameters),
        _number(counts.ternary_parameters),
        _number(counts.float_parameters),
        _number(counts.binary_macs),
        _number(counts.ternary_macs),
        _number(counts.float_macs),
        _size(counts.packed_bytes),
        entry.published,
        entry.ours or "not trained here",
    )
    return dict(zip(_HEADER, cells, strict=True))


def _card_line(card: str, label: str) -> str:
    """Returns what follows ``- label:`` in a card, its continued lines joined."""
    match = re.search(rf"^- {label}: (.*(?:\n  .*)*)", card, re.MULTILINE)
    return "" if match is None else " ".join(match.group(1).split())


def _first_figure(text: str) -> str:
    """Cuts off what follows the percentage."""
    figure, percent, _ = text.partition("%")
    return figure + percent


def _accuracy(folder: Path) -> str:
    path = folder / "report.json"
    if not path.is_file():
        return ""
    accuracy = json.loads(path.read_text(encoding="utf-8")).get("test_accuracy")
    return "" if accuracy is None else f"{100 * accuracy:.2f} %"


def _number(value: int) -> str:
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return str(value)


def _size(count: int) -> str:
    return f"{count / 2**20:.2f} MiB" if count >= 2**20 else f"{count / 2**10:.1f} KiB"
