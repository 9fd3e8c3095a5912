"""The Brave Search API."""

from services.generator.settings import GeneratorSettings
from services.generator.websearch import WebResults
from services.generator.websearch.cleaning import clean
from services.generator.websearch.fetching import JsonServer
from services.rpc.deadline import Deadline
from services.rpc.errors import FailedPrecondition

# What the API takes at most.
MAX_QUERY_CHARS = 400


class BraveSearch:
    """See WebSearch. Source: api-dashboard.search.brave.com, web search."""

    provider = "brave"

    def __init__(self, key: str, base_url: str) -> None:
        if not key:
            raise FailedPrecondition("set FOLIO_BRAVE_API_KEY to use Brave Search")
        self._server = JsonServer("Brave Search", base_url, {"X-Subscription-Token": key})

    @classmethod
    def create(cls, settings: GeneratorSettings) -> "BraveSearch":
        return cls(settings.brave_api_key.get_secret_value(), settings.brave_base_url)

    async def search(self, query: str, limit: int, deadline: Deadline) -> WebResults:
        found, sent = await self._server.get(
            "/res/v1/web/search", {"q": query[:MAX_QUERY_CHARS], "count": str(limit)}, deadline
        )
        web = found.get("web")
        results = web.get("results") if isinstance(web, dict) else None
        rows = (
            [one for one in results if isinstance(one, dict)] if isinstance(results, list) else []
        )
        fields = (
            (str(one.get(key) or "") for key in ("title", "url", "description")) for one in rows
        )
        return WebResults(clean(((t, u, s) for t, u, s in fields), limit), sent)
