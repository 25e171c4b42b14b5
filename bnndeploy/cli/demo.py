"""``bnndeploy demo``: the main job on real digits, offline, in about a minute."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option, echo

from bnndeploy.cli._output import Json, emit_json

if TYPE_CHECKING:
    from bnndeploy.runtime.classifier import Guess

RECIPE = "bnn-cnn-digits"
SHOWN = 6
_SHADES = " ░▒▓█"


def demo(
    out: Annotated[Path, Option("--out", "-o", help="Folder for the run and its files.")] = Path(
        "runs/demo"
    ),
    as_json: Json = False,
) -> None:
    """Train, export, verify, measure and predict on real digits, offline."""
    from bnndeploy.bench import bench
    from bnndeploy.cli.bench import format_report
    from bnndeploy.export import export_run
    from bnndeploy.parity import verify
    from bnndeploy.training import data, load_run, recipe, train, zoo
    from bnndeploy.training.data.samples import save_samples

    def say(text: str) -> None:
        if not as_json:
            echo(text)

    say(f"1. Train: {RECIPE}, a binary network, on scikit-learn's bundled scans of digits")
    wanted = recipe.load(zoo.find_recipe(RECIPE))
    trained = train(wanted, None, out, listener=_listener(as_json))
    say(f"   test accuracy {trained['test_accuracy']:.2%} of {trained['images']['test']} images\n")

    model = out / "digits.onnx"
    say(f"2. Export: {model}")
    run = load_run(out)
    exported = export_run(run, model, force=True)  # the folder is the demo's own
    say(f"   {exported.size:,} bytes, weights of binary layers in 1 bit each\n")

    say("3. Verify: does the file compute what was trained?")
    splits = data.load(wanted.data)
    parity = verify(model, run, splits)
    say("".join(f"   {step.title}: {step.result}\n" for step in parity.steps))
    parity.raise_if_failed()

    say("4. Bench: the packed file against the same network in float32 and int8, one run")
    plot = out / "bench.png"
    timed = bench(model, seconds=0.5)
    say(_indent(format_report(timed)))
    ratio = timed.bytes["float32"] / timed.bytes["packed"]
    say(f"   file {ratio:.1f}x smaller than float32; drawn in {plot}\n")
    _draw(timed, plot)

    say("5. Predict")
    images = save_samples(splits, out / "samples", SHOWN)
    predictions = _predict(model, images)
    say(_indent(_pictures(images, predictions)) + "\n")
    say(f"Next: bnndeploy serve {model}    then open http://127.0.0.1:8000")
    if as_json:
        emit_json(
            {
                "model": str(model),
                "test_accuracy": trained["test_accuracy"],
                "seconds_training": trained["seconds"],
                "bytes": timed.bytes,
                "parity": parity.passed,
                "speed": [
                    {"form": row.form, "batch": row.batch, "p50_ms": row.timing.p50}
                    for row in timed.rows
                ],
                "predictions": [guess.label for guess in predictions],
            }
        )


def _listener(silent: bool) -> Any:
    from bnndeploy.training.listener import Listener
    from bnndeploy.training.progress import ProgressBar

    return Listener() if silent or not sys.stderr.isatty() else ProgressBar()


def _draw(timed: Any, path: Path) -> None:
    from bnndeploy.bench.plot import plot

    plot(timed, path)


def _predict(model: Path, images: list[Path]) -> list[Guess]:
    from bnndeploy.runtime import InferenceSession
    from bnndeploy.runtime.classifier import classify_files

    return [guesses[0] for guesses in classify_files(InferenceSession(model), images)]


def _pictures(images: list[Path], guesses: list[Guess]) -> str:
    """Draws the images side by side with their answers and their labels."""
    import numpy as np
    from PIL import Image

    pictures = [_shade(np.asarray(Image.open(image))) for image in images]
    rows = ["   ".join(parts) for parts in zip(*pictures, strict=True)]
    width = len(pictures[0][0]) + 3
    answers = [f"{guess.label} ({guess.probability:.0%})" for guess in guesses]
    labels = [f"label {image.stem.split('_')[1]}" for image in images]
    captions = ["".join(text.ljust(width) for text in line).rstrip() for line in (answers, labels)]
    return "\n".join([*rows, *captions])


def _shade(image: Any) -> list[str]:
    """Two characters a pixel, as a character cell is twice as high as wide."""
    levels = (image / 255 * (len(_SHADES) - 1)).round().astype(int)
    return ["".join(_SHADES[level] * 2 for level in row) for row in levels]


def _indent(text: str) -> str:
    return "\n".join(f"   {line}".rstrip() for line in text.splitlines())
