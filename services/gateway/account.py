"""The account that every reply gives of its making: steps, usage, text that left the suite, rankings."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from folio.common.v1 import service_pb2
from folio.gateway.v1 import gateway_pb2
from services.rpc.report import Report

Emit = Callable[[gateway_pb2.StreamAskResponse], None]


def nowhere(event: gateway_pb2.StreamAskResponse) -> None:
    """Emits to nobody: for calls that do not stream."""


@dataclass
class Account:
    """Collects what belongs to one request; its `report` emits each step as it ends."""

    emit: Emit = nowhere
    usage: list[service_pb2.Usage] = field(default_factory=list)
    egress: list[service_pb2.Egress] = field(default_factory=list)
    rankings: list[gateway_pb2.Ranking] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.report = Report(tell=lambda step: self.emit(gateway_pb2.StreamAskResponse(step=step)))

    @property
    def elapsed_ms(self) -> float:
        return (time.perf_counter() - self.started) * 1e3

    def spend(self, usage: service_pb2.Usage) -> None:
        """Adds what a provider counted, if it counted anything."""
        if usage.input_tokens or usage.output_tokens or usage.cost_usd:
            self.usage.append(usage)
