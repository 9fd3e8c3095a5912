"""The Brave Search API."""

from services.generator.models import Models
from services.generator.settings import GeneratorSettings
from services.generator.websearch import WebResults, WebSearch
from services.generator.websearch.cleaning import clean
from services.generator.websearch.fetching import fetch, rows
from services.outbound.json_api import JsonApi
from services.rpc.deadline import Deadline
from services.rpc.errors import FailedPrecondition

# What the API takes at most.
MAX_QUERY_CHARS = 400


class BraveSearch:
    """See WebSearch. Source: api-dashboard.search.brave.com, web search."""

    provider = "brave"
    local = False
    model = ""

    def __init__(self, key: str, base_url: str) -> None:
        if not key:
            raise FailedPrecondition("set FOLIO_BRAVE_API_KEY to use Brave Search")
        self._api = JsonApi(
            "Brave Search",
            base_url,
            headers={"X-Subscription-Token": key},
            advice=dict.fromkeys((401, 403), "check FOLIO_BRAVE_API_KEY"),
        )

    @classmethod
    def create(cls, settings: GeneratorSettings, models: Models) -> WebSearch:
        return cls(settings.brave_api_key.get_secret_value(), settings.brave_base_url)

    async def search(self, query: str, limit: int, deadline: Deadline) -> WebResults:
        parameters = {"q": query[:MAX_QUERY_CHARS], "count": str(limit)}
        found, sent = await fetch(self._api, "/res/v1/web/search", parameters, deadline)
        web = found.get("web")
        results = web.get("results") if isinstance(web, dict) else None
        return WebResults(clean(rows(results, "description"), limit), sent)

    async def close(self) -> None:
        await self._api.close()
