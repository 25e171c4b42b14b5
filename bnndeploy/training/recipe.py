"""Recipes: one TOML file says everything about a run, and nothing unknown gets in.

A recipe has ``format = 1`` and the tables [model], [quantize], [data], [train], [export];
each table is a frozen dataclass below, whose fields are the keys, types and defaults.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bnndeploy.errors import RecipeError
from bnndeploy.training import _toml

FORMAT = 1


@dataclass(frozen=True)
class ModelTable:
    """[model]: a registered network and the options of its builder."""

    network: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class QuantizeTable:
    """[quantize]: turns a float network into a quantized one by a layer map.

    ``layers`` maps an exact name, glob or regex of a layer to its quantizers; empty leaves
    the network as its builder made it.
    """

    layers: Mapping[str, Any] = field(default_factory=dict)
    keep_first_and_last: bool = True


@dataclass(frozen=True)
class DataTable:
    """[data]: the data set, its validation split, normalisation and augmentation.

    ``validation`` is the share of the training images set aside; ``mean`` and ``std`` override
    those of the data set; ``classes`` and ``size`` matter to image folders only.
    """

    dataset: str
    validation: float = 0.1
    split_seed: int = 0
    augment: tuple[str, ...] = ()
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    classes: int = 0
    size: int = 0


@dataclass(frozen=True)
class BopTable:
    """[train.bop]: the flip rule of the Bop optimizer (``training/bop.py``).

    ``gamma`` follows the learning-rate schedule.
    """

    threshold: float = 1e-8
    gamma: float = 1e-4


@dataclass(frozen=True)
class TeacherTable:
    """[train.teacher]: distillation from a trained run, off while ``run`` is empty."""

    run: str = ""
    weight: float = 0.5
    temperature: float = 4.0


@dataclass(frozen=True)
class TrainTable:
    """[train]: the optimizer, its schedule and the regime.

    ``batch`` is the number of images of one optimizer step, whatever ``accumulate`` and the
    number of processes cut it into. Zero switches ``clip_gradient``, ``ema``, ``early_stop``
    (epochs without a better validation accuracy) and ``checkpoint_steps`` (only at the end
    of epochs) off.
    """

    epochs: int
    batch: int = 128
    optimizer: str = "adam"
    lr: float = 1e-3
    momentum: float = 0.9
    weight_decay: float = 0.0
    latent_weight_decay: float = 0.0
    schedule: str = "cosine"
    warmup_epochs: float = 0.0
    final_lr: float = 0.0
    step_epochs: tuple[float, ...] = ()
    step_factor: float = 0.1
    loss: str = "cross_entropy"
    label_smoothing: float = 0.0
    clip_latents: bool = True
    clip_gradient: float = 0.0
    accumulate: int = 1
    amp: bool = False
    ema: float = 0.0
    early_stop: int = 0
    checkpoint_steps: int = 0
    seed: int = 0
    bop: BopTable = field(default_factory=BopTable)
    teacher: TeacherTable = field(default_factory=TeacherTable)


@dataclass(frozen=True)
class ExportTable:
    """[export]: the form that ``bnndeploy export`` writes unless told otherwise."""

    form: str = "packed"


@dataclass(frozen=True)
class Recipe:
    """A whole recipe; ``name`` defaults to that of its folder or file."""

    name: str
    model: ModelTable
    data: DataTable
    train: TrainTable
    quantize: QuantizeTable = field(default_factory=QuantizeTable)
    export: ExportTable = field(default_factory=ExportTable)
    format: int = FORMAT


def load(path: Path | str, overrides: Sequence[str] = ()) -> Recipe:
    """Reads and checks a recipe file; each override is ``table.key=value`` in TOML syntax.

    Raises:
        RecipeError: the file cannot be read, or a key, type or value is wrong.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(
            f"recipe {path}: cannot be read ({error}), expected a TOML file"
        ) from None
    default_name = path.parent.resolve().name if path.name == "recipe.toml" else path.stem
    return parse(text, default_name, overrides, subject=str(path))


def parse(
    text: str, default_name: str, overrides: Sequence[str] = (), subject: str = "recipe"
) -> Recipe:
    """Checks the text of a recipe."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"{subject}: not valid TOML: {error}") from None
    for override in overrides:
        _toml.override(content, override)
    if content.get("format") != FORMAT:
        raise RecipeError(
            f"{subject}: got format = {content.get('format')!r}, expected format = {FORMAT}"
        )
    recipe: Recipe = _toml.build(Recipe, {"name": default_name} | content, subject)
    _check_ranges(recipe, subject)
    return recipe


def to_toml(recipe: Recipe) -> str:
    """Writes a recipe out with every default resolved; ``parse`` gives it back."""
    return _toml.dump(asdict(recipe))


def differences(left: Recipe, right: Recipe) -> list[str]:
    """Names the keys in which two recipes differ, their names aside."""
    a, b = (_toml.flatten(asdict(recipe)) for recipe in (left, right))
    return sorted(key for key in (a | b).keys() - {"name"} if a.get(key) != b.get(key))


def _check_ranges(recipe: Recipe, subject: str) -> None:
    train, data = recipe.train, recipe.data
    rules = [
        ("train.epochs", train.epochs, train.epochs >= 1, "at least 1"),
        ("train.batch", train.batch, train.batch >= 1, "at least 1"),
        ("train.accumulate", train.accumulate, train.accumulate >= 1, "at least 1"),
        ("train.lr", train.lr, train.lr > 0, "above 0"),
        ("train.warmup_epochs", train.warmup_epochs, train.warmup_epochs >= 0, "at least 0"),
        ("train.ema", train.ema, 0 <= train.ema < 1, "at least 0 and below 1"),
        ("train.clip_gradient", train.clip_gradient, train.clip_gradient >= 0, "at least 0"),
        ("train.early_stop", train.early_stop, train.early_stop >= 0, "at least 0"),
        (
            "train.checkpoint_steps",
            train.checkpoint_steps,
            train.checkpoint_steps >= 0,
            "at least 0",
        ),
        ("train.seed", train.seed, 0 <= train.seed < 2**31, "at least 0 and below 2^31"),
        (
            "train.label_smoothing",
            train.label_smoothing,
            0 <= train.label_smoothing < 1,
            "at least 0 and below 1",
        ),
        ("data.validation", data.validation, 0 < data.validation < 1, "between 0 and 1"),
        ("data.std", list(data.std), all(s > 0 for s in data.std), "all above 0"),
    ]
    for key, value, holds, expected in rules:
        if not holds:
            raise RecipeError(f"{subject}: got {key} = {value}, expected {expected}")
