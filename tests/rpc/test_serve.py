"""What surrounds every call: four kinds of handler, and what reaches the caller when something goes wrong."""

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import pytest
from google.protobuf import wrappers_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc

from folio.client import OPTIONS
from folio.gateway.v1 import gateway_pb2
from services.rpc import deadline, identity, telemetry
from services.rpc.channels import open_channel
from services.rpc.errors import FailedPrecondition, FolioError, ResourceExhausted
from services.rpc.identity import Principal
from services.rpc.serve import start
from services.rpc.settings import ServerSettings
from services.rpc.status import from_rpc_error
from services.rpc.testing import SECRET, SETTINGS, running

ACME = Principal(organization_id=7, subject="test", scopes=frozenset({"read"}))
CANARY = "postgres://user:canary-password@db/folio"
Text = wrappers_pb2.StringValue


class Probe:
    """A service with one method of each kind; `act` is what its handlers do."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.act = act

    async def _do(self) -> Text:
        result = self.act()
        if asyncio.iscoroutine(result):
            result = await result
        return Text(value=str(result))

    async def unary_unary(self, request: object, context: object) -> Text:
        return await self._do()

    async def unary_stream(self, request: object, context: object) -> AsyncIterator[Text]:
        yield Text(value="first")
        yield await self._do()

    async def stream_unary(self, requests: AsyncIterator[object], context: object) -> Text:
        async for _ in requests:
            pass
        return await self._do()

    async def stream_stream(
        self, requests: AsyncIterator[object], context: object
    ) -> AsyncIterator[Text]:
        async for _ in requests:
            yield await self._do()

    def register(self, server: grpc.aio.Server) -> list[str]:
        options = {
            "request_deserializer": gateway_pb2.GetDocumentRequest.FromString,
            "response_serializer": Text.SerializeToString,
        }
        handlers = {
            kind: getattr(grpc, f"{kind}_rpc_method_handler")(getattr(self, kind), **options)
            for kind in ("unary_unary", "unary_stream", "stream_unary", "stream_stream")
        }
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("folio.test.Probe", handlers),)
        )
        return ["folio.test.Probe"]


KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")
GOOD = gateway_pb2.GetDocumentRequest(document_id=1)


async def call(
    channel: grpc.aio.Channel,
    kind: str,
    request: gateway_pb2.GetDocumentRequest = GOOD,
    timeout: float = 20,
) -> str:
    """The last message of one call."""
    method = getattr(channel, kind)(
        f"/folio.test.Probe/{kind}",
        request_serializer=gateway_pb2.GetDocumentRequest.SerializeToString,
        response_deserializer=Text.FromString,
    )
    argument = iter([request]) if kind.startswith("stream") else request
    if kind.endswith("_unary"):
        only: str = (await method(argument, timeout=timeout)).value
        return only
    last = ""
    replies = method(argument, timeout=timeout)
    try:
        async for message in replies:
            last = message.value
    finally:
        # grpc.aio leaves the call open when its reader is cancelled between the request's leaving and the first read.
        replies.cancel()
    return last


async def failure(channel: grpc.aio.Channel, kind: str, **options: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(channel, kind, **options)
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
async def test_identity_and_deadline_reach_the_handler(kind: str) -> None:
    probe = Probe(lambda: (identity.current().organization_id, deadline.remaining() < 10))
    async with running("probe", probe.register, ACME) as channel:
        assert await call(channel, kind, timeout=9) == "(7, True)"


@pytest.mark.parametrize("kind", KINDS)
async def test_bytes_that_are_no_message_are_the_callers_fault(kind: str) -> None:
    probe = Probe(lambda: "never")
    async with running("probe", probe.register, ACME) as channel:
        method = getattr(channel, kind)(
            f"/folio.test.Probe/{kind}", request_serializer=lambda data: data
        )
        data: object = CANARY.encode() + b"\xff"
        replies = method(iter([data]) if kind.startswith("stream") else data, timeout=20)

        async def read() -> None:
            if kind.endswith("_unary"):
                await replies
            else:
                _ = [reply async for reply in replies]

        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await read()
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "canary" not in str(caught.value.details())


@pytest.mark.parametrize("kind", KINDS)
async def test_our_errors_keep_status_message_and_details(kind: str) -> None:
    def act() -> None:
        raise ResourceExhausted("queue is full; try later", reason="OVERLOADED", retry_after_s=1.5)

    async with running("probe", Probe(act).register, ACME) as channel:
        error = await failure(channel, kind)
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert error.details() == "queue is full; try later"
    back = from_rpc_error(error)
    assert (type(back), back.reason, back.retry_after_s) == (ResourceExhausted, "OVERLOADED", 1.5)


class Panic(BaseException):
    """As pyo3's PanicException, which the tokenizers raise: no Exception."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error_type", [ValueError, Panic])
