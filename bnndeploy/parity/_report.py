"""What verify-parity found: checks, steps and the whole report."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from bnndeploy.errors import ParityError


@dataclass(frozen=True)
class Check:
    """Compares one value of the graph in two ways of computing it.

    Attributes:
        node: The node that gives the value.
        against: What it was held against: a module path, an instruction set, the function.
        exact: Whether every difference counts; else differences within rounding are explained.
        compared: How many bits or numbers were compared.
        differing: How many differ without an explanation; the check passes with none.
        explained: How many differ within what the rounding of float sums explains.
        worst: The largest difference of a number.
        problem: Why nothing could be compared, if so.
        through: The nodes from the last values that agree to this one, where they are several: any
            of them may be at fault.
    """

    node: str
    against: str
    exact: bool
    compared: int
    differing: int = 0
    explained: int = 0
    worst: float = 0.0
    problem: str = ""
    through: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.differing == 0 and not self.problem


@dataclass
class NodeStep:
    """One of the steps 1 to 3: checks node by node."""

    number: int
    title: str
    checks: list[Check] = field(default_factory=list)
    note: str = ""

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def first_failure(self) -> Check | None:
        return next((check for check in self.checks if not check.passed), None)

    @property
    def result(self) -> str:
        """One line: what was compared and what differed."""
        if not self.checks:
            return "nothing to compare: the file has no operator of ours"
        compared = sum(check.compared for check in self.checks)
        differing = sum(check.differing for check in self.checks)
        explained = sum(check.explained for check in self.checks)
        text = f"{differing:,} of {compared:,} values differ"
        if explained:
            text += f", {explained:,} more within float rounding"
        if (failure := self.first_failure) is not None:
            text += f"; first at node {failure.node} ({failure.problem or failure.against})"
            if failure.through:
                text += f", which follows from agreeing values by {', '.join(failure.through)}"
        return text if not self.note else f"{text}; {self.note}"


@dataclass(frozen=True)
class Disagreement:
    """One input whose class the trained module and the file see differently."""

    index: int
    label: int | None
    trained: int
    deployed: int
    margin: float  # the trained module's lead of its class over the file's class


@dataclass
class EndToEndStep:
    """Step 4: classes and outputs on a data set.

    Attributes:
        images: How many inputs were compared.
        given: How many of them were also run with the real layers' results taken as given; None
            where this could not be done.
        given_disagreements: Those that then differ.
        bits_compared: Bits inside the integer chains that were compared in that run.
        bits_differing: How many of them differ, for each value of the graph where some do.
        disagreements: Those that differ from the inputs alone.
        allowed: How many of the latter are allowed: 0.01 % of the images, at least one.
        trained_accuracy: Share of right classes of the trained module, where labels are known.
        deployed_accuracy: The same of the file.
        worst: The largest difference of an output.
    """

    source: str
    images: int = 0
    given: int | None = None
    given_disagreements: list[Disagreement] = field(default_factory=list)
    bits_compared: int = 0
    bits_differing: dict[str, int] = field(default_factory=dict)
    disagreements: list[Disagreement] = field(default_factory=list)
    allowed: int = 1
    trained_accuracy: float | None = None
    deployed_accuracy: float | None = None
    worst: float = 0.0
    number: int = 4
    title: str = "end to end"

    @property
    def passed(self) -> bool:
        given = not self.given_disagreements and not self.bits_differing
        return given and len(self.disagreements) <= self.allowed

    @property
    def result(self) -> str:
        """One line: agreement, accuracy and the largest difference."""
        agreeing = self.images - len(self.disagreements)
        parts = [f"{agreeing:,} of {self.images:,} classes agree ({self.source})"]
        if self.given is not None:
            same = self.given - len(self.given_disagreements)
            parts.append(f"{same:,} of {self.given:,} given the real layers' results")
        if self.bits_compared:
            wrong = sum(self.bits_differing.values())
            where = f" (in {', '.join(self.bits_differing)})" if wrong else ""
            parts.append(f"there {wrong:,} of {self.bits_compared:,} inner bits differ{where}")
        if self.trained_accuracy is not None and self.deployed_accuracy is not None:
            parts.append(
                f"accuracy {self.trained_accuracy:.2%} trained, {self.deployed_accuracy:.2%} here"
            )
        return ", ".join([*parts, f"worst output difference {self.worst:.2g}"])


@dataclass
class ParityReport:
    """The four steps of verify-parity for one file."""

    model: str
    run: str | None
    samples: int  # inputs of steps 1 to 3
    steps: list[NodeStep | EndToEndStep]
    reproducer: str | None = None  # what the folder of --bisect shows, if there is a difference

    @property
    def passed(self) -> bool:
        return all(step.passed for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """Returns the report as JSON values."""
        steps = [
            {**asdict(step), "passed": step.passed, "result": step.result} for step in self.steps
        ]
        return {**asdict(self), "passed": self.passed, "steps": steps}

    def raise_if_failed(self) -> None:
        """Raises the first failure.

        Raises:
            ParityError: If a step failed.
        """
        for step in self.steps:
            if not step.passed:
                raise ParityError(
                    f"{self.model}: step {step.number} ({step.title}) failed: {step.result}"
                )
