"""Puts the gateway together: keys, clients of the other services, servicer. Those services need not be up."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc

from folio.gateway.v1 import gateway_pb2_grpc
from services.gateway.auth import Authenticator
from services.gateway.clients import Clients
from services.gateway.servicer import GatewayServicer
from services.gateway.settings import GatewaySettings


@dataclass(frozen=True)
class Service:
    """What serve() needs of this service: callers bring keys or JWTs, not a token of ours."""

    servicer: GatewayServicer
    authenticate: Authenticator

    def register(self, server: grpc.aio.Server) -> Sequence[str]:
        """See services.rpc.serve.Register."""
        gateway_pb2_grpc.add_GatewayServiceServicer_to_server(self.servicer, server)
        return ["folio.gateway.v1.GatewayService"]


@asynccontextmanager
async def open_service(settings: GatewaySettings) -> AsyncIterator[Service]:
    """The service with its channels, which are closed at the end. FailedPrecondition names a file that is wrong."""
    authenticate = Authenticator(settings)
    clients = Clients.open(settings)
    try:
        yield Service(GatewayServicer(settings, clients), authenticate)
    finally:
        await clients.close()
