"""A service that fails is not called for a while, a busy one is not pushed."""

import random
from contextlib import suppress

import pytest

from services.gateway.breaker import Breaker, Health, Throttle
from services.rpc.errors import ResourceExhausted, Unavailable


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_it_opens_after_failures_in_a_row_and_one_call_probes() -> None:
    clock = Clock()
    breaker = Breaker(3, 5.0, clock)
    for _ in range(3):
        breaker.admit()
        breaker.record(Health.SICK)
    with pytest.raises(Unavailable, match="not called"):
        breaker.admit()
    clock.now = 5.0
    breaker.admit()
    with pytest.raises(Unavailable):
        breaker.admit()
    breaker.record(Health.SICK)
    with pytest.raises(Unavailable):
        breaker.admit()
    clock.now = 10.0
    breaker.admit()
    breaker.record(Health.WELL)
    breaker.admit()
    breaker.admit()


def test_a_success_starts_the_count_again() -> None:
    breaker = Breaker(2, 5.0, Clock())
    for health in (Health.SICK, Health.WELL, Health.SICK, Health.BUSY, Health.SICK):
        breaker.admit()
        breaker.record(health)
    breaker.admit()


def test_a_cancelled_probe_leaves_the_next_one_its_turn() -> None:
    clock = Clock()
    breaker = Breaker(1, 5.0, clock)
    breaker.admit()
    breaker.record(Health.SICK)
    clock.now = 5.0
    breaker.admit()
    breaker.record(Health.UNKNOWN)
    breaker.admit()


def test_a_service_that_refuses_everything_is_spared_about_all_calls() -> None:
    """SRE book, ch. 21: with K = 2, local refusals approach (requests - 2 accepts) / (requests + 1)."""
    chance = iter([0.5] * 1000)
    throttle = Throttle(Clock(), lambda: next(chance))
    refused = 0
    for _ in range(100):
        try:
            throttle.admit()
        except ResourceExhausted:
            refused += 1
        else:
            throttle.record(Health.BUSY)
    assert refused >= 90


def test_a_service_that_accepts_half_is_not_throttled() -> None:
    throttle = Throttle(Clock(), lambda: 0.0001)
    for number in range(100):
        throttle.admit()
        throttle.record(Health.BUSY if number % 2 else Health.WELL)


@pytest.mark.parametrize("per_second", [2, 10, 100])
def test_a_service_that_was_busy_for_minutes_is_soon_called_again(per_second: int) -> None:
    """An organization that used up a model's rate limit costs the others no more than the limit itself."""
    clock = Clock()
    throttle = Throttle(clock, random.Random(1).random)

    def called(seconds: float, health: Health) -> int:
        count = 0
        until = clock.now + seconds
        while clock.now < until:
            clock.now += 1 / per_second
            with suppress(ResourceExhausted):
                throttle.admit()
                throttle.record(health)
                count += 1
        return count

    called(60, Health.WELL)
    called(240, Health.BUSY)
    assert called(60, Health.BUSY) < 0.2 * 60 * per_second
    called(20, Health.WELL)
    assert called(10, Health.WELL) > 0.9 * 10 * per_second


def test_the_memory_of_refusals_fades() -> None:
    clock = Clock()
    throttle = Throttle(clock, lambda: 0.99)
    for _ in range(50):
        throttle.admit()
        throttle.record(Health.BUSY)
    clock.now = 600.0
    throttle.admit()
    assert throttle._requests < 0.1


def test_calls_that_still_run_do_not_count_as_refused() -> None:
    """An index call of minutes is neither a refusal nor a reason to refuse the next one."""
    throttle = Throttle(Clock(), lambda: 0.0001)
    for _ in range(10):
        throttle.admit()
