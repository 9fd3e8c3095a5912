"""A real server on a free port, with all that surrounds a real one, and a channel that carries an identity."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
from pydantic import SecretStr

from services.rpc import identity
from services.rpc.channels import channel_options
from services.rpc.identity import Principal
from services.rpc.interceptors import Authenticator, service_authenticator
from services.rpc.serve import Register, start
from services.rpc.settings import ServerSettings

SECRET = "a secret for tests, long enough to sign with"
SETTINGS = ServerSettings(internal_secret=SecretStr(SECRET), listen="127.0.0.1:0")


class _Signing:
    """Adds a token for the service to the metadata of a call, as the gateway does."""

    def __init__(self, principal: Principal, audience: str) -> None:
        self._principal, self._signer = principal, identity.Signer(audience, SECRET)

    def _signed(self, details: grpc.aio.ClientCallDetails) -> grpc.aio.ClientCallDetails:
        metadata = grpc.aio.Metadata(*(details.metadata or ()))
        metadata.add("authorization", f"Bearer {self._signer.token(self._principal)}")
        return grpc.aio.ClientCallDetails(
            details.method, details.timeout, metadata, details.credentials, details.wait_for_ready
        )


# grpc.aio files an interceptor under the first kind that it is, so each kind needs a class of its own.
class _UnaryUnary(_Signing, grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        return await continuation(self._signed(details), request)


class _UnaryStream(_Signing, grpc.aio.UnaryStreamClientInterceptor):
    async def intercept_unary_stream(self, continuation: Any, details: Any, request: Any) -> Any:
        return await continuation(self._signed(details), request)


class _StreamUnary(_Signing, grpc.aio.StreamUnaryClientInterceptor):
    async def intercept_stream_unary(self, continuation: Any, details: Any, requests: Any) -> Any:
        return await continuation(self._signed(details), requests)


class _StreamStream(_Signing, grpc.aio.StreamStreamClientInterceptor):
    async def intercept_stream_stream(self, continuation: Any, details: Any, requests: Any) -> Any:
        return await continuation(self._signed(details), requests)


def signing(principal: Principal, audience: str) -> list[grpc.aio.ClientInterceptor]:
    """Client interceptors that act for a principal towards one service."""
    kinds = (_UnaryUnary, _UnaryStream, _StreamUnary, _StreamStream)
    return [kind(principal, audience) for kind in kinds]


@asynccontextmanager
async def running(
    name: str,
    register: Register,
    principal: Principal | None = None,
    *,
    settings: ServerSettings = SETTINGS,
    authenticate: Authenticator | None = None,
) -> AsyncIterator[grpc.aio.Channel]:
    """Serves what `register` adds and yields a channel to it, acting for `principal` (none: no token at all)."""
    server = await start(settings, register, authenticate or service_authenticator(name, SECRET))
    await server.set_serving(True)
    channel = grpc.aio.insecure_channel(
        f"127.0.0.1:{server.port}",
        options=channel_options(settings.max_message_bytes),
        interceptors=signing(principal, name) if principal else None,
    )
    try:
        yield channel
    finally:
        await channel.close()
        await server.stop(0)
