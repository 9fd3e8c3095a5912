"""Runs the gateway: `python -m services.gateway`. It starts whether or not the stages are up."""

import grpc

from folio.gateway.v1 import gateway_pb2_grpc
from services.gateway.auth import Authenticator
from services.gateway.servicer import SERVICE, GatewayServicer
from services.gateway.settings import GatewaySettings
from services.gateway.stages import Stages
from services.rpc.serve import run_service, serve


async def main() -> None:
    """Settings, stages, servicer, serve."""
    settings = GatewaySettings.load()
    authenticate = Authenticator(settings)
    stages = Stages.open(settings)
    servicer = GatewayServicer(settings, stages)

    def register(server: grpc.aio.Server) -> list[str]:
        gateway_pb2_grpc.add_GatewayServiceServicer_to_server(servicer, server)
        return [SERVICE]

    await serve(settings, "gateway", register, authenticate=authenticate, close=stages.close)


if __name__ == "__main__":
    run_service(main())
