"""Tries again inside the deadline. The SDKs' own retries are off: they sleep for as long as a server says."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from services.rpc.deadline import Deadline
from services.rpc.errors import FolioError, Unavailable

T = TypeVar("T")

# What reading a reply raises whose parts are of other types than documented: the SDKs build their objects unchecked.
MALFORMED = (AttributeError, IndexError, KeyError, TypeError, ValueError)

ATTEMPTS = 4
FIRST_PAUSE_S = 0.5
MAX_PAUSE_S = 8.0
# What must be left after a pause for another try to be worth it.
LEAST_S = 0.5


async def pause(attempt: int, error: FolioError, deadline: Deadline) -> None:
    """Waits before try number `attempt` + 1, or raises the error: final, tries used up, or no time for the wait.

    A server's retry-after is obeyed if the deadline allows it and passed on to the caller if not.
    """
    if not isinstance(error, Unavailable) or attempt >= ATTEMPTS:
        raise error
    backoff = min(MAX_PAUSE_S, FIRST_PAUSE_S * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)
    wait = max(backoff, error.retry_after_s or 0.0)
    if wait + LEAST_S > deadline.remaining():
        raise error
    await asyncio.sleep(wait)


async def retrying(call: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
    """The result of `call`, which raises Unavailable where another try may help."""
    attempt = 0
    while True:
        attempt += 1
        try:
            return await call()
        except Unavailable as error:
            await pause(attempt, error, deadline)


def retry_after(headers: object) -> float | None:
    """Seconds of a retry-after header; None for none or for a date, which nobody of ours sends."""
    value = getattr(headers, "get", lambda _: None)("retry-after")
    try:
        seconds = float(value) if value is not None else None
    except (TypeError, ValueError):
        return None
    return seconds if seconds is not None and 0 <= seconds < 1e6 else None


def is_transport_error(error: Exception) -> bool:
    """Whether an error comes from the HTTP client under an SDK (httpx, or its successor): the connection broke."""
    return type(error).__module__.partition(".")[0] in {"httpx", "httpx2", "httpcore", "httpcore2"}
