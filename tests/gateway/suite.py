"""A gateway in front of scripted services, and a key to call it with."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from pydantic import SecretStr

from folio.gateway.v1 import gateway_pb2_grpc
from folio.generator.v1 import generator_pb2_grpc
from folio.rerank.v1 import late_interaction_pb2_grpc, rerank_pb2_grpc
from folio.retriever.v1 import retriever_pb2_grpc
from services.gateway.assembly import open_service
from services.gateway.keys import create
from services.gateway.settings import GatewaySettings
from services.rpc.channels import channel_options
from services.rpc.interceptors import service_authenticator
from services.rpc.serve import RunningServer, start
from services.rpc.testing import SECRET, SETTINGS
from tests.gateway.script import Script
from tests.gateway.scripted_services import GeneratorServer, RerankServer, RetrieverServer


@dataclass
class Suite:
    """A gateway in front of scripted services. `key` reads and writes for organization 1."""

    script: Script
    channel: grpc.aio.Channel
    key: str
    servers: dict[str, RunningServer]
    settings: GatewaySettings
    keys_file: Path

    @property
    def stub(self) -> Any:
        return gateway_pb2_grpc.GatewayServiceStub(self.channel)

    def metadata(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.key}"),)

    async def call(self, method: str, request: Any, timeout: float = 20.0) -> Any:
        return await getattr(self.stub, method)(request, timeout=timeout, metadata=self.metadata())

    async def stop(self, service: str) -> None:
        """Takes a service down."""
        await self.servers.pop(service).stop(0)


def _registers(script: Script) -> dict[str, Callable[[grpc.aio.Server], list[str]]]:
    def retriever(server: grpc.aio.Server) -> list[str]:
        retriever_pb2_grpc.add_RetrieverServiceServicer_to_server(RetrieverServer(script), server)
        return ["folio.retriever.v1.RetrieverService"]

    def reranker(name: str) -> Callable[[grpc.aio.Server], list[str]]:
        def register(server: grpc.aio.Server) -> list[str]:
            servicer = RerankServer(script, name)
            rerank_pb2_grpc.add_RerankServiceServicer_to_server(servicer, server)
            late_interaction_pb2_grpc.add_LateInteractionServiceServicer_to_server(servicer, server)
            return ["folio.rerank.v1.RerankService"]

        return register

    def generator(server: grpc.aio.Server) -> list[str]:
        generator_pb2_grpc.add_GeneratorServiceServicer_to_server(GeneratorServer(script), server)
        return ["folio.generator.v1.GeneratorService"]

    return {
        "retriever": retriever,
        "colbert": reranker("colbert"),
        "crossencoder": reranker("crossencoder"),
        "generator": generator,
    }


@asynccontextmanager
async def running_suite(
    folder: Path, *, rerankers: Sequence[str] = ("colbert",), **changes: Any
) -> AsyncIterator[Suite]:
    """All services and a gateway on free ports. `changes` are settings of the gateway."""
    script = Script()
    async with AsyncExitStack() as stack:
        servers: dict[str, RunningServer] = {}
        for name, register in _registers(script).items():
            servers[name] = await start(SETTINGS, register, service_authenticator(name, SECRET))
        keys_file = folder / "keys.yaml"
        key = create(keys_file, organization_id=1, organization="acme", label="test")
        calibrations = folder / "calibration"
        calibrations.mkdir(exist_ok=True)
        settings = GatewaySettings(
            **{
                "internal_secret": SecretStr(SECRET),
                "listen": "127.0.0.1:0",
                "keys_file": keys_file,
                "calibration": calibrations,
                "retriever_address": f"127.0.0.1:{servers['retriever'].port}",
                "reranker_list": ",".join(
                    f"{name}=127.0.0.1:{servers[name].port}" for name in rerankers
                ),
                "generator_address": f"127.0.0.1:{servers['generator'].port}",
                **changes,
            }
        )
        service = await stack.enter_async_context(open_service(settings))
        gateway = await start(settings, service.register, service.authenticate)
        channel = grpc.aio.insecure_channel(
            f"127.0.0.1:{gateway.port}", options=channel_options(settings.max_message_bytes)
        )
        stack.push_async_callback(gateway.stop, 0)
        stack.push_async_callback(channel.close)
        suite = Suite(script, channel, key, servers, settings, keys_file)
        try:
            yield suite
        finally:
            await stack.aclose()
            for server in suite.servers.values():
                await server.stop(0)
