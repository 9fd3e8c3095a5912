"""The other services as the gateway sees them: one channel each, a signed token per call, a breaker, errors of ours."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import grpc
from google.protobuf.message import Message

from folio import failure
from folio.encoder.v1 import encoder_pb2, encoder_pb2_grpc
from folio.generator.v1 import generator_pb2, generator_pb2_grpc
from folio.rerank.v1 import late_interaction_pb2_grpc, rerank_pb2, rerank_pb2_grpc
from folio.retriever.v1 import retriever_pb2, retriever_pb2_grpc
from services.gateway.breaker import Breaker, Health, Throttle
from services.gateway.settings import NONE, GatewaySettings
from services.rpc import identity
from services.rpc.channels import open_channel
from services.rpc.errors import Code, DeadlineExceeded, FolioError, Internal, Unavailable
from services.rpc.status import from_rpc_error
from services.rpc.telemetry import trace_metadata

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)
About = TypeVar("About", bound=Message)

ABOUT_AGE_S = 60.0
# Statuses that mean the same to our caller as to us. Any other from a service is a fault of ours.
PASSED = frozenset(
    {
        Code.UNAVAILABLE,
        Code.DEADLINE_EXCEEDED,
        Code.RESOURCE_EXHAUSTED,
        Code.NOT_FOUND,
        Code.FAILED_PRECONDITION,
    }
)
# Calls that hand on what the caller sent: there, a refusal of the service is the caller's to read.
RELAYED = PASSED | {
    Code.INVALID_ARGUMENT,
    Code.ALREADY_EXISTS,
    Code.ABORTED,
    Code.DATA_LOSS,
    Code.PERMISSION_DENIED,
}


def from_service(
    error: grpc.aio.AioRpcError, service: str, passed: frozenset[Code] = PASSED
) -> FolioError:
    """What a service's failure means for our caller. Text that gRPC made (addresses!) is replaced by ours."""
    known = from_rpc_error(error)
    if error.code() is grpc.StatusCode.UNAVAILABLE and not known.reason:
        return Unavailable(
            f"{service} cannot be reached", reason="SERVICE_UNREACHABLE", retry_after_s=2.0
        )
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DeadlineExceeded(f"{service} did not answer in time", reason="SERVICE_SLOW")
    if known.code in passed and known.reason:
        return known
    return Internal(f"{service} failed with {error.code().name}", reason="SERVICE_FAILED")


class Client(ABC, Generic[About]):
    """The caller of one service: how to call it, and whether it is well. `name` is the audience of its tokens."""

    def __init__(
        self, name: str, address: str, settings: GatewaySettings, retried: str = ""
    ) -> None:
        self.name, self.address = name, address
        self._settings = settings
        self._signer = identity.Signer(name, settings.internal_secret.get_secret_value())
        self.channel = open_channel(address, settings, [retried] if retried else [])
        self._breaker = Breaker(
            settings.breaker_failures, settings.breaker_open_seconds, service=name
        )
        self._throttle = Throttle(service=name)
        self._about: tuple[float, About] | None = None

    async def about(self, seconds: float, *, fresh: bool = False) -> About:
        """What the service says of itself, at most a minute old; asks, waiting `seconds`, where that is too old."""
        if fresh or self._about is None or time.monotonic() - self._about[0] >= ABOUT_AGE_S:
            self._about = (time.monotonic(), await self._ask_about(seconds))
        return self._about[1]

    @abstractmethod
    async def _ask_about(self, seconds: float) -> About: ...

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
        health = Health.UNKNOWN
        try:
            response = await method(request, timeout=seconds, metadata=self._metadata())
            health = Health.WELL
            return response
        except grpc.aio.AioRpcError as error:
            health = self._health_of(error, seconds)
            raise from_service(error, self.name, passed) from None
        finally:
            self._record(health)

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
            # Running out of time says nothing of the service here: the sender may be the slow one.
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
        health = Health.UNKNOWN
        try:
            async for response in call:
                # A service that is at work is not sick, however much there is to do.
                seconds = 0.0
                yield response
            health = Health.WELL
        except grpc.aio.AioRpcError as raised:
            error = await failure.settled(call, raised)
            health = self._health_of(error, seconds)
            raise from_service(error, self.name, passed) from None
        finally:
            call.cancel()
            self._record(health)

    def _admit(self) -> None:
        self._breaker.admit()
        try:
            self._throttle.admit()
        except FolioError:
            self._breaker.record(Health.UNKNOWN)
            raise

    def _record(self, health: Health) -> None:
        self._breaker.record(health)
        self._throttle.record(health)

    def _health_of(self, error: grpc.aio.AioRpcError, seconds: float) -> Health:
        code = error.code()
        if code is grpc.StatusCode.UNAVAILABLE:
            # Two changes that met in the database are no illness of the service.
            return Health.WELL if from_rpc_error(error).reason == "CONTENTION" else Health.SICK
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            # A file that is too large is refused for ever, and is no sign of load: only who is busy says when to retry.
            busy = from_rpc_error(error).retry_after_s is not None
            return Health.BUSY if busy else Health.WELL
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            patient = seconds > self._settings.breaker_slow_seconds
            return Health.SICK if patient else Health.UNKNOWN
        return Health.WELL

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        return (
            ("authorization", f"Bearer {self._signer.token(identity.current())}"),
            ("x-request-id", identity.request_id()),
            *trace_metadata(),
        )


