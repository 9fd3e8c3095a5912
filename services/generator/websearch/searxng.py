"""A SearXNG server of one's own, with its JSON format on (settings.yml: search.formats)."""

from services.generator.models import Models
from services.generator.settings import GeneratorSettings
from services.generator.websearch import WebResults, WebSearch
from services.generator.websearch.cleaning import clean
from services.generator.websearch.fetching import fetch, rows
from services.outbound.json_api import JsonApi
from services.rpc.deadline import Deadline
from services.rpc.errors import FailedPrecondition


class SearxngSearch:
    """See WebSearch. Source: docs.searxng.org, search API."""

    provider = "searxng"
    local = False
    model = ""

    def __init__(self, url: str) -> None:
        if not url:
            raise FailedPrecondition("set FOLIO_SEARXNG_URL to use SearXNG")
        self._api = JsonApi(
            "SearXNG", url, advice={403: "turn its JSON format on (settings.yml: search.formats)"}
        )

    @classmethod
    def create(cls, settings: GeneratorSettings, models: Models) -> WebSearch:
        return cls(settings.searxng_url)

    async def search(self, query: str, limit: int, deadline: Deadline) -> WebResults:
        parameters = {"q": query, "format": "json"}
        found, sent = await fetch(self._api, "/search", parameters, deadline)
        results = found.get("results")
        return WebResults(clean(rows(results, "content"), limit), sent)

    async def close(self) -> None:
        await self._api.close()
