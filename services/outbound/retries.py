"""Tries again inside the deadline. The SDKs' own retries are off: they sleep for as long as a server says."""

import asyncio
import math
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from services.outbound.failures import SLOW, may_pass
from services.rpc.deadline import Deadline
from services.rpc.errors import DeadlineExceeded, FolioError, Unavailable

T = TypeVar("T")

ATTEMPTS = 4
FIRST_PAUSE_S = 0.5
MAX_PAUSE_S = 8.0
# What must be left after a pause for another try to be worth it.
LEAST_S = 0.25
# When our caller may come back, where the provider did not say.
RETRY_AFTER_S = 1.0


def backoff(attempt: int) -> float:
    """Seconds to wait after try number `attempt`, from 1: anything up to a bound that doubles.

    Full jitter spreads callers who failed together best (M. Brooker, Exponential Backoff and Jitter, 2015).
    """
    return random.uniform(0.0, min(MAX_PAUSE_S, FIRST_PAUSE_S * 2.0 ** (attempt - 1)))


async def pause(
    attempt: int, error: FolioError, deadline: Deadline, attempts: int = ATTEMPTS
) -> None:
    """Waits before try number `attempt` + 1, or raises the error: final, tries used up, or no time for the wait.

    A server's Retry-After is obeyed if the deadline allows it and passed on to the caller if not.
    """
    if not may_pass(error):
        raise error
    wait = max(backoff(attempt), error.retry_after_s or 0.0)
    if attempt >= attempts or wait + LEAST_S > deadline.remaining():
        if error.retry_after_s is None:
            error.retry_after_s = RETRY_AFTER_S
        raise error
    await asyncio.sleep(wait)


async def retrying(
    provider: str,
    call: Callable[[float], Awaitable[T]],
    deadline: Deadline,
    *,
    attempts: int = ATTEMPTS,
    longest_s: float = math.inf,
) -> T:
    """The result of `call`, which is given the seconds it may take: what is left, at most `longest_s`.

    A try that is ended at `longest_s` is Unavailable (PROVIDER_SLOW) and tried again; one that is ended by the
    deadline is DeadlineExceeded. Raises FolioError.
    """
    attempt = 0
    while True:
        attempt += 1
        left = deadline.rest()
        seconds = min(left, longest_s)
        try:
            async with asyncio.timeout(seconds):
                return await call(seconds)
        except TimeoutError:
            if seconds == left:
                raise DeadlineExceeded(f"{provider} did not answer in time") from None
            failed: FolioError = Unavailable(
                f"{provider} did not answer within {seconds:.1f} s", reason=SLOW
            )
        except FolioError as error:
            failed = error
        await pause(attempt, failed, deadline, attempts)