async def test_the_text_of_other_exceptions_stays_inside(
    kind: str, error_type: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def act() -> None:
        raise error_type(CANARY)

    async with running("probe", Probe(act).register, ACME) as channel:
        error = await failure(channel, kind)
    assert error.code() is grpc.StatusCode.INTERNAL
    assert "canary" not in (error.details() or "")
    error_id = (error.details() or "").split()[-1]
    assert any(getattr(record, "error_id", "") == error_id for record in caplog.records)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_broken_rule_of_the_proto_is_invalid_argument_with_the_field(kind: str) -> None:
    probe = Probe(lambda: "never")
    async with running("probe", probe.register, ACME) as channel:
        error = await failure(channel, kind, request=gateway_pb2.GetDocumentRequest())
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    status = status_pb2.Status.FromString(
        dict(error.trailing_metadata())["grpc-status-details-bin"]
    )
    bad = error_details_pb2.BadRequest()
    assert any(detail.Unpack(bad) for detail in status.details)
    assert [violation.field for violation in bad.field_violations] == ["document_id"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_cancellation_that_escapes_from_inside_does_not_leave_the_caller_hanging(
    kind: str,
) -> None:
    async def act() -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    async with running("probe", Probe(act).register, ACME) as channel:
        error = await failure(channel, kind)
    assert error.code() is grpc.StatusCode.INTERNAL


@pytest.mark.parametrize("kind", KINDS)
async def test_a_client_that_leaves_cancels_the_work(kind: str) -> None:
    entered, left = asyncio.Event(), asyncio.Event()

    async def act() -> None:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    async with running("probe", Probe(act).register, ACME) as channel:
        pending = asyncio.ensure_future(call(channel, kind))
        await asyncio.wait_for(entered.wait(), 20)
        pending.cancel()
        await asyncio.wait_for(left.wait(), 20)


async def test_a_stream_that_nobody_reads_to_the_end_is_closed_and_counted_as_cancelled() -> None:
    closed = asyncio.Event()

    async def endless(request: object, context: object) -> AsyncIterator[Text]:
        try:
            while True:
                yield Text(value="x" * 2**20)
        finally:
            closed.set()

    def register(server: grpc.aio.Server) -> list[str]:
        handler = grpc.unary_stream_rpc_method_handler(
            endless,
            request_deserializer=gateway_pb2.GetDocumentRequest.FromString,
            response_serializer=Text.SerializeToString,
        )
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("folio.test.Endless", {"stream": handler}),)
        )
        return ["folio.test.Endless"]

    def counted(code: str) -> float:
        calls: float = telemetry.CALLS.labels("/folio.test.Endless/stream", code)._value.get()
        return calls

    async with running("probe", register, ACME) as channel:
        method = channel.unary_stream(
            "/folio.test.Endless/stream",
            request_serializer=gateway_pb2.GetDocumentRequest.SerializeToString,
            response_deserializer=Text.FromString,
        )
        replies = method(GOOD, timeout=20)
        await replies.read()
        replies.cancel()
        await asyncio.wait_for(closed.wait(), 20)
    assert (counted("OK"), counted("CANCELLED")) == (0, 1)


@pytest.mark.parametrize("kind", KINDS)
async def test_calls_without_a_deadline_are_bounded(kind: str) -> None:
    settings = SETTINGS.model_copy(update={"max_call_seconds": 0.2})
    probe = Probe(lambda: asyncio.sleep(60))
    async with running("probe", probe.register, ACME, settings=settings) as channel:
        error = await failure(channel, kind, timeout=None)
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_no_token_another_stages_token_and_an_altered_one_are_refused() -> None:
    probe = Probe(lambda: "never")
    good = identity.sign(ACME, "probe", SECRET)
    tokens = {
        "none": None,
        "other service": identity.sign(ACME, "colbert", SECRET),
        "other secret": identity.sign(ACME, "probe", "x" * 40),
        "expired": identity.sign(ACME, "probe", SECRET, lifetime_s=-60),
        "altered": good[:-6] + "abcdef",
        "unsigned": "eyJhbGciOiJub25lIn0." + good.split(".")[1] + ".",
    }
    async with running("probe", probe.register) as channel:
        method = channel.unary_unary(
            "/folio.test.Probe/unary_unary",
            request_serializer=gateway_pb2.GetDocumentRequest.SerializeToString,
            response_deserializer=Text.FromString,
        )
        for name, token in tokens.items():
            metadata = [("authorization", f"Bearer {token}")] if token else []
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await method(GOOD, metadata=metadata, timeout=20)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED, name
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await method(GOOD, metadata=[("authorization", f"Bearer {good}")] * 2, timeout=20)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert (
            await method(GOOD, metadata=[("authorization", f"Bearer {good}")], timeout=20)
        ).value == "never"


