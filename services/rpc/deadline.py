"""Time that is left. Every outgoing call gets a part of it, so nobody works for a caller who has gone."""

import time
from contextvars import ContextVar
from dataclasses import dataclass

from services.rpc.errors import DeadlineExceeded

# Kept back at each hop, so that the reply of a service that used all of its share still arrives.
MARGIN_S = 0.05
# A share shorter than this is not worth a call.
LEAST_S = 0.005


@dataclass(frozen=True)
class Deadline:
    """A point on the monotonic clock."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        return cls(time.monotonic() + seconds)

    def remaining(self) -> float:
        """Seconds left; negative when it has passed."""
        return self.at - time.monotonic()

    def rest(self) -> float:
        """Seconds for the last step: all that is left, less the margin. DeadlineExceeded if that is nothing."""
        return self.share(1.0)

    def share(self, part: float) -> float:
        """Seconds for one step: `part` (0 to 1) of what is left, less the margin. DeadlineExceeded if too little."""
        seconds = (self.remaining() - MARGIN_S) * part
        if seconds < LEAST_S:
            raise DeadlineExceeded("no time is left for this step")
        return seconds


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def set_current(deadline: Deadline) -> None:
    """Called by the server interceptor, at the start of a call."""
    _current.set(deadline)


def current() -> Deadline:
    """The deadline of the call that is being served; a minute from now outside one."""
    return _current.get() or Deadline.after(60.0)


def remaining() -> float:
    """Seconds left for the call that is being served."""
    return current().remaining()
