"""A request as the pipeline sees it: whose limits, which steps, and how long there is."""

from dataclasses import dataclass

from folio.common.v1 import document_pb2
from folio.gateway.v1 import gateway_pb2
from services.gateway.account import Account
from services.gateway.scope import Restriction
from services.gateway.settings import GatewaySettings
from services.rpc.deadline import Deadline
from services.rpc.errors import InvalidArgument
from services.rpc.fields import day


@dataclass(frozen=True)
class Plan:
    """Which steps a request goes through."""

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

    @classmethod
    def of(cls, steps: gateway_pb2.StepToggles, settings: GatewaySettings) -> "Plan":
        """The request's toggles over the settings. InvalidArgument if no search is left."""

        def chosen(name: str, default: bool) -> bool:
            toggle = getattr(steps, name)
            return default if not toggle else bool(toggle == gateway_pb2.TOGGLE_ON)

        plan = cls(
            dense=chosen("dense", settings.dense),
            sparse=chosen("sparse", settings.sparse),
            typos=chosen("typos", settings.typos),
            colbert=chosen("colbert", True),
            crossencoder=chosen("crossencoder", True),
            rewrite=chosen("rewrite", settings.rewrite),
            synonyms=chosen("synonyms", settings.synonyms),
            multi_query=chosen("multi_query", settings.multi_query),
            hyde=chosen("hyde", settings.hyde),
            scope=chosen("scope", settings.scope),
            passages=chosen("passages", settings.passages),
            judge=chosen("judge", settings.judge),
            web=chosen("web", settings.web),
            exact=chosen("exact", False),
        )
        if not (plan.dense or plan.sparse or plan.exact):
            raise InvalidArgument.field("steps", "dense and sparse are both off: leave one on")
        return plan


@dataclass(frozen=True)
class Call:
    """What every step is given."""

    request_id: str
    plan: Plan
    deadline: Deadline
    account: Account


def restriction_of(filter: document_pb2.Filter) -> Restriction:
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
    return Restriction(
        document_ids=tuple(filter.document_ids),
        collections=tuple(filter.collections),
        kinds=tuple(filter.kinds),
        published_from=filter.published_from,
        published_until=filter.published_until,
    )


def filter_of(restriction: Restriction) -> document_pb2.Filter:
    """A restriction as it crosses the wire."""
    return document_pb2.Filter(
        document_ids=restriction.document_ids,
        collections=restriction.collections,
        kinds=restriction.kinds,
        published_from=restriction.published_from,
        published_until=restriction.published_until,
    )
