"""What a caller restricts a search to: the message as a value, and the value as a condition in SQL."""

from dataclasses import dataclass
from datetime import date

from folio.common.v1 import document_pb2
from services.rpc.fields import day


@dataclass(frozen=True)
class Filter:
    """Parts are ANDed, the values within a part ORed; empty means no restriction. Dates are inclusive."""

    document_ids: tuple[int, ...] = ()
    collections: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    published_from: date | None = None
    published_until: date | None = None

    def parameters(self) -> dict[str, object]:
        """For the `condition`; null where there is no restriction."""
        return {
            "document_ids": list(self.document_ids) or None,
            "collections": list(self.collections) or None,
            "kinds": list(self.kinds) or None,
            "published_from": self.published_from,
            "published_until": self.published_until,
        }


def filter_from(message: document_pb2.Filter) -> Filter:
    """The filter of a request. InvalidArgument for a date that does not exist."""
    return Filter(
        tuple(message.document_ids),
        tuple(message.collections),
        tuple(message.kinds),
        day(message.published_from, "filter.published_from"),
        day(message.published_until, "filter.published_until"),
    )


def condition(*, document_id: str, collection: str, kind: str, published_on: str) -> str:
    """A filter in SQL, over a query's columns of these names; `Filter.parameters()` are its parameters."""
    return f"""
    (%(document_ids)s::bigint[] is null or {document_id} = any(%(document_ids)s))
    and (%(collections)s::text[] is null or {collection} = any(%(collections)s))
    and (%(kinds)s::text[] is null or {kind} = any(%(kinds)s))
    and (%(published_from)s::date is null or {published_on} >= %(published_from)s)
    and (%(published_until)s::date is null or {published_on} <= %(published_until)s)
    """
