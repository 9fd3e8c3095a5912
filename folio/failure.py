"""What a failed call says: google.rpc.Status with its details, as one value."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
from google.protobuf import any_pb2
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

DETAILS_KEY = "grpc-status-details-bin"
FAILED_WRITE = "Internal error from Core"
SETTLING_TURNS = 40


@dataclass(frozen=True)
class Violation:
    """One wrong field of a request."""

    field: str
    description: str


class CallFailed(Exception):
    """A call ended with a status other than OK.

    `code` is the status by name ("NOT_FOUND"); `reason` a stable word for programs; `retry_after_s` is set where
    trying again later can help; `request_id` finds the call in the services' logs.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        reason: str = "",
        retry_after_s: float | None = None,
        violations: Sequence[Violation] = (),
        request_id: str = "",
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.reason = reason
        self.retry_after_s = retry_after_s
        self.violations = tuple(violations)
        self.request_id = request_id


def read(error: grpc.RpcError) -> CallFailed:
    """The status of an error that grpc raised (sync or asyncio), with its details."""
    if not isinstance(error, (grpc.Call, grpc.aio.AioRpcError)):
        return CallFailed("UNAVAILABLE", "the call could not be made")
    code = error.code() or grpc.StatusCode.UNKNOWN
    reason, request_id, retry, violations = "", "", None, []
    for detail in _details(error.trailing_metadata() or ()):
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        delay, about = error_details_pb2.RetryInfo(), error_details_pb2.RequestInfo()
        if detail.Unpack(info):
            reason = info.reason
        elif detail.Unpack(bad):
            violations = [Violation(item.field, item.description) for item in bad.field_violations]
        elif detail.Unpack(delay):
            retry = delay.retry_delay.ToTimedelta().total_seconds()
        elif detail.Unpack(about):
            request_id = about.request_id
    return CallFailed(
        code.name,
        error.details() or "",
        reason=reason,
        retry_after_s=retry,
        violations=violations,
        request_id=request_id,
    )


async def settled(call: Any, error: grpc.aio.AioRpcError) -> grpc.aio.AioRpcError:
    """The true error of an asyncio call that streams requests.

    Where the peer ends the call while a request is being written, grpc.aio first raises INTERNAL for the failed write,
    and learns the peer's status a moment later (seen with grpcio 1.85).
    """
    if error.details() != FAILED_WRITE:
        return error
    for _ in range(SETTLING_TURNS):
        await asyncio.sleep(0.005)
        if await call.details() != FAILED_WRITE:
            return grpc.aio.AioRpcError(
                await call.code(),
                await call.initial_metadata(),
                await call.trailing_metadata(),
                await call.details(),
            )
    return error


def _details(metadata: Iterable[tuple[str, str | bytes]]) -> list[any_pb2.Any]:
    for key, value in metadata:
        if key == DETAILS_KEY and isinstance(value, bytes):
            try:
                return list(status_pb2.Status.FromString(value).details)
            except DecodeError:
                return []
    return []
