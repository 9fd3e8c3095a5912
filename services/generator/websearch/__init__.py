"""Web search, off by default. FOLIO_WEB_SEARCH names one of these."""

from dataclasses import dataclass
from typing import Protocol

from services.generator.answers import NOTHING, Usage
from services.rpc.deadline import Deadline
from services.rpc.providers import Worker

WEB_SEARCHES = {
    "searxng": "services.generator.websearch.searxng:SearxngSearch",
    "brave": "services.generator.websearch.brave:BraveSearch",
    "anthropic": "services.generator.providers.anthropic.web_search:AnthropicWebSearch",
}


@dataclass(frozen=True)
class WebResult:
    """One result: plain text and an http(s) address."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True)
class WebResults:
    """What came back, and how many bytes of the request's body or query left this machine for it."""

    results: tuple[WebResult, ...]
    bytes_sent: int
    usage: Usage = NOTHING


class WebSearch(Worker, Protocol):
    """Made by `create(settings, models)`. Raises FolioError where the search fails."""

    async def search(self, query: str, limit: int, deadline: Deadline) -> WebResults: ...

    async def close(self) -> None:
        """Ends the connections."""
        ...
