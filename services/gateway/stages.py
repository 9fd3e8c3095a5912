"""The stages as the gateway sees them: one channel each, a signed token per call, a breaker, errors of ours."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import grpc
from google.protobuf.message import Message

from folio import failure
from folio.generator.v1 import generator_pb2, generator_pb2_grpc
from folio.rerank.v1 import late_interaction_pb2_grpc, rerank_pb2, rerank_pb2_grpc
from folio.retriever.v1 import retriever_pb2, retriever_pb2_grpc
from services.gateway.breaker import Breaker, Throttle, Verdict
from services.gateway.settings import NONE, GatewaySettings
from services.rpc import identity
from services.rpc.channels import open_channel
from services.rpc.errors import Code, DeadlineExceeded, FolioError, Internal, Unavailable
from services.rpc.status import from_rpc_error
from services.rpc.telemetry import trace_metadata

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

DESCRIPTION_AGE_S = 60.0
# Statuses that mean the same to our caller as to us. Any other from a stage is a fault of ours.
PASSED = frozenset(
    {
        Code.UNAVAILABLE,
        Code.DEADLINE_EXCEEDED,
        Code.RESOURCE_EXHAUSTED,
        Code.NOT_FOUND,
        Code.FAILED_PRECONDITION,
    }
)
# Calls that hand on what the caller sent: there, a refusal of the stage is the caller's to read.
RELAYED = PASSED | {
    Code.INVALID_ARGUMENT,
    Code.ALREADY_EXISTS,
    Code.ABORTED,
    Code.DATA_LOSS,
    Code.PERMISSION_DENIED,
}


def from_stage(
    error: grpc.aio.AioRpcError, stage: str, passed: frozenset[Code] = PASSED
) -> FolioError:
    """What a stage's failure means for our caller. Text that gRPC made (addresses!) is replaced by ours."""
    known = from_rpc_error(error)
    if error.code() is grpc.StatusCode.UNAVAILABLE and not known.reason:
        return Unavailable(f"{stage} cannot be reached", reason="STAGE_UNREACHABLE")
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DeadlineExceeded(f"{stage} did not answer in time", reason="STAGE_SLOW")
    if known.code in passed and known.reason:
        return known
    return Internal(f"{stage} failed with {error.code().name}", reason="STAGE_FAILED")


class Kept(Generic[Response]):
    """What a stage says of itself, at most a minute old."""

    def __init__(self, ask: Callable[[float], Awaitable[Response]]) -> None:
        self._ask = ask
        self._kept: tuple[float, Response] | None = None

    async def current(self, seconds: float, fresh: bool) -> Response:
        """Asks, waiting at most `seconds`, if what is kept is too old, or must be `fresh`."""
        if fresh or self._kept is None or time.monotonic() - self._kept[0] >= DESCRIPTION_AGE_S:
            self._kept = (time.monotonic(), await self._ask(seconds))
        return self._kept[1]


class Stage:
    """One stage: how to call it, and whether it is well. `name` is the audience of its tokens."""

    def __init__(
        self, name: str, address: str, settings: GatewaySettings, retried: str = ""
    ) -> None:
        self.name, self.address = name, address
        self._settings = settings
        self._signer = identity.Signer(name, settings.internal_secret.get_secret_value())
        self.channel = open_channel(address, settings, [retried] if retried else [])
        self._breaker = Breaker(
            settings.breaker_failures, settings.breaker_open_seconds, stage=name
        )
        self._throttle = Throttle(stage=name)

    async def close(self) -> None:
        await self.channel.close()

    async def call(
        self,
        method: "grpc.aio.UnaryUnaryMultiCallable[Request, Response]",
        request: Request,
        seconds: float,
        passed: frozenset[Code] = PASSED,
    ) -> Response:
        """One reply, or a FolioError. A cancelled caller cancels the call."""
        self._admit()
        verdict = Verdict.NOTHING
        try:
            response = await method(request, timeout=seconds, metadata=self._metadata())
            verdict = Verdict.WELL
            return response
        except grpc.aio.AioRpcError as error:
            verdict = self._judge(error, seconds)
            raise from_stage(error, self.name, passed) from None
        finally:
            self._record(verdict)

    async def stream(
        self,
        method: "grpc.aio.UnaryStreamMultiCallable[Request, Response]",
        request: Request,
        seconds: float,
        passed: frozenset[Code] = PASSED,
    ) -> AsyncIterator[Response]:
        """Replies as they come. Leaving early cancels the call."""
        self._admit()
        call = method(request, timeout=seconds, metadata=self._metadata())
        async for response in self._replies(call, seconds, passed):
            yield response

    async def exchange(
        self,
        method: "grpc.aio.StreamStreamMultiCallable[Request, Response]",
        requests: AsyncIterator[Request],
        seconds: float,
        passed: frozenset[Code] = RELAYED,
    ) -> AsyncIterator[Response]:
        """Sends a stream and yields the replies. gRPC takes the next request when the last one has left."""
        self._admit()
        broken: list[Exception] = []

        async def watched() -> AsyncIterator[Request]:
            try:
                async for request in requests:
                    yield request
            except Exception as error:
                broken.append(error)
                raise

        call = method(watched(), timeout=seconds, metadata=self._metadata())
        try:
            # Running out of time says nothing of the stage here: the sender may be the slow one.
            async for response in self._replies(call, 0.0, passed):
                yield response
        except asyncio.CancelledError:
            # A request that cannot be made makes gRPC cancel the call; why is for us to say.
            if broken:
                raise broken[0] from None
            raise

    async def _replies(
        self,
        call: "grpc.aio.UnaryStreamCall[Request, Response] | grpc.aio.StreamStreamCall[Request, Response]",
        seconds: float,
        passed: frozenset[Code],
    ) -> AsyncIterator[Response]:
        verdict = Verdict.NOTHING
        try:
            async for response in call:
                # A stage that is at work is not sick, however much there is to do.
                seconds = 0.0
                yield response
            verdict = Verdict.WELL
        except grpc.aio.AioRpcError as raised:
            error = await failure.settled(call, raised)
            verdict = self._judge(error, seconds)
            raise from_stage(error, self.name, passed) from None
        finally:
            call.cancel()
            self._record(verdict)

    def _admit(self) -> None:
        self._breaker.admit()
        try:
            self._throttle.admit()
        except FolioError:
            self._breaker.record(Verdict.NOTHING)
            raise

    def _record(self, verdict: Verdict) -> None:
        self._breaker.record(verdict)
        self._throttle.record(verdict)

    def _judge(self, error: grpc.aio.AioRpcError, seconds: float) -> Verdict:
        code = error.code()
        if code is grpc.StatusCode.UNAVAILABLE:
            # Two changes that met in the database are no illness of the stage.
            return Verdict.WELL if from_rpc_error(error).reason == "CONTENTION" else Verdict.SICK
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            # A file that is too large is refused for ever, and is no sign of load: only who is busy says when to retry.
            busy = from_rpc_error(error).retry_after_s is not None
            return Verdict.BUSY if busy else Verdict.WELL
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            patient = seconds > self._settings.breaker_slow_seconds
            return Verdict.SICK if patient else Verdict.NOTHING
        return Verdict.WELL

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        return (
            ("authorization", f"Bearer {self._signer.token(identity.current())}"),
            ("x-request-id", identity.request_id()),
            *trace_metadata(),
        )


