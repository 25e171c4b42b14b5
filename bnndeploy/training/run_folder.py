"""The run directory: what a training leaves, written so that a kill at any moment loses little.

::

    recipe.toml               the recipe with every default resolved
    metrics.csv               one row an epoch; cut back to the checkpoint on resume
    layers.csv                one row an epoch and quantized layer
    curves.png                loss and accuracy
    last-<step>.safetensors   weights and optimizer state
    last.json                 names it; written after it, so the pair is always whole
    best.safetensors          weights of the best validation accuracy
    report.json, report.html  written when the run is finished
"""

from __future__ import annotations

import csv
import fcntl
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from torch import Tensor

from bnndeploy.errors import BnnDeployError, CheckpointError
from bnndeploy.training import _atomic, recipe
from bnndeploy.training.recipe import Recipe

Row = dict[str, Any]


class RunFolder:
    """Reads and writes the files of one run."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._lock: IO[str] | None = None

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def open(self, wanted: Recipe) -> None:
        """Starts a run here, or takes up the one of the same recipe.

        Raises:
            CheckpointError: If another recipe's run, other files or a running training are here.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(f"run {self.path}: cannot be made ({error})") from None
        if (self / "recipe.toml").is_file():
            found = self.recipe()
            keys = recipe.differences(found, wanted)
            if keys:
                raise CheckpointError(
                    f"run {self.path}: holds a run of another recipe (differs in "
                    f"{', '.join(keys)}), expected the same one; choose another --out"
                )
        elif any(not path.name.startswith(".") for path in self.path.iterdir()):
            raise CheckpointError(
                f"run {self.path}: holds other files, expected a run or an empty folder; "
                "choose another --out"
            )
        else:
            _atomic.write_text(self / "recipe.toml", recipe.to_toml(wanted))
        self._take_lock()

    def recipe(self) -> Recipe:
        """Reads the resolved recipe of the run.

        Raises:
            CheckpointError: If there is none or it is damaged.
        """
        try:
            return recipe.load(self / "recipe.toml")
        except BnnDeployError as error:
            raise CheckpointError(f"run {self.path}: {error}") from None

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Reads ``last.json`` or ``report.json``; None when it is not there yet."""
        path = self / name
        if not path.is_file():
            return None
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path}: cannot be read ({error}), delete the run") from None
        return content

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        _atomic.write_text(self / name, json.dumps(content, indent=2) + "\n")

    def save_last(self, step: int, tensors: dict[str, Tensor], info: Mapping[str, Any]) -> None:
        """Writes a checkpoint, then the file that names it, then drops the older ones."""
        name = f"last-{step}.safetensors"
        save_tensors(self / name, tensors)
        self.write_json("last.json", {"step": step, "file": name, **info})
        for old in self.path.glob("last-*.safetensors"):
            if old.name != name:
                old.unlink(missing_ok=True)

    def load_last(self) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
        """Reads the last whole checkpoint, None before the first."""
        info = self.read_json("last.json")
        if info is None:
            return None
        return info, load_tensors(self / str(info["file"]))

    def write_rows(self, name: str, rows: Sequence[Row]) -> None:
        """Writes a CSV file; floats keep every digit."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        _atomic.write_text(self / name, text.getvalue())

    def read_rows(self, name: str, up_to_step: int) -> list[Row]:
        """Reads a CSV file back, without the rows after a step."""
        if not (self / name).is_file():
            return []
        with (self / name).open(newline="", encoding="utf-8") as file:
            rows = [
                {key: _number(text) for key, text in row.items()} for row in csv.DictReader(file)
            ]
        return [row for row in rows if row["step"] <= up_to_step]

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _take_lock(self) -> None:
        # The kernel drops the lock with the process, so a kill never leaves it behind.
        self._lock = (self / ".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise CheckpointError(
                f"run {self.path}: another training is writing here, expected none; "
                "wait for it or choose another --out"
            ) from None
        for left_by_a_kill in self.path.glob(".*.*"):
            left_by_a_kill.unlink(missing_ok=True)


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Writes tensors as safetensors: no pickle, in one step."""
    from safetensors.torch import save

    # clone(): safetensors refuses tensors that share memory.
    _atomic.write_bytes(path, save({k: v.detach().cpu().clone() for k, v in tensors.items()}))


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Reads a safetensors file.

    Raises:
        CheckpointError: If it is missing, cut off or not a safetensors file.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return load(path.read_bytes())
    except (OSError, SafetensorError) as error:
        raise CheckpointError(
            f"{path}: cannot be read ({error}), expected a safetensors file; train again"
        ) from None


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
