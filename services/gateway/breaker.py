"""Leaves a sick service alone: a circuit breaker, and the client's side of throttling.

Sources: M. Nygard, Release It!, ch. 5 (circuit breaker); Site Reliability Engineering, ch. 21 (adaptive throttling).
"""

import math
import random
import time
from collections.abc import Callable
from enum import StrEnum

from services.rpc.errors import ResourceExhausted, Unavailable

# Requests may exceed what a service accepts by this factor before some are refused here.
ACCEPT_FACTOR = 2.0
# Counts fade with this half-life, in seconds.
HALF_LIFE_S = 30.0


class Health(StrEnum):
    """What the end of a call says about the service."""

    WELL = "well"
    SICK = "sick"
    # It refused because it is busy: not sick, but not to be pushed.
    BUSY = "busy"
    UNKNOWN = "unknown"


class Breaker:
    """Closed: calls pass. After `failures` in a row: open for `open_seconds`. Then one call probes.

    Every `admit` is followed by one `record`.
    """

    def __init__(
        self,
        failures: int,
        open_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        service: str = "the service",
    ) -> None:
        self._limit, self._open_seconds, self._clock = failures, open_seconds, clock
        self._service = service
        self._failed = 0
        self._opened_at: float | None = None
        self._probing = False

    def admit(self) -> None:
        """Unavailable while the breaker is open."""
        if self._opened_at is None:
            return
        left = self._opened_at + self._open_seconds - self._clock()
        if left > 0 or self._probing:
            raise Unavailable(
                f"{self._service} failed several times in a row and is not called for a moment",
                reason="BREAKER_OPEN",
                retry_after_s=max(left, 0.1),
            )
        self._probing = True

    def record(self, health: Health) -> None:
        """Learns from the end of an admitted call."""
        self._probing = False
        if health is Health.SICK:
            self._failed += 1
            if self._failed >= self._limit:
                self._opened_at = self._clock()
        elif health is not Health.UNKNOWN:
            self._failed = 0
            self._opened_at = None


class Throttle:
    """Refuses here, with growing probability, what a busy service would refuse anyway.

    `requests` are those that reached the service. The book counts refusals of ours too: then a service that was busy
    for five minutes (a model whose provider limits our rate) is refused calls for four minutes after it is well again.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
        service: str = "the service",
    ) -> None:
        self._service = service
        self._clock, self._chance = clock, chance
        self._requests = self._accepts = 0.0
        self._at = clock()

    def admit(self) -> None:
        """ResourceExhausted with probability max(0, (requests - K * accepts) / (requests + 1))."""
        now = self._clock()
        fade = math.exp2((self._at - now) / HALF_LIFE_S)
        self._requests, self._accepts, self._at = self._requests * fade, self._accepts * fade, now
        refuse = (self._requests - ACCEPT_FACTOR * self._accepts) / (self._requests + 1)
        if self._chance() < refuse:
            raise ResourceExhausted(
                f"{self._service} is overloaded; try again later",
                reason="THROTTLED",
                retry_after_s=1.0,
            )

    def record(self, health: Health) -> None:
        """Learns from the end of an admitted call. One that still runs is no sign: an index call may take minutes."""
        self._requests += 1
        if health is not Health.BUSY:
            self._accepts += 1
