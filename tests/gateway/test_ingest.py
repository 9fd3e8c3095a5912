"""Files in, documents out: the order of the steps, and what a failure of each leaves."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from folio import failure
from folio.common.v1 import document_pb2, step_pb2
from folio.gateway.v1 import gateway_pb2
from folio.retriever.v1 import retriever_pb2
from services.gateway import keys
from services.rpc.errors import InvalidArgument, NotFound, ResourceExhausted, Unavailable
from tests.gateway.script import failing, forever
from tests.gateway.suite import Suite, running_suite


def header(**fields: Any) -> gateway_pb2.IngestRequest:
    return gateway_pb2.IngestRequest(
        header=gateway_pb2.DocumentHeader(file_name="a.pdf", request_id="r-1", **fields)
    )


def data(size: int = 1000) -> gateway_pb2.IngestRequest:
    return gateway_pb2.IngestRequest(data=b"x" * size)


async def send(suite: Suite, *requests: gateway_pb2.IngestRequest) -> list[Any]:
    async def messages() -> AsyncIterator[gateway_pb2.IngestRequest]:
        for request in requests:
            yield request

    call = suite.stub.Ingest(messages(), timeout=20, metadata=suite.metadata())
    try:
        return [event async for event in call]
    except grpc.aio.AioRpcError as error:
        raise await failure.settled(call, error) from None
    finally:
        call.cancel()


async def refused(suite: Suite, *requests: gateway_pb2.IngestRequest) -> failure.CallFailed:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await send(suite, *requests)
    return failure.read(raised.value)


async def test_a_document_is_staged_indexed_and_only_then_published(suite: Suite) -> None:
    events = await send(suite, header(collection="hr"), data(), data())
    assert suite.script.names() == [
        "retriever.IngestDocument",
        "colbert.IndexDocument",
        "retriever.PublishDocument",
    ]
    sent = suite.script.request("retriever.IngestDocument")
    assert (sent.file_name, sent.collection, sent.request_id) == ("a.pdf", "hr", "r-1")
    steps = [event.progress.step for event in events if event.HasField("progress")]
    assert steps == [
        step_pb2.STEP_RECEIVE,
        step_pb2.STEP_TOKEN_VECTORS,
        step_pb2.STEP_PUBLISH,
        step_pb2.STEP_PUBLISH,
    ]
    assert events[0].progress.done == 2000
    result = events[-1].result
    assert (result.document.id, result.document.version) == (7, 3)
    assert result.document.status == document_pb2.DOCUMENT_STATUS_READY


async def test_without_token_vectors_the_document_is_published_and_the_reply_says_so(
    suite: Suite,
) -> None:
    suite.script.on["colbert.IndexDocument"] = failing(Unavailable("down"))
    result = (await send(suite, header(), data()))[-1].result
    assert result.document.version == 3
    degraded = [
        report.step for report in result.steps if report.status == step_pb2.STEP_STATUS_DEGRADED
    ]
    assert degraded == [step_pb2.STEP_TOKEN_VECTORS]


async def test_an_unchanged_file_is_completed_not_published_again(suite: Suite) -> None:
    async def unchanged(request: Any) -> Any:
        return retriever_pb2.IngestResult(
            document=document_pb2.Document(id=7, version=2), version=2, unchanged=True
        )

    suite.script.on["retriever.IngestDocument"] = unchanged
    result = (await send(suite, header(), data()))[-1].result
    assert result.unchanged
    assert suite.script.names() == ["retriever.IngestDocument", "colbert.IndexDocument"]


async def test_what_is_wrong_with_a_file_is_told_to_its_sender(suite: Suite) -> None:
    suite.script.on["retriever.IngestDocument"] = failing(
        InvalidArgument("the PDF is encrypted; send its password")
    )
    failed = await refused(suite, header(), data())
    assert (failed.code, failed.message) == (
        "INVALID_ARGUMENT",
        "the PDF is encrypted; send its password",
    )
    assert "retriever.PublishDocument" not in suite.script.names()


async def test_messages_must_come_in_order(suite: Suite) -> None:
    assert (await refused(suite)).code == "INVALID_ARGUMENT"
    assert (await refused(suite, data())).code == "INVALID_ARGUMENT"
    assert (await refused(suite, gateway_pb2.IngestRequest())).code == "INVALID_ARGUMENT"
    assert "retriever.PublishDocument" not in suite.script.names()


async def test_a_second_header_is_refused_and_nothing_is_published(suite: Suite) -> None:
    failed = await refused(suite, header(), header())
    assert failed.code == "INVALID_ARGUMENT"
    assert "retriever.PublishDocument" not in suite.script.names()


async def test_a_message_over_two_mebibytes_is_refused(suite: Suite) -> None:
    assert (await refused(suite, header(), data(2 * 2**20 + 1))).code == "INVALID_ARGUMENT"
    assert "retriever.PublishDocument" not in suite.script.names()


async def test_a_failed_publish_is_an_error(suite: Suite) -> None:
    suite.script.on["retriever.PublishDocument"] = failing(Unavailable("down"))
    assert (await refused(suite, header(), data())).code == "UNAVAILABLE"


async def test_a_cancelled_ingest_stops_the_retriever(suite: Suite) -> None:
    entered, cancelled = asyncio.Event(), asyncio.Event()
    suite.script.on["retriever.IngestDocument"] = forever(entered, cancelled)
    sending = asyncio.ensure_future(send(suite, header(), data()))
    await entered.wait()
    sending.cancel()
    await cancelled.wait()
    assert "retriever.PublishDocument" not in suite.script.names()


async def test_a_key_of_one_rooftop_writes_there_only(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "CHECK_S", 0.0)
    suite.key = keys.create(suite.keys_file, organization_id=1, rooftop_id=4)
    await send(suite, header(), data())
    assert suite.script.request("retriever.IngestDocument").rooftop_id == 4
    assert (await refused(suite, header(rooftop_id=5), data())).code == "PERMISSION_DENIED"


async def test_documents_are_listed_read_and_deleted(suite: Suite) -> None:
    listed = await suite.call("ListDocuments", gateway_pb2.ListDocumentsRequest())
    assert [document.id for document in listed.documents] == [1]
    got = await suite.call("GetDocument", gateway_pb2.GetDocumentRequest(document_id=1))
    assert got.document.id == 1
    gone = await suite.call("DeleteDocument", gateway_pb2.DeleteDocumentRequest(document_id=1))
    assert gone.chunks_deleted == 2


async def test_another_tenants_document_is_not_found(suite: Suite) -> None:
    suite.script.on["retriever.GetDocument"] = failing(NotFound("no document 99"))
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await suite.call("GetDocument", gateway_pb2.GetDocumentRequest(document_id=99))
    assert failure.read(raised.value).code == "NOT_FOUND"


async def test_a_page_is_drawn_with_the_quotes_rectangles(suite: Suite) -> None:
    reply = await suite.call(
        "GetPageImage",
        gateway_pb2.GetPageImageRequest(
            document_id=1, page=15, highlight_start=1000, highlight_end=1050
        ),
    )
    assert reply.png == b"png"
    assert len(suite.script.request("retriever.RenderPage").highlights) == 1
    assert reply.regions[0].page == 15
    reply = await suite.call(
        "GetPageImage",
        gateway_pb2.GetPageImageRequest(
            document_id=1, page=16, highlight_start=1000, highlight_end=1050
        ),
    )
    assert not reply.regions


async def test_status_names_every_service_up_or_down(suite: Suite) -> None:
    await suite.stop("colbert")
    reply = await suite.call("GetStatus", gateway_pb2.GetStatusRequest())
    states = {state.service: state for state in reply.services}
    assert set(states) == {"retriever", "colbert", "generator"}
    assert states["retriever"].reachable
    assert states["retriever"].capabilities.service == "retriever"
    assert not states["colbert"].reachable
    assert states["colbert"].reason == "colbert cannot be reached"


async def test_a_sender_that_is_slow_does_not_make_the_retriever_sick(tmp_path: Path) -> None:
    """Else one organization's uploads that run out of time would shut the others out."""
    async with running_suite(tmp_path, breaker_failures=1, breaker_slow_seconds=0.1) as suite:

        async def messages() -> AsyncIterator[gateway_pb2.IngestRequest]:
            yield header()
            await asyncio.Event().wait()

        call = suite.stub.Ingest(messages(), timeout=1, metadata=suite.metadata())
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            _ = [event async for event in call]
        assert raised.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert (await send(suite, header(), data()))[-1].HasField("result")


async def test_files_that_are_too_large_do_not_throttle_the_retriever(suite: Suite) -> None:
    """Else one upload would shut everybody out."""
    too_large = ResourceExhausted("the file is too large: split it", reason="TOO_LARGE")
    suite.script.on["retriever.IngestDocument"] = failing(too_large)
    for _ in range(5):
        assert (await refused(suite, header(), data())).reason == "TOO_LARGE"
