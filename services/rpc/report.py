"""How every service times its steps and says what became of them: `with report.step(STEP_SEARCH) as step:`."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from folio.common.v1 import step_pb2
from services.rpc.errors import FolioError

RAN = step_pb2.STEP_STATUS_RAN
SKIPPED = step_pb2.STEP_STATUS_SKIPPED
DEGRADED = step_pb2.STEP_STATUS_DEGRADED
MAX_REASON_CHARACTERS = 300


@dataclass
class Running:
    """A step while it runs. Call it degraded or skipped with a reason, or name its model."""

    status: "step_pb2.StepStatus.ValueType" = RAN
    reason: str = ""
    model: str = ""

    def degrade(self, reason: str) -> None:
        self.status, self.reason = DEGRADED, reason

    def skip(self, reason: str) -> None:
        self.status, self.reason = SKIPPED, reason


def unheard(report: step_pb2.StepReport) -> None:
    """Nobody waits for reports."""


@dataclass
class Report:
    """One line for each step, in the order in which they first ended. `tell` gets each line as it is made."""

    tell: Callable[[step_pb2.StepReport], None] = unheard
    steps: list[step_pb2.StepReport] = field(default_factory=list)
    # The step that is being worked on.
    current: "step_pb2.Step.ValueType" = step_pb2.STEP_UNSPECIFIED
    started: float = field(default_factory=time.perf_counter)

    @property
    def elapsed_ms(self) -> float:
        """Since the report was begun."""
        return (time.perf_counter() - self.started) * 1e3

    @contextmanager
    def step(
        self, step: "step_pb2.Step.ValueType", *, needed: bool = False, model: str = ""
    ) -> Iterator[Running]:
        """Times a step and reports it. A FolioError inside makes it degraded; one that is `needed` raises it.

        A step that runs more than once has one line: the times added, the last word on what became of it.
        """
        running, started = Running(model=model), time.perf_counter()
        self.current = step
        try:
            yield running
        except FolioError as error:
            if needed:
                raise
            running.degrade(f"{error.code.name}: {error.message}")
        self._add(step, running, (time.perf_counter() - started) * 1e3)

    def skip(self, step: "step_pb2.Step.ValueType", reason: str) -> None:
        """Reports a step that does not run."""
        self._add(step, Running(SKIPPED, reason), 0.0)

    def _add(self, step: "step_pb2.Step.ValueType", running: Running, elapsed_ms: float) -> None:
        line = next((line for line in self.steps if line.step == step), None)
        if line is None:
            line = step_pb2.StepReport(step=step)
            self.steps.append(line)
        line.status, line.model = running.status, running.model
        line.reason = running.reason[:MAX_REASON_CHARACTERS]
        line.elapsed_ms += elapsed_ms
        self.tell(line)
