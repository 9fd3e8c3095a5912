"""Tries inside the deadline, with the loop's own clock and no server."""

import asyncio

import pytest

from services.outbound import retries
from services.outbound.failures import BUSY, REFUSED, SLOW, TOO_LARGE
from services.outbound.retries import backoff, retrying
from services.rpc.deadline import Deadline
from services.rpc.errors import (
    Aborted,
    DeadlineExceeded,
    FailedPrecondition,
    FolioError,
    Internal,
    ResourceExhausted,
    Unavailable,
)

BUSY_NOW = ResourceExhausted("busy", reason=BUSY)


class Calls:
    """Fails with one error after the other, then gives "done"."""

    def __init__(self, *errors: FolioError) -> None:
        self.errors = list(errors)
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> str:
        self.seconds.append(seconds)
        if self.errors:
            raise self.errors.pop(0)
        return "done"


async def test_what_may_pass_is_tried_again() -> None:
    calls = Calls(Unavailable("away"), BUSY_NOW)
    assert await retrying("x", calls, Deadline.after(60)) == "done"
    assert len(calls.seconds) == 3
    assert calls.seconds[0] > calls.seconds[2], "each try has what the ones before have left"


@pytest.mark.parametrize(
    "error",
    [
        ResourceExhausted("too large", reason=TOO_LARGE),
        FailedPrecondition("no", reason=REFUSED),
        Internal("nonsense"),
        Aborted("broke off"),
    ],
)
async def test_what_cannot_get_better_is_tried_once(error: FolioError) -> None:
    calls = Calls(error)
    with pytest.raises(type(error)) as raised:
        await retrying("x", calls, Deadline.after(60))
    assert raised.value.retry_after_s is None
    assert len(calls.seconds) == 1


async def test_tries_are_counted_and_the_caller_learns_when_to_come_back() -> None:
    calls = Calls(*(Unavailable(str(number)) for number in range(5)))
    with pytest.raises(Unavailable, match="2") as raised:
        await retrying("x", calls, Deadline.after(60), attempts=3)
    assert raised.value.retry_after_s == retries.RETRY_AFTER_S
    assert len(calls.seconds) == 3


async def test_a_wait_that_the_deadline_does_not_allow_is_passed_on() -> None:
    calls = Calls(Unavailable("away", retry_after_s=30.0))
    with pytest.raises(Unavailable) as raised:
        await retrying("x", calls, Deadline.after(20))
    assert raised.value.retry_after_s == 30.0
    assert len(calls.seconds) == 1


async def test_a_wait_that_the_deadline_allows_is_kept() -> None:
    calls = Calls(Unavailable("away", retry_after_s=1.0))
    await retrying("x", calls, Deadline.after(60))
    assert calls.seconds[0] - calls.seconds[1] >= 1.0


async def test_a_try_that_is_too_long_is_slow_and_the_last_one_out_of_time() -> None:
    async def hangs(seconds: float) -> None:
        await asyncio.sleep(3600)

    with pytest.raises(Unavailable, match=r"the server did not answer within 0\.1 s") as raised:
        await retrying("the server", hangs, Deadline.after(60), attempts=2, longest_s=0.1)
    assert raised.value.reason == SLOW
    with pytest.raises(DeadlineExceeded, match="the server did not answer"):
        await retrying("the server", hangs, Deadline.after(0.2))


async def test_no_time_is_no_try() -> None:
    calls = Calls()
    with pytest.raises(DeadlineExceeded):
        await retrying("x", calls, Deadline.after(0))
    assert not calls.seconds


async def test_a_timeout_of_the_sdk_counts_as_one_of_ours() -> None:
    async def times_out(seconds: float) -> None:
        raise TimeoutError

    with pytest.raises(DeadlineExceeded):
        await retrying("x", times_out, Deadline.after(60))


@pytest.mark.parametrize(("attempt", "bound"), [(1, 0.5), (2, 1.0), (4, 4.0), (5, 8.0), (99, 8.0)])
def test_the_backoff_has_full_jitter_under_a_bound_that_doubles(attempt: int, bound: float) -> None:
    drawn = [backoff(attempt) for _ in range(500)]
    assert all(0 <= seconds <= bound for seconds in drawn)
    assert min(drawn) < 0.1 * bound
    assert max(drawn) > 0.9 * bound
