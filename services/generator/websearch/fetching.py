"""What the search servers with a plain JSON API share."""

from collections.abc import Iterator, Mapping
from typing import Any

from services.outbound.failures import unreadable
from services.outbound.json_api import JsonApi
from services.outbound.retries import retrying
from services.rpc.deadline import Deadline


async def fetch(
    api: JsonApi, path: str, parameters: Mapping[str, str], deadline: Deadline
) -> tuple[dict[str, Any], int]:
    """The JSON object, and the bytes that were sent for it. Raises FolioError.

    One try: each would send the query out again, and the ledger of what left is written once.
    """
    found, sent = await retrying(
        api.name, lambda seconds: api.get(path, parameters), deadline, attempts=1
    )
    if not isinstance(found, dict):
        raise unreadable(api.name, "JSON that is not an object")
    return found, sent


def rows(results: object, snippet: str) -> Iterator[tuple[str, str, str]]:
    """(title, url, snippet) of each result in a server's list, as text; of anything that is no list, nothing."""
    for one in results if isinstance(results, list) else ():
        if isinstance(one, dict):
            yield (
                str(one.get("title") or ""),
                str(one.get("url") or ""),
                str(one.get(snippet) or ""),
            )
