"""A request as the pipeline sees it: which steps, how many hits, how long there is, and whom to call."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from folio.common.v1 import document_pb2, service_pb2
from folio.gateway.v1 import gateway_pb2
from services.gateway.clients import Clients
from services.gateway.grounding.text import neutralise
from services.gateway.ledger import Ledger
from services.gateway.settings import GatewaySettings
from services.rpc.deadline import Deadline
from services.rpc.errors import InvalidArgument
from services.rpc.fields import day
from services.rpc.report import Report

DEFAULT_RESULTS = 10


@dataclass(frozen=True)
class Plan:
    """What a request goes through. The search and each reranker hand on so many candidates, and `kept` are left."""

    dense: bool
    sparse: bool
    typos: bool
    colbert: bool
    crossencoder: bool
    rewrite: bool
    synonyms: bool
    multi_query: bool
    hyde: bool
    scope: bool
    passages: bool
    judge: bool
    web: bool
    exact: bool

    filter: document_pb2.Filter
    search_candidates: int
    rerank_candidates: int
    kept: int
    # Unset: as configured.
    answer_threshold: float | None = None
    show_progress: bool = False
    table_rows: bool = False

    @classmethod
    def for_ask(
        cls, request: gateway_pb2.AskRequest, settings: GatewaySettings, *, show_progress: bool
    ) -> "Plan":
        """InvalidArgument for a filter or for switches that leave nothing to search."""
        threshold = request.answer_threshold if request.HasField("answer_threshold") else None
        return cls(
            **_switches(request.steps, settings),
            filter=checked_filter(request.filter),
            search_candidates=settings.search_candidates,
            rerank_candidates=settings.rerank_candidates,
            kept=settings.read_candidates,
            answer_threshold=threshold,
            show_progress=show_progress,
            table_rows=request.table_rows,
        )

    @classmethod
    def for_search(cls, request: gateway_pb2.SearchRequest, settings: GatewaySettings) -> "Plan":
        """The same, for a search."""
        limit = request.limit or DEFAULT_RESULTS
        return cls(
            **_switches(request.steps, settings),
            filter=checked_filter(request.filter),
            search_candidates=request.search_candidates or max(settings.search_candidates, limit),
            rerank_candidates=request.rerank_candidates or max(settings.rerank_candidates, limit),
            kept=limit,
        )


@dataclass(frozen=True)
class Call:
    """What every step is given. `tell` sends an event to a caller who streams, and must not wait."""

    request_id: str
    plan: Plan
    deadline: Deadline
    settings: GatewaySettings
    clients: Clients
    report: Report
    tell: Callable[[gateway_pb2.StreamAskResponse], None]
    ledger: Ledger = field(default_factory=Ledger)
    usage: list[service_pb2.Usage] = field(default_factory=list)
    rankings: list[gateway_pb2.Ranking] = field(default_factory=list)

    def spend(self, usage: service_pb2.Usage) -> None:
        """Adds what a provider counted, if it counted anything."""
        if usage.input_tokens or usage.output_tokens or usage.cost_usd:
            self.usage.append(usage)


def _switches(steps: gateway_pb2.StepToggles, settings: GatewaySettings) -> dict[str, Any]:
    """The request's toggles over the settings. What is no setting is on, but for exact search."""
    chosen = {
        toggle.name: getattr(settings, toggle.name, toggle.name != "exact")
        for toggle in steps.DESCRIPTOR.fields
    }
    chosen |= {toggle.name: value == gateway_pb2.TOGGLE_ON for toggle, value in steps.ListFields()}
    if not (chosen["dense"] or chosen["sparse"] or chosen["exact"]):
        raise InvalidArgument.field("steps", "dense and sparse are both off: leave one on")
    return chosen


def checked_filter(filter: document_pb2.Filter) -> document_pb2.Filter:
    """The caller's own filter. InvalidArgument if its dates are none, or end before they begin."""
    for name in ("published_from", "published_until"):
        day(getattr(filter, name), f"filter.{name}")
    if (
        filter.published_from
        and filter.published_until
        and filter.published_from > filter.published_until
    ):
        raise InvalidArgument.field(
            "filter.published_until", "is before published_from: no document can be in between"
        )
    return filter


def words_of(field: str, value: str) -> str:
    """What is asked, without control characters. InvalidArgument if nothing is left to ask."""
    text = " ".join(neutralise(value).split())
    if not any(character.isalnum() for character in text):
        raise InvalidArgument.field(field, "contains no word: write a question")
    return text
