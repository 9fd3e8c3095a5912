"""EncoderService: unpack, ask the encoding, pack."""

from typing import Any

import grpc
import numpy as np

from folio.common.v1 import service_pb2
from folio.encoder.v1 import encoder_pb2 as pb
from folio.encoder.v1 import encoder_pb2_grpc
from services.encoder.encoding import Encoding
from services.minilm.model import MiniLM
from services.rpc import identity, rules
from services.rpc.build import package_version
from services.rpc.errors import FailedPrecondition
from services.rpc.lanes import Lane
from services.rpc.limits import Gate
from services.rpc.matrices import pack

Context = grpc.aio.ServicerContext[Any, Any]

_LANES = {
    pb.LANE_QUERY: Lane.QUERY,
    pb.LANE_DOCUMENT: Lane.DOCUMENT,
    pb.LANE_BULK: Lane.BULK,
}


class EncoderServicer(encoder_pb2_grpc.EncoderServiceServicer):
    """Keeps nothing by itself."""

    def __init__(self, encoding: Encoding, engine: str, gate: Gate) -> None:
        self._encoding, self._engine, self._gate = encoding, engine, gate

    async def Encode(self, request: pb.EncodeRequest, context: Context) -> pb.EncodeResponse:
        if request.revision not in ("", MiniLM.revision):
            raise FailedPrecondition(
                f"the encoder has the weights {MiniLM.revision}, not {request.revision};"
                " run the same release of all services",
                reason="OTHER_WEIGHTS",
            )
        async with self._gate:
            found = await self._encoding.encode(
                identity.current().organization_id,
                [list(text.ids) for text in request.texts],
                _LANES[request.lane],
                sentences=request.sentences,
                tokens=request.tokens,
            )
        response = pb.EncodeResponse()
        if request.sentences:
            response.sentences.CopyFrom(pack(np.stack([one.sentence for one in found])))
        if request.tokens:
            response.tokens.CopyFrom(pack(np.concatenate([one.tokens for one in found])))
        return response

    async def GetCapabilities(
        self, request: pb.GetCapabilitiesRequest, context: Context
    ) -> pb.GetCapabilitiesResponse:
        return pb.GetCapabilitiesResponse(
            capabilities=service_pb2.Capabilities(
                service="encoder",
                version=package_version(),
                providers=[
                    service_pb2.Provider(
                        purpose=service_pb2.PURPOSE_EMBED,
                        provider="minilm",
                        model=MiniLM.model_id,
                        revision=MiniLM.revision,
                        local=True,
                    )
                ],
                dim=MiniLM.dim,
                limits={
                    "max_texts": rules.max_items(pb.EncodeRequest, "texts"),
                    "max_tokens": MiniLM.max_positions,
                },
                details={"engine": self._engine},
            )
        )
