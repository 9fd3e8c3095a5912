"""Between our exceptions and what crosses the wire: google.rpc.Status with its standard details."""

from datetime import timedelta

import grpc
from google.rpc import error_details_pb2, status_pb2

from folio import failure
from services.rpc import errors
from services.rpc.errors import FieldViolation, FolioError

DOMAIN = "folio"
# Metadata must stay well below the 8 KiB that peers commonly accept.
MAX_MESSAGE_CHARACTERS = 1_000
MAX_VIOLATIONS = 20

GRPC_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}
_KINDS: dict[str, type[FolioError]] = {
    kind.code.name: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, FolioError) and kind is not FolioError
}


def to_status(error: FolioError, request_id: str = "") -> status_pb2.Status:
    """The status of an error, with ErrorInfo, BadRequest, RetryInfo and RequestInfo as they apply."""
    status = status_pb2.Status(code=int(error.code), message=error.message[:MAX_MESSAGE_CHARACTERS])
    status.details.add().Pack(
        error_details_pb2.ErrorInfo(reason=error.reason or error.code.name, domain=DOMAIN)
    )
    if error.violations:
        status.details.add().Pack(
            error_details_pb2.BadRequest(
                field_violations=[
                    error_details_pb2.BadRequest.FieldViolation(
                        field=violation.field, description=violation.description[:200]
                    )
                    for violation in error.violations[:MAX_VIOLATIONS]
                ]
            )
        )
    if error.retry_after_s is not None:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromTimedelta(timedelta(seconds=error.retry_after_s))
        status.details.add().Pack(retry)
    if request_id:
        status.details.add().Pack(error_details_pb2.RequestInfo(request_id=request_id))
    return status


def from_rpc_error(error: grpc.RpcError) -> FolioError:
    """The error that a peer raised, of our kind again. A code that we do not raise becomes Internal."""
    failed = failure.read(error)
    return _KINDS.get(failed.code, errors.Internal)(
        failed.message,
        reason=failed.reason,
        retry_after_s=failed.retry_after_s,
        violations=[FieldViolation(item.field, item.description) for item in failed.violations],
    )
