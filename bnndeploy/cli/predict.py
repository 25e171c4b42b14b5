"""``bnndeploy predict``: classifies images with an exported model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option, echo

from bnndeploy.cli._output import Json, emit_json, table

if TYPE_CHECKING:
    from bnndeploy.runtime import Guess

_BAR_WIDTH = 24


def predict(
    model: Annotated[Path, Argument(help="ONNX file that bnndeploy export wrote.")],
    images: Annotated[list[Path], Argument(help="Image files, or .npy arrays of raw pixels.")],
    top: Annotated[int, Option(min=1, help="Show this many classes of each image.")] = 3,
    invert: Annotated[
        bool, Option("--invert", help="Swap dark and light (dark ink for a model of light ink).")
    ] = False,
    portable: Annotated[
        bool, Option("--portable", help="Run the file's own functions, without our kernels.")
    ] = False,
    threads: Annotated[int | None, Option(min=1, help="Threads of the session.")] = None,
    as_json: Json = False,
) -> None:
    """Classify images with an exported model."""
    from bnndeploy.runtime import InferenceSession
    from bnndeploy.runtime.classifier import classify_files

    session = InferenceSession(model, threads=threads, portable=portable)
    answers = classify_files(session, images, top, invert=invert)
    if as_json:
        emit_json({"model": str(model), "predictions": _as_json(images, answers)})
    else:
        echo(table(("file", "class", "probability", ""), _rows(images, answers)))


def _as_json(images: list[Path], answers: list[list[Guess]]) -> list[dict[str, object]]:
    return [
        {
            "file": str(image),
            "top": [{"class": guess.label, "probability": guess.probability} for guess in guesses],
        }
        for image, guesses in zip(images, answers, strict=True)
    ]


def _rows(images: list[Path], answers: list[list[Guess]]) -> list[tuple[object, ...]]:
    """The file's name stands before its first class only."""
    return [
        ("" if rank else str(image), guess.label, guess.probability, _bar(guess.probability))
        for image, guesses in zip(images, answers, strict=True)
        for rank, guess in enumerate(guesses)
    ]


def _bar(probability: float) -> str:
    """Draws a share of the full width in eighths of a character."""
    eighths = round(probability * _BAR_WIDTH * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
