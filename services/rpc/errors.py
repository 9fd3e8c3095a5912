"""The kinds of failure that Folio knows, each with the gRPC status that a caller sees.

Code raises these; one interceptor maps them (see interceptors.py). A message is for the caller: what was wrong,
what was expected, what to do. It never holds the text of a question or a document, a key or a path.
Statuses follow google.rpc.Code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum


class Code(IntEnum):
    """google.rpc.Code, the part that Folio uses."""

    CANCELLED = 1
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


@dataclass(frozen=True)
class FieldViolation:
    """One wrong field of a request: google.rpc.BadRequest.FieldViolation."""

    field: str
    description: str


class FolioError(Exception):
    """A failure with a status. `reason` is a stable word for programs (google.rpc.ErrorInfo)."""

    code = Code.INTERNAL

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        retry_after_s: float | None = None,
        violations: Sequence[FieldViolation] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.retry_after_s = retry_after_s
        self.violations = tuple(violations)


class InvalidArgument(FolioError):
    """The request is wrong whatever the state of the system."""

    code = Code.INVALID_ARGUMENT

    @classmethod
    def field(cls, field: str, description: str) -> "InvalidArgument":
        """One wrong field."""
        return cls(f"{field}: {description}", violations=[FieldViolation(field, description)])


class NotFound(FolioError):
    """No such thing, or another tenant's."""

    code = Code.NOT_FOUND


class AlreadyExists(FolioError):
    """The name or id is taken."""

    code = Code.ALREADY_EXISTS


class FailedPrecondition(FolioError):
    """Right request, wrong state; do not retry before the state is changed."""

    code = Code.FAILED_PRECONDITION


class ResourceExhausted(FolioError):
    """A queue, a quota or a size limit is full; retry later, with less, or not at all (the message says)."""

    code = Code.RESOURCE_EXHAUSTED


class Unauthenticated(FolioError):
    """No identity, or one that does not hold."""

    code = Code.UNAUTHENTICATED


class PermissionDenied(FolioError):
    """A known caller who may not do this."""

    code = Code.PERMISSION_DENIED


class Unavailable(FolioError):
    """A dependency is away; the same call may succeed soon."""

    code = Code.UNAVAILABLE


class DeadlineExceeded(FolioError):
    """No time is left for this step."""

    code = Code.DEADLINE_EXCEEDED


class Aborted(FolioError):
    """A concurrent change won, or a provider broke off; the whole operation may be tried again."""

    code = Code.ABORTED


class DataLoss(FolioError):
    """Stored data is not what was written."""

    code = Code.DATA_LOSS


class Internal(FolioError):
    """A broken invariant of ours. The message reaches the caller, so it says nothing secret."""

    code = Code.INTERNAL
