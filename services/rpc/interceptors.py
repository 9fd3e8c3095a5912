"""What happens around every call that we serve, in one place: identity, deadline, checks, errors, metrics, spans.

An exception of ours becomes its status; any other becomes INTERNAL with an error id, and its text stays in the log.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, NoReturn

import grpc
import protovalidate
from google.protobuf.message import DecodeError, Message
from opentelemetry import propagate
from opentelemetry.trace import SpanKind

from folio.failure import DETAILS_KEY
from services.rpc import deadline, identity, telemetry
from services.rpc.deadline import Deadline
from services.rpc.errors import (
    DeadlineExceeded,
    FieldViolation,
    FolioError,
    Internal,
    InvalidArgument,
)
from services.rpc.identity import Principal, Verifier
from services.rpc.status import GRPC_CODES, to_status

log = logging.getLogger("folio.rpc")

# Called with the metadata of a call, by key; gives the principal or raises Unauthenticated.
Authenticator = Callable[[dict[str, list[str]]], Principal]

# Asked by load balancers and people, who have no identity.
OPEN_PREFIXES = ("/grpc.health.", "/grpc.reflection.")

# Stands for a request whose bytes are no message of its type.
UNDECODABLE = object()

_validator = protovalidate.Validator()


def service_authenticator(audience: str, secret: str) -> Authenticator:
    """Accepts the tokens that the gateway signs for the service `audience`."""
    verifier = Verifier(audience, secret)
    return lambda metadata: verifier.principal(identity.bearer(metadata))


def tolerant(deserialize: Callable[[bytes], Any] | None) -> Callable[[bytes], Any] | None:
    """Hands on what cannot be read, so that the refusal is ours: gRPC answers UNKNOWN with the exception's text."""
    if deserialize is None:
        return None

    def decode(data: bytes) -> Any:
        try:
            return deserialize(data)
        except DecodeError:
            return UNDECODABLE

    return decode


