"""The account that every reply gives of its making: each stage, what became of it, how long it took."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from folio.common.v1 import stage_pb2
from folio.gateway.v1 import gateway_pb2
from services.rpc.errors import FolioError

RAN = stage_pb2.STAGE_STATUS_RAN
SKIPPED = stage_pb2.STAGE_STATUS_SKIPPED
DEGRADED = stage_pb2.STAGE_STATUS_DEGRADED
MAX_REASON_CHARACTERS = 300

Emit = Callable[[gateway_pb2.StreamAskResponse], None]


def nowhere(event: gateway_pb2.StreamAskResponse) -> None:
    """Emits to nobody: for calls that do not stream."""


@dataclass
class Step:
    """One stage while it runs. Set `reason` and call it degraded, or name its model."""

    stage: str
    status: "stage_pb2.StageStatus.ValueType" = RAN
    reason: str = ""
    model: str = ""

    def degrade(self, reason: str) -> None:
        self.status, self.reason = DEGRADED, reason


@dataclass
class Account:
    """Collects reports, usage, egress and rankings of one request, and emits each report as it is made."""

    emit: Emit = nowhere
    reports: list[stage_pb2.StageReport] = field(default_factory=list)
    usage: list[stage_pb2.Usage] = field(default_factory=list)
    egress: list[gateway_pb2.Egress] = field(default_factory=list)
    rankings: list[gateway_pb2.Ranking] = field(default_factory=list)
    # The stage that is being waited for, for heartbeats.
    waiting_for: str = ""
    started: float = field(default_factory=time.perf_counter)

    @property
    def elapsed_ms(self) -> float:
        return (time.perf_counter() - self.started) * 1e3

    @contextmanager
    def step(self, stage: str, *, needed: bool = False) -> Iterator[Step]:
        """Times a stage and reports it. A FolioError inside becomes a degraded report, unless it is `needed`."""
        step, started = Step(stage), time.perf_counter()
        self.waiting_for = stage
        try:
            yield step
        except FolioError as error:
            if needed:
                raise
            step.degrade(f"{error.code.name}: {error.message}")
        self._report(step, (time.perf_counter() - started) * 1e3)

    def skip(self, stage: str, reason: str) -> None:
        """Reports a stage that does not run."""
        self._report(Step(stage, SKIPPED, reason), 0.0)

    def _report(self, step: Step, elapsed_ms: float) -> None:
        report = stage_pb2.StageReport(
            stage=step.stage,
            status=step.status,
            reason=step.reason[:MAX_REASON_CHARACTERS],
            elapsed_ms=elapsed_ms,
            model=step.model,
        )
        self.reports.append(report)
        self.emit(gateway_pb2.StreamAskResponse(stage=report))

    def spend(self, usage: stage_pb2.Usage) -> None:
        """Adds what a provider counted, if it counted anything."""
        if usage.input_tokens or usage.output_tokens or usage.cost_usd:
            self.usage.append(usage)

    def rank(self, stage: str, ranking: gateway_pb2.Ranking) -> None:
        """Keeps the order that a stage gave, best first."""
        ranking.stage = stage
        self.rankings.append(ranking)
