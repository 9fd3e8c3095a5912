"""The client of the encoder service."""

import asyncio
from collections.abc import Iterator, Sequence

import grpc
import numpy as np

from folio.encoder.v1 import encoder_pb2, encoder_pb2_grpc
from services.minilm.encoder import TextEncoder
from services.minilm.model import Vectors
from services.minilm.tokens import TokenReader, Tokens
from services.rpc import deadline, identity
from services.rpc.channels import open_channel
from services.rpc.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    FolioError,
    Internal,
    ResourceExhausted,
    Unavailable,
)
from services.rpc.identity import Principal
from services.rpc.lanes import Lane
from services.rpc.matrices import unpack
from services.rpc.settings import ServerSettings
from services.rpc.status import from_rpc_error
from services.rpc.telemetry import trace_metadata

SERVICE = "folio.encoder.v1.EncoderService"
_LANES = {
    Lane.QUERY: encoder_pb2.LANE_QUERY,
    Lane.DOCUMENT: encoder_pb2.LANE_DOCUMENT,
    Lane.BULK: encoder_pb2.LANE_BULK,
}
# Of one call: token vectors of 3 MB, and less than a second of the model's time.
_CALL_TOKENS, _CALL_TEXTS = 4096, 128
# An ingest waits so long for an encoder that is away, e.g. starting again; a question does without.
_PATIENCE_S = 60.0
# How often it tries a text, and the pause after a call that broke off: the channel may not know yet that it did.
_TRIES, _PAUSE_S = 3, 0.5


class RemoteEncoder(TextEncoder):
    """Acts for the organization of the call that is being served; it needs to know no more of the caller."""

    def __init__(
        self, address: str, settings: ServerSettings, reader: TokenReader | None = None
    ) -> None:
        super().__init__(reader or TokenReader.load())
        self._address, self._settings = address, settings
        self._signer = identity.Signer("encoder", settings.internal_secret.get_secret_value())
        self._channel: grpc.aio.Channel | None = None

    async def _sentences(self, read: Sequence[Tokens], lane: Lane) -> Vectors:
        found = [
            unpack((await self._call(part, lane, sentences=True)).sentences, "sentences")
            for part in _parts(read)
        ]
        return np.concatenate(found)

    async def _tokens(self, read: Sequence[Tokens], lane: Lane) -> list[Vectors]:
        found: list[Vectors] = []
        for part in _parts(read):
            rows = unpack((await self._call(part, lane, tokens=True)).tokens, "tokens")
            ends = np.cumsum([len(item.ids) for item in part])
            if len(rows) != ends[-1]:
                raise Internal("the encoder gave vectors for other tokens", reason="ENCODER")
            found += np.split(rows, ends[:-1])
        return found

    async def _call(
        self, read: Sequence[Tokens], lane: Lane, *, sentences: bool = False, tokens: bool = False
    ) -> encoder_pb2.EncodeResponse:
        request = encoder_pb2.EncodeRequest(
            texts=[encoder_pb2.Tokens(ids=item.ids) for item in read],
            lane=_LANES[lane],
            sentences=sentences,
            tokens=tokens,
            revision=self.revision,
        )
        tries = _TRIES if lane is Lane.BULK else 1
        while True:
            if lane is Lane.BULK:
                await self._await_ready()
            try:
                return await self._stub.Encode(
                    request, timeout=deadline.current().rest(), metadata=self._metadata()
                )
            except grpc.aio.AioRpcError as error:
                failure = _failure(error)
                tries -= 1
                if not tries or not isinstance(failure, Unavailable):
                    raise failure from None
            await asyncio.sleep(_PAUSE_S)

    async def _await_ready(self) -> None:
        """Unavailable if the encoder is away for long."""
        seconds = min(_PATIENCE_S, deadline.current().rest())
        try:
            await asyncio.wait_for(self._connection().channel_ready(), seconds)
        except TimeoutError:
            raise _away() from None

    @property
    def _stub(self) -> "encoder_pb2_grpc.EncoderServiceAsyncStub":
        return encoder_pb2_grpc.EncoderServiceStub(self._connection())

    def _connection(self) -> grpc.aio.Channel:
        if self._channel is None:
            # Not before: a channel belongs to the loop in which it is made.
            self._channel = open_channel(self._address, self._settings, [SERVICE])
        return self._channel

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        principal = Principal(identity.current().organization_id)
        return (
            ("authorization", f"Bearer {self._signer.token(principal)}"),
            ("x-request-id", identity.request_id()),
            *trace_metadata(),
        )

    async def warm_up(self) -> None:
        """The encoder warms itself up, and may come later than we do."""

    async def close(self) -> None:
        if self._channel is not None:
            await self._channel.close()


def _parts(read: Sequence[Tokens]) -> Iterator[Sequence[Tokens]]:
    """Runs of texts, each for one call."""
    start, total = 0, 0
    for index, item in enumerate(read):
        if index > start and (total + len(item.ids) > _CALL_TOKENS or index - start == _CALL_TEXTS):
            yield read[start:index]
            start, total = index, 0
        total += len(item.ids)
    yield read[start:]


def _away() -> Unavailable:
    return Unavailable(
        "the encoder cannot be reached; try again", reason="ENCODER_UNREACHABLE", retry_after_s=2.0
    )


def _failure(error: grpc.aio.AioRpcError) -> FolioError:
    """What a failed call means for our caller. Text that gRPC made (addresses!) is replaced by ours."""
    known = from_rpc_error(error)
    if isinstance(known, Unavailable) and not known.reason:
        return _away()
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DeadlineExceeded("the encoder did not answer in time", reason="ENCODER_SLOW")
    if isinstance(known, (Unavailable, ResourceExhausted, FailedPrecondition)) and known.reason:
        return known
    return Internal(f"the encoder failed with {error.code().name}", reason="ENCODER")