async def test_a_new_channel_does_not_wait_for_the_failures_of_another() -> None:
    first = await start(SETTINGS, Probe(lambda: "").register, lambda metadata: ACME)
    address = f"127.0.0.1:{first.port}"
    await first.stop(0)
    async with open_channel(address, SETTINGS) as earlier:
        assert (await failure(earlier, "unary_unary")).code() is grpc.StatusCode.UNAVAILABLE
        settings = SETTINGS.model_copy(update={"listen": address})
        again = await start(settings, Probe(lambda: "there").register, lambda metadata: ACME)
        async with open_channel(address, SETTINGS) as channel:
            assert await call(channel, "unary_unary") == "there"
        await again.stop(0)


async def test_health_is_per_service_and_needs_no_identity() -> None:
    server = await start(SETTINGS, Probe(lambda: "").register, lambda metadata: ACME)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}", options=OPTIONS) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)

        async def state(service: str) -> int:
            reply: health_pb2.HealthCheckResponse = await stub.Check(
                health_pb2.HealthCheckRequest(service=service), timeout=20
            )
            return reply.status

        assert await state("") == health_pb2.HealthCheckResponse.SERVING
        assert await state("folio.test.Probe") == health_pb2.HealthCheckResponse.NOT_SERVING
        await server.set_serving(True)
        assert await state("folio.test.Probe") == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await state("folio.test.Nothing")
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    await server.stop(0)


async def test_stop_waits_for_the_clean_up_of_handlers() -> None:
    entered, cleaned = asyncio.Event(), asyncio.Event()

    async def act() -> None:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.2)
            cleaned.set()

    server = await start(SETTINGS, Probe(act).register, lambda metadata: ACME)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}", options=OPTIONS) as channel:
        pending = asyncio.ensure_future(call(channel, "unary_unary"))
        await asyncio.wait_for(entered.wait(), 20)
        await server.stop(0)
        assert cleaned.is_set()
        await asyncio.gather(pending, return_exceptions=True)


async def test_two_servers_cannot_share_a_port() -> None:
    first = await start(SETTINGS, Probe(lambda: "").register, lambda metadata: ACME)
    taken = SETTINGS.model_copy(update={"listen": f"127.0.0.1:{first.port}"})
    with pytest.raises(FailedPrecondition, match=f"cannot listen on 127.0.0.1:{first.port}"):
        await start(taken, Probe(lambda: "").register, lambda metadata: ACME)
    await first.stop(0)


def test_sigterm_lets_the_running_call_end() -> None:
    program = textwrap.dedent(
        """
        import asyncio, os, signal
        from google.protobuf import wrappers_pb2
        import grpc
        from services.rpc.identity import Principal
        from services.rpc.ports import reserved_address
        from services.rpc.serve import serve
        from services.rpc.testing import SETTINGS

        async def slow(request, context):
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(0.3)
            return wrappers_pb2.StringValue(value="finished")

        async def caller(address):
            async with grpc.aio.insecure_channel(address) as channel:
                method = channel.unary_unary("/t.T/Slow",
                    request_serializer=wrappers_pb2.StringValue.SerializeToString,
                    response_deserializer=wrappers_pb2.StringValue.FromString)
                print((await method(wrappers_pb2.StringValue(), timeout=20, wait_for_ready=True)).value, flush=True)

        def register(server):
            handler = grpc.unary_unary_rpc_method_handler(slow, wrappers_pb2.StringValue.FromString,
                wrappers_pb2.StringValue.SerializeToString)
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("t.T", {"Slow": handler}),))
            return ["t.T"]

        async def main():
            with reserved_address() as address:
                settings = SETTINGS.model_copy(update={"listen": address})
                calling = asyncio.create_task(caller(address))
                await serve(settings, "t", register, authenticate=lambda metadata: Principal(1))
                await calling

        asyncio.run(main())
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "finished\n", done.stderr
    assert done.returncode == 0, done.stderr


def test_settings_name_every_wrong_variable_and_mask_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FOLIO_INTERNAL_SECRET", "canary-secret-that-is-long-enough-to-sign")
    monkeypatch.setenv("FOLIO_MAX_QUEUE", "-1")
    monkeypatch.setenv("FOLIO_LOG_LEVEL", "LOUD")
    with pytest.raises(FolioError) as caught:
        ServerSettings.load()
    assert "FOLIO_MAX_QUEUE" in caught.value.message
    assert "FOLIO_LOG_LEVEL" in caught.value.message
    monkeypatch.setenv("FOLIO_MAX_QUEUE", "3")
    monkeypatch.setenv("FOLIO_LOG_LEVEL", "INFO")
    assert "canary" not in ServerSettings.load().describe()
    monkeypatch.setenv("FOLIO_MAX_QUEU", "3")
    with pytest.raises(FolioError, match="did you mean FOLIO_MAX_QUEUE"):
        ServerSettings.load()
