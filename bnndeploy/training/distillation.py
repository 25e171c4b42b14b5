"""Learning from a real-valued teacher."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bnndeploy.errors import RecipeError
from bnndeploy.training.recipe import TeacherTable
from bnndeploy.training.runs import load_run


class Teacher:
    r"""A trained network whose answers a student learns to give.

    The loss of a step becomes ``(1 - w) * loss + w * T^2 * KL(teacher || student)``, both
    distributions softened as ``softmax(logits / T)``.
    Reference: Hinton et al., "Distilling the Knowledge in a Neural Network", 2015,
    arXiv:1503.02531.
    """

    def __init__(self, module: nn.Module, weight: float, temperature: float) -> None:
        if not 0 <= weight <= 1:
            raise RecipeError(f"train.teacher.weight: got {weight}, expected between 0 and 1")
        if temperature <= 0:
            raise RecipeError(f"train.teacher.temperature: got {temperature}, expected above 0")
        self.module = module.eval().requires_grad_(False)
        self.weight, self.temperature = weight, temperature

    def mix(self, loss: Tensor, logits: Tensor, images: Tensor) -> Tensor:
        """Adds what the teacher says about the images to the loss of the student's logits."""
        with torch.no_grad(), torch.autocast(images.device.type, enabled=False):
            answers = self.module(images).float()
        kept = F.kl_div(
            F.log_softmax(logits / self.temperature, 1),
            F.log_softmax(answers / self.temperature, 1),
            reduction="batchmean",
            log_target=True,
        )
        return (1 - self.weight) * loss + self.weight * self.temperature**2 * kept


def load_teacher(
    table: TeacherTable, classes: tuple[str, ...], input_spec: dict[str, Any]
) -> Teacher | None:
    """Loads the teacher of a recipe, None where it names none.

    Raises:
        RecipeError: If it answers other classes or reads other inputs than the student.
        CheckpointError: If the run cannot be loaded.
    """
    if not table.run:
        return None
    run = load_run(table.run)
    for what, got, expected in (
        ("classes", run.classes, classes),
        ("input", run.input_spec, input_spec),
    ):
        if got != expected:
            raise RecipeError(
                f"train.teacher.run: {table.run} has the {what} {got}, expected the student's "
                f"{expected}"
            )
    return Teacher(run.module, table.weight, table.temperature)
