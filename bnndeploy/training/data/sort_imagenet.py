"""Sorts ImageNet's flat validation archive into one folder a class."""

from __future__ import annotations

import csv
import io
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

from bnndeploy.errors import DataError


def sort_imagenet(source: Path, labels: Path, out: Path) -> dict[str, int]:
    """Copies each validation image into ``out/<class>/`` and returns the images of each class.

    Args:
        source: ``ILSVRC2012_img_val.tar`` or the folder it was extracted to.
        labels: Which image is of which class: the development kit's archive
            (``ILSVRC2012_devkit_t12.tar.gz``), Kaggle's ``LOC_val_solution.csv``, or a text file
            with an image name and a class folder on each line.
        out: The folder to make; it must not hold anything yet.

    Raises:
        DataError: If a file cannot be read or is cut off, an image has no label or a label no
            image, or ``out`` is not empty.
    """
    classes = _read_labels(labels)
    try:
        if out.exists() and any(out.iterdir()):
            raise DataError(f"{out}: holds files, expected a new or empty folder")
        out.parent.mkdir(parents=True, exist_ok=True)
        # Sorted beside its place and moved there as a whole: half a data set never looks like one.
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as work:
            counts = _copy(source, classes, labels, Path(work) / out.name)
            (Path(work) / out.name).replace(out)
    except (OSError, EOFError, tarfile.TarError) as error:
        raise DataError(f"{source}: cannot be sorted ({error})") from None
    return dict(sorted(counts.items()))


def _copy(source: Path, classes: dict[str, str], labels: Path, out: Path) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name, file in _images(source):
        stem = Path(name).stem
        if stem not in classes:
            raise DataError(f"{labels}: has no class for {name}, expected one for each image")
        folder = out / classes[stem]
        folder.mkdir(parents=True, exist_ok=True)
        with closing(file), (folder / Path(name).name).open("wb") as target:
            shutil.copyfileobj(file, target)
        counts[classes[stem]] = counts.get(classes[stem], 0) + 1
    found = sum(counts.values())
    if found != len(classes):  # tarfile ends a cut-off archive without a word
        raise DataError(
            f"{source}: holds {found:,} .JPEG images, expected the {len(classes):,} of {labels}; "
            "the archive may be cut off, get it again"
        )
    return counts


def _images(source: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if source.is_dir():
        for path in sorted(source.glob("*.JPEG")):
            yield path.name, path.open("rb")
        return
    with tarfile.open(source) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".JPEG") else None
            if file is not None:
                yield member.name, file


def _read_labels(path: Path) -> dict[str, str]:
    """Maps the stem of each image's name to its class folder."""
    try:
        if tarfile.is_tarfile(path):
            return _read_devkit(path)
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, tarfile.TarError, KeyError, ValueError) as error:
        raise DataError(f"{path}: labels cannot be read ({error})") from None
    if text.startswith("ImageId,"):
        rows = list(csv.reader(io.StringIO(text)))[1:]
    else:
        rows = [line.split() for line in text.splitlines() if line.strip()]
    classes = {Path(row[0]).stem: row[1].split()[0] for row in rows if len(row) > 1}
    unsafe = [name for name in classes.values() if Path(name).name != name]
    if not classes or unsafe:
        raise DataError(
            f"{path}: got {unsafe[:1] or 'no lines'}, expected an image name and a class a line"
        )
    return classes


def _read_devkit(path: Path) -> dict[str, str]:
    """Reads the development kit: line i of the ground truth is the class of image i."""
    from scipy.io import loadmat

    with tarfile.open(path) as archive:
        members = {Path(member.name).name: member for member in archive if member.isfile()}
        truth = archive.extractfile(members["ILSVRC2012_validation_ground_truth.txt"])
        meta = archive.extractfile(members["meta.mat"])
        assert truth is not None
        assert meta is not None
        numbers = [int(line) for line in truth.read().split()]
        synsets = loadmat(io.BytesIO(meta.read()), squeeze_me=True)["synsets"]
    ids = {int(row[0]): str(row[1]) for row in synsets}
    return {f"ILSVRC2012_val_{place:08d}": ids[n] for place, n in enumerate(numbers, start=1)}
