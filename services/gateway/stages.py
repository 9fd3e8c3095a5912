"""The stages as the gateway sees them: one channel each, a signed token per call, a breaker, errors of ours."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TypeVar

import grpc
from google.protobuf.message import Message

from folio.common.v1 import stage_pb2
from folio.generator.v1 import generator_pb2, generator_pb2_grpc
from folio.rerank.v1 import late_interaction_pb2_grpc, rerank_pb2, rerank_pb2_grpc
from folio.retriever.v1 import retriever_pb2, retriever_pb2_grpc
from services.gateway.breaker import Breaker, Throttle, Verdict
from services.rpc import identity
from services.rpc.channels import open_channel
from services.rpc.errors import Code, DeadlineExceeded, FolioError, Internal, Unavailable
from services.rpc.settings import ServerSettings
from services.rpc.status import from_rpc_error
from services.rpc.telemetry import trace_metadata

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

CAPABILITIES_AGE_S = 60.0
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


@dataclass(frozen=True)
class RerankerAddress:
    """Where a reranker is."""

    name: str
    address: str

    @classmethod
    def parse_all(cls, text: str) -> tuple["RerankerAddress", ...]:
        """Of "colbert=host:port,crossencoder=host:port"; ValueError if it is not that."""
        found = []
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, equals, address = part.partition("=")
            if not equals or not address or name not in ("colbert", "crossencoder"):
                raise ValueError(
                    "rerankers are written colbert=host:port,crossencoder=host:port; "
                    f"cannot read '{part}'"
                )
            found.append(cls(name, address))
        if len({reranker.name for reranker in found}) != len(found):
            raise ValueError("a reranker is named twice")
        return tuple(found)


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


class Stage:
    """One stage: how to call it, and whether it is well. `name` is the audience of its tokens."""

    def __init__(
        self, name: str, address: str, settings: "StageSettings", retried: str = ""
    ) -> None:
        self.name, self.address = name, address
        self._settings = settings
        self.channel = open_channel(address, settings.server, [retried] if retried else [])
        self._breaker = Breaker(settings.breaker_failures, settings.breaker_open_seconds)
        self._throttle = Throttle()
        self._capabilities: Message | None = None
        self._capabilities_at = -CAPABILITIES_AGE_S

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
            response = await method(request, timeout=seconds, metadata=self._metadata(seconds))
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
        call = method(request, timeout=seconds, metadata=self._metadata(seconds))
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
        call = method(requests, timeout=seconds, metadata=self._metadata(seconds))
        async for response in self._replies(call, seconds, passed):
            yield response

    async def _replies(
        self,
        call: "grpc.aio.UnaryStreamCall[Request, Response] | grpc.aio.StreamStreamCall[Request, Response]",
        seconds: float,
        passed: frozenset[Code],
    ) -> AsyncIterator[Response]:
        verdict = Verdict.NOTHING
        try:
            async for response in call:
                yield response
            verdict = Verdict.WELL
        except grpc.aio.AioRpcError as error:
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
            return Verdict.SICK
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return Verdict.BUSY
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            patient = seconds >= self._settings.breaker_slow_seconds
            return Verdict.SICK if patient else Verdict.NOTHING
        return Verdict.WELL

    def _metadata(self, seconds: float) -> tuple[tuple[str, str], ...]:
        request_id = identity.request_id()
        token = identity.sign(
            identity.current(),
            self.name,
            self._settings.secret,
            request_id=request_id,
            lifetime_s=min(max(seconds, 1.0) + 5.0, identity.LIFETIME_S),
        )
        return (
            ("authorization", f"Bearer {token}"),
            ("x-request-id", request_id),
            *trace_metadata(),
        )

    async def known(
        self,
        method: "grpc.aio.UnaryUnaryMultiCallable[Request, Response]",
        request: Request,
        seconds: float,
    ) -> Response:
        """The stage's capabilities, at most a minute old."""
        if time.monotonic() - self._capabilities_at >= CAPABILITIES_AGE_S:
            self._capabilities = await self.call(method, request, seconds)
            self._capabilities_at = time.monotonic()
        return self._capabilities  # type: ignore[return-value]  # one method per stage


@dataclass(frozen=True)
class StageSettings:
    """What a stage's client needs of the settings."""

    server: ServerSettings
    secret: str
    breaker_failures: int
    breaker_open_seconds: float
    breaker_slow_seconds: float


class Retriever(Stage):
    """Documents, search, passages, places."""

    def __init__(self, address: str, settings: StageSettings) -> None:
        super().__init__("retriever", address, settings, "folio.retriever.v1.RetrieverService")
        self.stub = retriever_pb2_grpc.RetrieverServiceStub(self.channel)

    async def capabilities(self, seconds: float) -> stage_pb2.Capabilities:
        request = retriever_pb2.GetCapabilitiesRequest()
        return (await self.known(self.stub.GetCapabilities, request, seconds)).capabilities


class Reranker(Stage):
    """A reranker; the one that keeps token vectors serves late interaction too."""

    def __init__(self, address: RerankerAddress, settings: StageSettings) -> None:
        super().__init__(address.name, address.address, settings, "folio.rerank.v1.RerankService")
        self.stub = rerank_pb2_grpc.RerankServiceStub(self.channel)
        self.late_interaction = late_interaction_pb2_grpc.LateInteractionServiceStub(self.channel)

    async def described(self, seconds: float) -> rerank_pb2.GetCapabilitiesResponse:
        request = rerank_pb2.GetCapabilitiesRequest()
        return await self.known(self.stub.GetCapabilities, request, seconds)

    async def capabilities(self, seconds: float) -> stage_pb2.Capabilities:
        return (await self.described(seconds)).capabilities


class Generator(Stage):
    """Every call of a language model."""

    def __init__(self, address: str, settings: StageSettings) -> None:
        super().__init__("generator", address, settings)
        self.stub = generator_pb2_grpc.GeneratorServiceStub(self.channel)

    async def described(self, seconds: float) -> generator_pb2.GetCapabilitiesResponse:
        request = generator_pb2.GetCapabilitiesRequest()
        return await self.known(self.stub.GetCapabilities, request, seconds)

    async def capabilities(self, seconds: float) -> stage_pb2.Capabilities:
        return (await self.described(seconds)).capabilities


@dataclass(frozen=True)
class Stages:
    """All that the gateway calls. Opened once, in the running loop; none of them need be up."""

    retriever: Retriever
    rerankers: tuple[Reranker, ...]
    generator: Generator | None

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
