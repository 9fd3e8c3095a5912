"""What the embedding providers behind HTTP share: batches, and retries inside the deadline."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from typing import Any

import httpx

from services.rpc import deadline
from services.rpc.deadline import Deadline
from services.rpc.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    Internal,
    ResourceExhausted,
    Unavailable,
)

ATTEMPTS = 4
FIRST_WAIT_S = 0.2
LONGEST_WAIT_S = 5.0
ATTEMPT_S = 30.0
RETRIED = frozenset({408, 409, 424, 425, 429, 500, 502, 503, 504})


class HttpProvider:
    """A JSON API at a base URL. Retries are ours, so that they end with the caller's deadline."""

    def __init__(self, url: str, api_key: str = "") -> None:
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/"), headers=headers, timeout=ATTEMPT_S, trust_env=False
        )

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """The decoded answer. Unavailable, ResourceExhausted (429), DeadlineExceeded, FailedPrecondition (4xx)."""
        until = deadline.current()
        failure = "no answer"
        for attempt in range(ATTEMPTS):
            try:
                answer = await self._client.post(path, json=body, timeout=_allowed(until))
            except httpx.TimeoutException:
                failure, wait = "no answer in time", 0.0
            except httpx.HTTPError as error:
                failure, wait = type(error).__name__, _backoff(attempt)
            else:
                if answer.is_success:
                    return _decoded(answer)
                if answer.status_code not in RETRIED:
                    raise _refused(answer.status_code)
                failure, wait = f"HTTP {answer.status_code}", _wait(answer, attempt)
            if attempt + 1 == ATTEMPTS or wait >= until.remaining():
                break
            await asyncio.sleep(wait)
        if until.remaining() <= 0:
            raise DeadlineExceeded(f"the embedding provider did not deliver in time ({failure})")
        if failure == "HTTP 429":
            raise ResourceExhausted(
                "the embedding provider limits our rate; try again later", retry_after_s=5.0
            )
        raise Unavailable(f"the embedding provider does not work: {failure}", retry_after_s=2.0)

    async def close(self) -> None:
        """Ends the connections."""
        await self._client.aclose()


def _allowed(until: Deadline) -> float:
    return min(ATTEMPT_S, until.rest())


def _backoff(attempt: int) -> float:
    # Jitter only spreads load; it decides nothing.
    return min(LONGEST_WAIT_S, FIRST_WAIT_S * float(2**attempt)) * random.uniform(0.5, 1.0)


def _wait(answer: httpx.Response, attempt: int) -> float:
    """What Retry-After asks for, however long: a wait past the deadline ends the attempts instead."""
    asked = answer.headers.get("retry-after", "")
    return float(asked) if asked.isdigit() else _backoff(attempt)


def _decoded(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        raise Internal("the embedding provider sent something that is not JSON") from None


def _refused(status: int) -> FailedPrecondition:
    hint = {
        401: "check EMBEDDINGS_API_KEY",
        403: "check EMBEDDINGS_API_KEY",
        404: "check EMBEDDINGS_URL and EMBEDDINGS_MODEL",
        413: "a batch is too large; lower EMBEDDINGS_BATCH_TOKENS or FOLIO_CHUNK_TOKENS",
        422: "a text is too long for the model; lower FOLIO_CHUNK_TOKENS",
    }.get(status, "check EMBEDDINGS_URL and EMBEDDINGS_MODEL")
    return FailedPrecondition(f"the embedding provider refused the request (HTTP {status}); {hint}")


def batches(lengths: Sequence[int], most_tokens: int, most_texts: int) -> Iterator[range]:
    """Runs of texts, in order, of at most `most_tokens` in all and `most_texts`; a longer text is alone."""
    start, total = 0, 0
    for index, length in enumerate(lengths):
        if index > start and (total + length > most_tokens or index - start == most_texts):
            yield range(start, index)
            start, total = index, 0
        total += length
    if start < len(lengths):
        yield range(start, len(lengths))
