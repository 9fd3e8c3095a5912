"""Folio: page-cited answers from your own documents.

    from folio import Folio
    with Folio("localhost:7400", api_key="...") as folio:
        answer = folio.ask("How many weeks of parental leave do staff get?")

`AsyncFolio` is the same for asyncio. Messages are the protos in folio.gateway.v1; a failed call raises CallFailed.
Both clients are typed; a type checker knows the fields of messages with the extra `typed` (folio[typed]).
"""

from folio.client import AsyncFolio, Folio
from folio.failure import CallFailed

__all__ = ["AsyncFolio", "CallFailed", "Folio"]
