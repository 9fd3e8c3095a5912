"""Asks every service what it is, now."""

import asyncio
import time

from folio.gateway.v1 import gateway_pb2
from services.gateway.clients import AnyClient, Clients
from services.rpc import deadline, identity
from services.rpc.build import package_version
from services.rpc.errors import FolioError

MOST_S = 2.0


async def get_status(clients: Clients) -> gateway_pb2.GetStatusResponse:
    """One entry a service, reachable or not."""
    seconds = min(deadline.current().share(0.8), MOST_S)
    return gateway_pb2.GetStatusResponse(
        services=await asyncio.gather(*(_state(client, seconds) for client in clients.every())),
        organization_id=identity.current().organization_id,
        version=package_version(),
    )


async def _state(client: AnyClient, seconds: float) -> gateway_pb2.ServiceState:
    state = gateway_pb2.ServiceState(service=client.name, address=client.address)
    started = time.perf_counter()
    try:
        state.capabilities.CopyFrom((await client.about(seconds, fresh=True)).capabilities)
        state.reachable = True
    except FolioError as error:
        state.reason = error.message
    state.round_trip_ms = (time.perf_counter() - started) * 1e3
    return state
