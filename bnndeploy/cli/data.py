"""``bnndeploy data``: lists data sets, looks into one, or sorts ImageNet's validation archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option, echo

from bnndeploy.cli._output import Json, emit_json, table

if TYPE_CHECKING:
    from bnndeploy.training.data import DataSplits

_BAR = 30


def data(
    name: Annotated[
        str, Argument(help="A data set, or a recipe or zoo name; none lists the data sets.")
    ] = "",
    root: Annotated[
        Path | None, Option("--data", envvar="BNNDEPLOY_DATA", help="Folder of the data sets.")
    ] = None,
    download: Annotated[bool, Option("--download", help="Fetch the data set first.")] = False,
    sort_imagenet: Annotated[
        Path | None, Option(help="ImageNet's flat validation archive or folder, to be sorted.")
    ] = None,
    labels: Annotated[
        Path | None,
        Option(
            help="Its labels: devkit archive, LOC_val_solution.csv or lines of image and class."
        ),
    ] = None,
    samples: Annotated[
        int | None, Option(min=1, help="Write this many test images as PNG files, to try a model.")
    ] = None,
    out: Annotated[Path | None, Option("--out", "-o", help="Folder for the images.")] = None,
    json: Json = False,
) -> None:
    """List data sets, count the labels or save images of one, or sort ImageNet's archive."""
    if sort_imagenet is not None:
        if labels is None or out is None:
            raise typer.BadParameter("give --labels and --out too", param_hint="--sort-imagenet")
        report = _sort(sort_imagenet, labels, out)
        text = f"{report['images']:,} images in {len(report['classes']):,} classes, in {out}"
    elif samples is not None:
        if not name or out is None:
            raise typer.BadParameter("name a data set and give --out too", param_hint="--samples")
        report = _save_samples(name, root, download, samples, out)
        text = "\n".join(report["files"])
    elif name:
        report, text = _inspect(name, root, download)
    else:
        report, text = _list()
    if json:
        emit_json(report)
    else:
        echo(text)


def _sort(source: Path, labels: Path, out: Path) -> dict[str, Any]:
    from bnndeploy.training.data.sort_imagenet import sort_imagenet

    counts = sort_imagenet(source, labels, out)
    return {"out": str(out), "images": sum(counts.values()), "classes": counts}


def _list() -> tuple[dict[str, Any], str]:
    from bnndeploy.training import data as data_sets

    found = [
        {"name": name, "about": cls.about, "files": cls.files}
        for name, cls in data_sets.registered().items()
    ]
    rows = [list(item.values()) for item in found]
    return {"data_sets": found}, table(["name", "what", "files below --data"], rows)


def _load(name: str, root: Path | None, download: bool) -> tuple[str, DataSplits]:
    """Loads a data set by its own name or by that of a recipe; returns its name too."""
    from bnndeploy.training import data as data_sets
    from bnndeploy.training import recipe, zoo

    known = name in data_sets.names()
    wanted = recipe.DataTable(name) if known else recipe.load(zoo.find_recipe(name)).data
    return wanted.dataset, data_sets.load(wanted, root, download=download)


def _save_samples(
    name: str, root: Path | None, download: bool, count: int, out: Path
) -> dict[str, Any]:
    from bnndeploy.training.data.samples import save_samples

    data_set, splits = _load(name, root, download)
    return {"data_set": data_set, "files": [str(p) for p in save_samples(splits, out, count)]}


def _inspect(name: str, root: Path | None, download: bool) -> tuple[dict[str, Any], str]:
    from bnndeploy.training import data as data_sets

    data_set, splits = _load(name, root, download)
    parts = {"train": splits.train, "validation": splits.validation, "test": splits.test}
    counts = {part: data_sets.histogram(split, splits.classes) for part, split in parts.items()}
    report = {
        "data_set": data_set,
        "input": splits.input_spec,
        "images": {part: len(split) for part, split in parts.items()},
        "histogram": counts,
    }
    most = max(*counts["train"].values(), 1)
    rows = [
        [label, *(counts[part][label] for part in parts), "█" * round(_BAR * images / most)]
        for label, images in counts["train"].items()
    ]
    rows.append(["all", *(len(split) for split in parts.values()), ""])
    shape = "x".join(map(str, splits.input_spec["shape"]))
    lines = [
        f"{data_set}: {len(splits.classes)} classes, images {shape} "
        f"{splits.input_spec['colour']}, values 0 to {splits.input_spec['range'][1]}, "
        f"mean {splits.input_spec['mean']}, std {splits.input_spec['std']}",
        "",
        table(["class", *parts, "training images"], rows),
    ]
    return report, "\n".join(lines)
