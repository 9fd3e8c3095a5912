"""What a failed call of somebody else's API means for our caller: the one table from HTTP status to our errors.

The error decides what happens next: `retries` tries Unavailable and PROVIDER_BUSY again, the gateway's circuit breaker
counts Unavailable as a sick service and ResourceExhausted with a time to come back as a busy one, and the messages of
FailedPrecondition, ResourceExhausted and Unavailable reach the caller.

429, 529: ResourceExhausted, PROVIDER_BUSY. The provider is well and has had enough of us, or of everybody. Fewer calls
    help; an open breaker would stop all callers for the sake of one.
408, 409, 424, 425, 5xx: Unavailable, PROVIDER_AWAY. It timed out, met another request, is starting, or its model
    failed. The same call may succeed soon.
413: ResourceExhausted, TOO_LARGE. Less may succeed, later will not: it never names a time to come back, so that nobody
    takes it for a busy provider.
401, 402, 403, 404: FailedPrecondition, PROVIDER_REFUSED. The key, the credit, the right to the model, its name or the
    address: the operator's to set right.
3xx: FailedPrecondition, PROVIDER_REFUSED. The address in the settings is an old one.
other 4xx: FailedPrecondition, PROVIDER_REFUSED. Our requests are as documented and our callers' input was checked, so
    a server that does not take them (400, 405, 422) has another format, or a model that lacks an option.
anything else: Internal, PROVIDER_UNREADABLE. It is no answer that HTTP knows.

Statuses: RFC 9110 and RFC 6585 (429), RFC 8470 (425), RFC 4918 (424), Anthropic's 529 (overloaded).
A provider may know better from its own error codes (a spend limit is sent as 429), and says so in its own file.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from services.rpc.errors import (
    FailedPrecondition,
    FolioError,
    Internal,
    ResourceExhausted,
    Unavailable,
)

# Stable words for programs (FolioError.reason).
BUSY = "PROVIDER_BUSY"
AWAY = "PROVIDER_AWAY"
SLOW = "PROVIDER_SLOW"
REFUSED = "PROVIDER_REFUSED"
TOO_LARGE = "TOO_LARGE"
SPEND_LIMIT = "SPEND_LIMIT"
UNREADABLE = "PROVIDER_UNREADABLE"

# What reading a reply raises whose parts are of other types than documented: the SDKs build their objects unchecked.
MALFORMED = (AttributeError, IndexError, KeyError, TypeError, ValueError)
# Longer than any wait that a provider means; what is beyond is a mistake.
MAX_RETRY_AFTER_S = 1e6
# The HTTP clients under our providers and their SDKs.
_HTTP_CLIENTS = frozenset({"aiohttp", "httpcore", "httpcore2", "httpx", "httpx2"})


class Meaning(NamedTuple):
    """What a status means: the kind of error, its reason, and the message after the provider's name."""

    kind: type[FolioError]
    reason: str
    says: str


_BUSY = Meaning(
    ResourceExhausted, BUSY, "is busy or has reached its rate limit ({status}); try again later"
)
_AWAY = Meaning(Unavailable, AWAY, "is failing ({status}); try again later")
_TABLE = {
    401: Meaning(FailedPrecondition, REFUSED, "does not accept the key ({status})"),
    402: Meaning(FailedPrecondition, REFUSED, "needs credit on the account ({status})"),
    403: Meaning(FailedPrecondition, REFUSED, "refuses access ({status})"),
    404: Meaning(FailedPrecondition, REFUSED, "does not know the model or the address ({status})"),
    408: _AWAY,
    409: _AWAY,
    413: Meaning(ResourceExhausted, TOO_LARGE, "does not accept a request of this size ({status})"),
    424: _AWAY,
    425: _AWAY,
    429: _BUSY,
    529: _BUSY,
}
_MOVED = Meaning(FailedPrecondition, REFUSED, "has moved to another address ({status})")
_NOT_TAKEN = Meaning(FailedPrecondition, REFUSED, "did not accept the request ({status})")
_UNKNOWN = Meaning(Internal, UNREADABLE, "answered with the unexpected status {status}")


def meaning(status: int) -> Meaning:
    """The table's row of an HTTP status that is no success."""
    if status in _TABLE:
        return _TABLE[status]
    if 300 <= status < 400:
        return _MOVED
    if 400 <= status < 500:
        return _NOT_TAKEN
    return _AWAY if 500 <= status < 600 else _UNKNOWN


def from_status(
    status: int,
    provider: str,
    headers: Mapping[str, str] | None = None,
    advice: Mapping[int, str] | None = None,
) -> FolioError:
    """The error that an HTTP status means. `provider` begins the message; `advice` for the status ends it."""
    kind, reason, says = meaning(status)
    message = f"{provider} {says.format(status=status)}"
    if advice and status in advice:
        message = f"{message}: {advice[status]}"
    wait = retry_after(headers) if reason in (BUSY, AWAY) else None
    return kind(message, reason=reason, retry_after_s=wait)


def unreachable(provider: str) -> Unavailable:
    """The connection could not be made, or broke."""
    return Unavailable(f"{provider} cannot be reached", reason=AWAY)


def broke_off(provider: str) -> Unavailable:
    """It said so itself in the middle of an answer, where there is no status."""
    return Unavailable(f"{provider} failed while answering", reason=AWAY)


def unreadable(
    provider: str, what: str = "an answer that its documentation does not describe"
) -> Internal:
    """An answer came and makes no sense."""
    return Internal(f"{provider} sent {what}", reason=UNREADABLE)


def spend_limit(provider: str) -> FailedPrecondition:
    """It said by an error code of its own that our account may spend no more."""
    return FailedPrecondition(
        f"{provider} has stopped the account at its spend limit; raise it or wait",
        reason=SPEND_LIMIT,
    )


def may_pass(error: FolioError) -> bool:
    """Whether the same call may succeed a little later."""
    return isinstance(error, Unavailable) or error.reason == BUSY


def is_transport_error(error: Exception) -> bool:
    """Whether an error comes from the HTTP client under an SDK: the connection broke."""
    return type(error).__module__.partition(".")[0] in _HTTP_CLIENTS


def retry_after(headers: Mapping[str, str] | None) -> float | None:
    """Seconds that a Retry-After header asks for, in seconds or as a date (RFC 9110, 10.2.3); None without one."""
    for name, value in (headers or {}).items():
        if name.lower() == "retry-after":
            try:
                seconds = float(value)
            except ValueError:
                seconds = _until(value)
            return seconds if 0 <= seconds < MAX_RETRY_AFTER_S else None
    return None


def _until(date: str) -> float:
    """Seconds until an HTTP date, 0 if it has passed; not a number if it is none."""
    try:
        at = parsedate_to_datetime(date)
        # "-0000" gives a date without a zone, and means UTC.
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return max(0.0, (at - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return float("nan")