def check(request: Any) -> None:
    """Raises InvalidArgument with every rule of the proto that the request breaks."""
    if request is UNDECODABLE:
        raise InvalidArgument(
            "the request is not a message of this method; does the client use another version?"
        )
    violations = _validator.collect_violations(request)
    if violations:
        found = []
        for violation in violations:
            path = ".".join(
                element.field_name + (f"[{element.subscript.value}]" if element.subscript else "")
                for element in (violation.proto.field.elements if violation.proto.field else [])
            )
            found.append(
                FieldViolation(
                    path or "request", violation.proto.message or violation.proto.rule_id
                )
            )
        first = found[0]
        raise InvalidArgument(f"{first.field}: {first.description}", violations=found)


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Wraps all four kinds of handler, those that stream while they are iterated too."""

    def __init__(self, authenticate: Authenticator, max_call_seconds: float) -> None:
        self._authenticate = authenticate
        self._max_call_seconds = max_call_seconds
        self._running: set[asyncio.Task[Any]] = set()

    async def drained(self, timeout: float) -> bool:
        """Waits until no handler runs; server.stop() does not wait for their clean-up (grpc#37239)."""
        if self._running:
            await asyncio.wait(self._running, timeout=timeout)
        return not self._running

    async def intercept_service(
        self,
        continuation: Callable[
            [grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]
        ],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or method.startswith(OPEN_PREFIXES):
            return handler
        deserialize = tolerant(handler.request_deserializer)
        if handler.request_streaming and handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(
                self._streaming(method, handler.stream_stream),
                deserialize,
                handler.response_serializer,
            )
        if handler.request_streaming:
            return grpc.stream_unary_rpc_method_handler(
                self._unary(method, handler.stream_unary),
                deserialize,
                handler.response_serializer,
            )
        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(
                self._streaming(method, handler.unary_stream),
                deserialize,
                handler.response_serializer,
            )
        return grpc.unary_unary_rpc_method_handler(
            self._unary(method, handler.unary_unary),
            deserialize,
            handler.response_serializer,
        )

    def _unary(self, method: str, behaviour: Any) -> Any:
        async def wrapped(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            call = _Call(self, method, context)
            try:
                return await behaviour(call.open(request), context)
            except asyncio.CancelledError:
                await call.cancelled()
            except (GeneratorExit, KeyboardInterrupt, SystemExit):
                raise
            # A panic in Rust (tokenizers, pydantic) is no Exception, and would leave the caller hanging.
            except BaseException as error:  # noqa: BLE001  (mapped, never swallowed)
                await call.abort(error)
            finally:
                call.close()

        return wrapped

    def _streaming(self, method: str, behaviour: Any) -> Any:
        async def wrapped(
            request: Any, context: grpc.aio.ServicerContext[Any, Any]
        ) -> AsyncIterator[Any]:
            call = _Call(self, method, context)
            try:
                async with aclosing(behaviour(call.open(request), context)) as responses:
                    async for response in responses:
                        yield response
            except GeneratorExit:
                # The caller left while a response was being sent: gRPC drops the generator without a word.
                call.left()
                raise
            except asyncio.CancelledError:
                await call.cancelled()
            except (KeyboardInterrupt, SystemExit):
                raise
            # A panic in Rust (tokenizers, pydantic) is no Exception, and would leave the caller hanging.
            except BaseException as error:  # noqa: BLE001  (mapped, never swallowed)
                await call.abort(error)
            finally:
                call.close()

        return wrapped


class _Call:
    """One call while it is served."""

    def __init__(
        self, interceptor: CallInterceptor, method: str, context: grpc.aio.ServicerContext[Any, Any]
    ) -> None:
        self._interceptor = interceptor
        self._method = method
        self._context = context
        self._started = time.perf_counter()
        self._code = grpc.StatusCode.OK
        self._request_id = ""
        self._task = asyncio.current_task()
        if self._task is not None:
            interceptor._running.add(self._task)
        telemetry.RUNNING.labels(method).inc()
        self._timer: asyncio.TimerHandle | None = None
        self._timed_out = False
        self._span: Any = None

    def open(self, request: Any) -> Any:
        """Who, until when, what: sets the context of the call and returns the checked request (or stream of them)."""
        metadata: dict[str, list[str]] = {}
        for key, value in self._context.invocation_metadata() or ():
            if isinstance(value, str):
                metadata.setdefault(key, []).append(value)
        self._request_id = (metadata.get("x-request-id") or [""])[0][:128] or uuid.uuid4().hex
        limit = self._interceptor._max_call_seconds
        left = self._context.time_remaining()
        seconds = limit if left is None else min(left, limit)
        deadline.set_current(Deadline.after(seconds))
        if left is None or left > limit:
            # gRPC itself cancels the handler at the caller's own deadline; this is for callers who set none.
            self._timer = asyncio.get_running_loop().call_later(seconds, self._time_out)
        principal = self._interceptor._authenticate(metadata)
        identity.enter(principal, self._request_id)
        context = propagate.extract({key: values[0] for key, values in metadata.items()})
        self._span = telemetry.tracer.start_span(
            self._method, context=context, kind=SpanKind.SERVER
        )
        self._span.set_attribute("folio.request_id", self._request_id)
        if isinstance(request, Message) or request is UNDECODABLE:
            check(request)
            return request
        return self._checked(request)

    async def _checked(self, requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for request in requests:
            check(request)
            yield request

    def _time_out(self) -> None:
        self._timed_out = True
        if self._task is not None:
            self._task.cancel()

    async def abort(self, error: BaseException) -> NoReturn:
        """Ends the call with the status of an exception."""
        if isinstance(error, grpc.aio.AbortError):
            self._code = grpc.StatusCode.UNKNOWN
            raise error
        if isinstance(error, FolioError):
            known: FolioError = error
        else:
            error_id = uuid.uuid4().hex[:12]
            log.error(
                "unhandled exception",
                exc_info=error,
                extra={
                    "method": self._method,
                    "error_id": error_id,
                    "request_id": self._request_id,
                },
            )
            known = Internal(f"internal error {error_id}", reason="INTERNAL")
        await self._end(known)

    async def cancelled(self) -> None:
        """Passes on a cancellation of the call; one that escaped from inside must not leave the caller hanging."""
        if self._timed_out and self._task is not None:
            self._task.uncancel()
            await self._end(DeadlineExceeded("the call took longer than the service allows"))
        if self._task is not None and self._task.cancelling():
            self.left()
            raise asyncio.CancelledError
        await self._end(
            Internal("the work was cancelled inside the service", reason="INNER_CANCEL")
        )

    def left(self) -> None:
        """Notes that the caller did not stay for the end."""
        self._code = grpc.StatusCode.CANCELLED

    async def _end(self, error: FolioError) -> NoReturn:
        self._code = GRPC_CODES[int(error.code)]
        status = to_status(error, self._request_id)
        await self._context.abort(
            self._code,
            status.message,
            trailing_metadata=((DETAILS_KEY, status.SerializeToString()),),
        )
        raise AssertionError("abort() does not return")

    def close(self) -> None:
        """Counts and logs the call."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._interceptor._running.discard(self._task)
        seconds = time.perf_counter() - self._started
        telemetry.RUNNING.labels(self._method).dec()
        telemetry.CALLS.labels(self._method, self._code.name).inc()
        telemetry.SECONDS.labels(self._method).observe(seconds)
        if self._span is not None:
            self._span.set_attribute("rpc.grpc.status_code", self._code.value[0])
            self._span.end()
        log.info(
            "call",
            extra={
                "method": self._method,
                "code": self._code.name,
                "ms": round(seconds * 1e3, 2),
                "request_id": self._request_id,
            },
        )
