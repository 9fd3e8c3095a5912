"""Runs one service: interceptors, health, reflection, metrics, signals, drain."""

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from services.rpc import logs, telemetry
from services.rpc.errors import FailedPrecondition, FolioError
from services.rpc.interceptors import Authenticator, CallInterceptor, service_authenticator
from services.rpc.settings import ServerSettings

log = logging.getLogger("folio.rpc")

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING

# Adds servicers to a server and returns their fully qualified service names.
Register = Callable[[grpc.aio.Server], Sequence[str]]
# What a service does before it serves, while it serves, or at its end.
Hook = Callable[[], Awaitable[None]]
HEALTH_INTERVAL_S = 2.0


def server_options(settings: ServerSettings) -> list[tuple[str, int]]:
    """Channel arguments of every server: sizes, keepalive that matches channels.py, ageing, one owner of a port."""
    return [
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.max_send_message_length", settings.max_message_bytes),
        ("grpc.so_reuseport", 0),
        ("grpc.max_connection_age_ms", int(settings.max_connection_age_seconds * 1000)),
        ("grpc.max_connection_age_grace_ms", int(settings.max_call_seconds * 1000)),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.http2.min_ping_interval_without_data_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
    ]


def server_credentials(settings: ServerSettings) -> grpc.ServerCredentials | None:
    """TLS, mutual where an authority is named; None without a certificate."""
    if settings.tls_certificate is None or settings.tls_key is None:
        return None
    pair = (settings.tls_key.read_bytes(), settings.tls_certificate.read_bytes())
    authorities = settings.tls_ca.read_bytes() if settings.tls_ca else None
    return grpc.ssl_server_credentials(
        [pair], authorities, require_client_auth=authorities is not None
    )


@dataclass
class RunningServer:
    """A server that listens. `port` is the one it got."""

    server: grpc.aio.Server
    interceptor: CallInterceptor
    health: health.aio.HealthServicer
    names: Sequence[str]
    port: int

    async def set_serving(self, serving: bool) -> None:
        """What the health service says of each of our services."""
        for name in self.names:
            await self.health.set(name, SERVING if serving else NOT_SERVING)

    async def stop(self, grace: float) -> None:
        """Refuses new calls, lets the running ones end, and waits for their clean-up."""
        await self.health.enter_graceful_shutdown()
        await self.server.stop(grace)
        if not await self.interceptor.drained(timeout=5.0):
            log.warning("handlers were still cleaning up at exit")


async def start(
    settings: ServerSettings, register: Register, authenticate: Authenticator
) -> RunningServer:
    """A listening server whose services are NOT_SERVING until somebody says otherwise.

    FailedPrecondition if it cannot have its address.
    """
    interceptor = CallInterceptor(authenticate, settings.max_call_seconds)
    server = grpc.aio.server(
        interceptors=[interceptor],
        options=server_options(settings),
        # The last line of defence; the servicers' own gates refuse far earlier, and leave health checks alone.
        maximum_concurrent_rpcs=4 * (settings.max_concurrency + settings.max_queue) + 100,
    )
    names = register(server)
    checks = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    reflection.enable_server_reflection(
        [*names, health.SERVICE_NAME, reflection.SERVICE_NAME], server
    )
    credentials = server_credentials(settings)
    try:
        port = (
            server.add_secure_port(settings.listen, credentials)
            if credentials
            else server.add_insecure_port(settings.listen)
        )
    except RuntimeError:
        raise FailedPrecondition(
            f"cannot listen on {settings.listen} (FOLIO_LISTEN): another program does, or it is no address of ours"
        ) from None
    running = RunningServer(server, interceptor, checks, names, port)
    await checks.set("", SERVING)
    await running.set_serving(False)
    await server.start()
    return running


async def serve(
    settings: ServerSettings,
    name: str,
    register: Register,
    *,
    authenticate: Authenticator | None = None,
    warm_up: Hook | None = None,
    check: Hook | None = None,
    close: Hook | None = None,
) -> None:
    """Serves until SIGTERM or SIGINT, then drains.

    `warm_up` runs before the health service says SERVING; `check` runs every two seconds after that and says
    NOT_SERVING while it raises; `close` runs last. Without `authenticate`, calls need the gateway's token for `name`.
    """
    logs.configure(settings.log_level)
    telemetry.configure_tracing(name, settings.otlp_endpoint)
    telemetry.serve_metrics(settings.metrics_listen)
    log.info("settings", extra={"service": name, "settings": settings.describe()})
    if authenticate is None:
        authenticate = service_authenticator(name, settings.internal_secret.get_secret_value())
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    running = await start(settings, register, authenticate)
    try:
        stopped = asyncio.create_task(stopping.wait())
        if warm_up is not None:
            warming = asyncio.ensure_future(warm_up())
            await asyncio.wait({warming, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not warming.done():
                warming.cancel()
                return
            warming.result()
        await running.set_serving(True)
        log.info("serving", extra={"service": name, "port": running.port})
        await _watch(running, check, stopping)
    finally:
        log.info("draining", extra={"service": name})
        await running.stop(settings.drain_seconds)
        if close is not None:
            await close()


async def _watch(running: RunningServer, check: Hook | None, stopping: asyncio.Event) -> None:
    """Keeps the health service truthful until the signal comes."""
    healthy = True
    while not stopping.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), HEALTH_INTERVAL_S if check else None)
        if stopping.is_set() or check is None:
            continue
        try:
            await asyncio.wait_for(check(), HEALTH_INTERVAL_S)
            now = True
        except Exception as error:  # noqa: BLE001  (whatever is wrong, the service is not healthy)
            now = False
            if healthy:
                log.warning("not healthy", extra={"error": type(error).__name__})
        if now != healthy:
            await running.set_serving(now)
            healthy = now


def run_service(main: Coroutine[Any, Any, None]) -> None:
    """Runs a service's main coroutine. What keeps it from starting is one line and exit status 1, without a stack."""
    try:
        asyncio.run(main)
    except FolioError as error:
        sys.exit(f"error: {error.message}")