class RetrieverClient(Client[retriever_pb2.GetCapabilitiesResponse]):
    """Documents, search, passages, places."""

    def __init__(self, address: str, settings: GatewaySettings) -> None:
        super().__init__("retriever", address, settings, "folio.retriever.v1.RetrieverService")
        self.stub = retriever_pb2_grpc.RetrieverServiceStub(self.channel)

    async def _ask_about(self, seconds: float) -> retriever_pb2.GetCapabilitiesResponse:
        request = retriever_pb2.GetCapabilitiesRequest()
        return await self.call(self.stub.GetCapabilities, request, seconds)


class RerankerClient(Client[rerank_pb2.GetCapabilitiesResponse]):
    """A reranker; the one that keeps token vectors serves late interaction too."""

    def __init__(self, name: str, address: str, settings: GatewaySettings) -> None:
        super().__init__(name, address, settings, "folio.rerank.v1.RerankService")
        self.stub = rerank_pb2_grpc.RerankServiceStub(self.channel)
        self.late_interaction = late_interaction_pb2_grpc.LateInteractionServiceStub(self.channel)

    async def _ask_about(self, seconds: float) -> rerank_pb2.GetCapabilitiesResponse:
        request = rerank_pb2.GetCapabilitiesRequest()
        return await self.call(self.stub.GetCapabilities, request, seconds)


class GeneratorClient(Client[generator_pb2.GetCapabilitiesResponse]):
    """Every call of a language model."""

    def __init__(self, address: str, settings: GatewaySettings) -> None:
        super().__init__("generator", address, settings)
        self.stub = generator_pb2_grpc.GeneratorServiceStub(self.channel)

    async def _ask_about(self, seconds: float) -> generator_pb2.GetCapabilitiesResponse:
        request = generator_pb2.GetCapabilitiesRequest()
        return await self.call(self.stub.GetCapabilities, request, seconds)


class EncoderClient(Client[encoder_pb2.GetCapabilitiesResponse]):
    """The encoder is the other services' to call; we ask only how it is."""

    def __init__(self, address: str, settings: GatewaySettings) -> None:
        super().__init__("encoder", address, settings)
        self.stub = encoder_pb2_grpc.EncoderServiceStub(self.channel)

    async def _ask_about(self, seconds: float) -> encoder_pb2.GetCapabilitiesResponse:
        request = encoder_pb2.GetCapabilitiesRequest()
        return await self.call(self.stub.GetCapabilities, request, seconds)


AnyClient = RetrieverClient | RerankerClient | GeneratorClient | EncoderClient


@dataclass(frozen=True)
class Clients:
    """All that the gateway calls. Opened once, in the running loop; none of the services need be up."""

    retriever: RetrieverClient
    # By name, in the order in which they run.
    rerankers: Mapping[str, RerankerClient]
    generator: GeneratorClient | None
    encoder: EncoderClient | None = None

    @classmethod
    def open(cls, settings: GatewaySettings) -> "Clients":
        """Channels to all that is configured."""
        return cls(
            retriever=RetrieverClient(settings.retriever_address, settings),
            rerankers={
                name: RerankerClient(name, address, settings)
                for name, address in settings.rerankers
            },
            generator=GeneratorClient(settings.generator_address, settings)
            if settings.generator_address != NONE
            else None,
            encoder=EncoderClient(settings.encoder_address, settings)
            if settings.encoder_address not in ("", NONE)
            else None,
        )

    @property
    def colbert(self) -> RerankerClient | None:
        return self.rerankers.get("colbert")

    def every(self) -> tuple[AnyClient, ...]:
        generator = (self.generator,) if self.generator else ()
        encoder = (self.encoder,) if self.encoder else ()
        return (self.retriever, *self.rerankers.values(), *generator, *encoder)

    async def close(self) -> None:
        await asyncio.gather(*(client.close() for client in self.every()))