class Retriever(Stage):
    """Documents, search, passages, places."""

    def __init__(self, address: str, settings: GatewaySettings) -> None:
        super().__init__("retriever", address, settings, "folio.retriever.v1.RetrieverService")
        self.stub = retriever_pb2_grpc.RetrieverServiceStub(self.channel)

        self._described = Kept(
            lambda seconds: self.call(
                self.stub.GetCapabilities, retriever_pb2.GetCapabilitiesRequest(), seconds
            )
        )

    async def described(
        self, seconds: float, *, fresh: bool = False
    ) -> retriever_pb2.GetCapabilitiesResponse:
        return await self._described.current(seconds, fresh)


class Reranker(Stage):
    """A reranker; the one that keeps token vectors serves late interaction too."""

    def __init__(self, name: str, address: str, settings: GatewaySettings) -> None:
        super().__init__(name, address, settings, "folio.rerank.v1.RerankService")
        self.stub = rerank_pb2_grpc.RerankServiceStub(self.channel)
        self.late_interaction = late_interaction_pb2_grpc.LateInteractionServiceStub(self.channel)

        self._described = Kept(
            lambda seconds: self.call(
                self.stub.GetCapabilities, rerank_pb2.GetCapabilitiesRequest(), seconds
            )
        )

    async def described(
        self, seconds: float, *, fresh: bool = False
    ) -> rerank_pb2.GetCapabilitiesResponse:
        return await self._described.current(seconds, fresh)


class Generator(Stage):
    """Every call of a language model."""

    def __init__(self, address: str, settings: GatewaySettings) -> None:
        super().__init__("generator", address, settings)
        self.stub = generator_pb2_grpc.GeneratorServiceStub(self.channel)

        self._described = Kept(
            lambda seconds: self.call(
                self.stub.GetCapabilities, generator_pb2.GetCapabilitiesRequest(), seconds
            )
        )

    async def described(
        self, seconds: float, *, fresh: bool = False
    ) -> generator_pb2.GetCapabilitiesResponse:
        return await self._described.current(seconds, fresh)


@dataclass(frozen=True)
class Stages:
    """All that the gateway calls. Opened once, in the running loop; none of them need be up."""

    retriever: Retriever
    rerankers: tuple[Reranker, ...]
    generator: Generator | None

    @classmethod
    def open(cls, settings: GatewaySettings) -> "Stages":
        """Channels to all that is configured."""
        return cls(
            retriever=Retriever(settings.retriever_address, settings),
            rerankers=tuple(
                Reranker(name, address, settings) for name, address in settings.rerankers
            ),
            generator=Generator(settings.generator_address, settings)
            if settings.generator_address != NONE
            else None,
        )

    def reranker(self, name: str) -> Reranker | None:
        """The reranker of a name, if it is configured."""
        return next((reranker for reranker in self.rerankers if reranker.name == name), None)

    @property
    def colbert(self) -> Reranker | None:
        return self.reranker("colbert")

    def every(self) -> tuple[Retriever | Reranker | Generator, ...]:
        generator = (self.generator,) if self.generator else ()
        return (self.retriever, *self.rerankers, *generator)

    async def close(self) -> None:
        await asyncio.gather(*(stage.close() for stage in self.every()))
