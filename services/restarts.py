"""When a program that has ended is started again: after a short wait, after longer ones while it keeps ending."""

import time
from collections.abc import Callable, Sequence

# Seconds before each new start. One more end, and the program keeps ending.
WAITS_S = (0.5, 1.0, 2.0, 4.0, 8.0)
# A program that ran so long is taken for sound: its next end is the first one.
STEADY_S = 60.0


class Restarts:
    """Of one program. Waits for nothing itself: whoever looks after the program asks."""

    def __init__(
        self, waits: Sequence[float] = WAITS_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._waits, self._clock = waits, clock
        self._ends = 0
        self._started = clock()
        self._due: float | None = None

    @property
    def waiting(self) -> bool:
        """The program has ended, and is to be started when it is `due`."""
        return self._due is not None

    @property
    def due(self) -> bool:
        """The wait is over."""
        return self._due is not None and self._clock() >= self._due

    def ended(self) -> float | None:
        """The program has ended: the seconds until it is due, or None if it keeps ending."""
        if self._clock() - self._started >= STEADY_S:
            self._ends = 0
        if self._ends == len(self._waits):
            return None
        wait = self._waits[self._ends]
        self._ends += 1
        self._due = self._clock() + wait
        return wait

    def started(self) -> None:
        """The program runs again."""
        self._started, self._due = self._clock(), None
