"""Puts the encoder together: model, lanes, what is kept."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc

from folio.encoder.v1 import encoder_pb2_grpc
from services.encoder.encoding import Encoding
from services.encoder.kept import Memory, Spool
from services.encoder.servicer import EncoderServicer
from services.encoder.settings import EncoderSettings
from services.minilm.model import MiniLM
from services.minilm.settings import MiniLMSettings
from services.rpc.limits import Gate


@dataclass(frozen=True)
class Service:
    """What serve() needs of this service."""

    servicer: EncoderServicer
    model: MiniLM

    def register(self, server: grpc.aio.Server) -> Sequence[str]:
        """See services.rpc.serve.Register."""
        encoder_pb2_grpc.add_EncoderServiceServicer_to_server(self.servicer, server)
        return ["folio.encoder.v1.EncoderService"]

    async def warm_up(self) -> None:
        """The first inference allocates the model's memory; no caller should wait for that."""
        await asyncio.to_thread(self.model.embed, ["warm up"])


@asynccontextmanager
async def open_service(
    settings: EncoderSettings, minilm: MiniLMSettings | None = None
) -> AsyncIterator[Service]:
    """All that the service holds, closed at the end."""
    minilm = minilm or MiniLMSettings()
    model = await asyncio.to_thread(MiniLM.load, minilm)
    spool = (
        Spool(minilm.cache_dir.expanduser(), settings.spool_bytes) if settings.spool_bytes else None
    )
    encoding = Encoding(
        model,
        Memory(settings.memory_bytes),
        spool,
        batch_tokens=settings.batch_tokens,
        queue_tokens=settings.queue_tokens,
    )
    gate = Gate(settings.max_concurrency, settings.max_queue)
    try:
        yield Service(EncoderServicer(encoding, model.engine.name, gate), model)
    finally:
        await encoding.close()
        if spool is not None:
            spool.close()
