"""Builds the contenders of one packed file and times them side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import onnx

from bnndeploy.bench.measure import Timing, interleave
from bnndeploy.errors import ModelFileError
from bnndeploy.export import expand, quantize_int8
from bnndeploy.runtime import InferenceSession

FORMS = ("packed", "float32", "int8")

# Calibration only sets the int8 ranges; speed does not depend on the values.
CALIBRATION_BATCHES = 4


@dataclass(frozen=True)
class BenchRow:
    """One form of the network at one batch size; ratio = its median over the packed median."""

    form: str
    batch: int
    timing: Timing
    ratio: float


@dataclass(frozen=True)
class BenchReport:
    """What :func:`bench` measured; ``bytes`` are file sizes by form."""

    model: str
    threads: int
    rows: tuple[BenchRow, ...]
    bytes: dict[str, int]


def bench(
    path: str | Path,
    *,
    batches: Sequence[int] = (1, 16),
    threads: int = 1,
    seconds: float = 1.0,
    seed: int = 0,
) -> BenchReport:
    """Times a packed file against its float32 and int8 forms in one run.

    The float32 form is the same graph with float weights in standard operators; the int8 form
    is that graph quantised statically by onnxruntime. All three run in ONNX Runtime.

    Args:
        path: A packed model file.
        batches: Batch sizes to measure.
        threads: Threads of each session.
        seconds: Time given to each form at each batch size.
        seed: Seed of the random inputs.

    Raises:
        ModelFileError: If the file is missing, damaged or has several symbolic dimensions.
    """
    packed = InferenceSession(path, threads=threads)  # refuses a file that is no model
    model_bytes = {"packed": Path(path).read_bytes()}
    rng = np.random.default_rng(seed)
    calibration = [random_inputs(packed, 1, rng) for _ in range(CALIBRATION_BATCHES)]
    float32 = expand(onnx.load_from_string(model_bytes["packed"]))
    model_bytes["float32"] = float32.SerializeToString()
    model_bytes["int8"] = quantize_int8(float32, calibration).SerializeToString()
    sessions = {
        "packed": packed,
        "float32": InferenceSession(model_bytes["float32"], threads=threads, portable=True),
        "int8": InferenceSession(model_bytes["int8"], threads=threads, portable=True),
    }
    rows: list[BenchRow] = []
    for batch in batches:
        rows += _measure(sessions, batch, random_inputs(packed, batch, rng), seconds)
    sizes = {form: len(content) for form, content in model_bytes.items()}
    return BenchReport(str(path), threads, tuple(rows), sizes)


def _measure(
    sessions: dict[str, InferenceSession],
    batch: int,
    inputs: dict[str, np.ndarray],
    seconds: float,
) -> list[BenchRow]:
    calls = {form: partial(session.run, None, inputs) for form, session in sessions.items()}
    timings = interleave(calls, seconds)
    packed = timings["packed"].p50
    return [BenchRow(form, batch, t, t.p50 / packed) for form, t in timings.items()]


def random_inputs(
    session: InferenceSession, batch: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Draws normal inputs of a batch for a session whose other dimensions are fixed.

    Raises:
        ModelFileError: If another dimension than the first is symbolic.
    """
    inputs = {}
    for value in session.get_inputs():
        shape = [batch, *value.shape[1:]]
        if not all(isinstance(size, int) for size in shape):
            raise ModelFileError(
                f"input {value.name}: got shape {value.shape}, expected only the batch to be "
                "symbolic; export with a fixed size to measure it"
            )
        inputs[value.name] = rng.standard_normal(shape, dtype=np.float32)
    return inputs
