"""How replies look in a terminal."""

import pytest

from folio.cli import show
from folio.common.v1 import document_pb2, step_pb2
from folio.gateway.v1 import gateway_pb2


@pytest.mark.parametrize(
    ("seconds", "shown"), [(7, "in 7 s."), (0.1, "in 1 s."), (60.4, "in 61 s.")]
)
def test_an_outage_is_told_as_one_with_the_sources(
    seconds: float, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = gateway_pb2.AskResponse(
        unavailable=gateway_pb2.Unavailable(
            message="The generator has too much to do at the moment.",
            reason=gateway_pb2.UNAVAILABLE_REASON_OVERLOADED,
            retry_after_s=seconds,
        ),
        sources=[
            gateway_pb2.SourcePassage(
                chunk=document_pb2.Chunk(title="Handbook", page_label="xiv"), probability=0.91
            )
        ],
    )
    show.answer(reply)
    said = capsys.readouterr().out
    assert "too much to do" in said
    assert f"Try again {shown}" in said
    assert "Handbook, p. xiv (0.91)" in said


def test_a_service_that_sends_text_elsewhere_says_to_whom(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reply = gateway_pb2.GetStatusResponse()
    state = reply.services.add(service="generator", reachable=True)
    state.capabilities.providers.add(provider="extractive", model="words", local=True)
    state.capabilities.providers.add(provider="brave")
    show.status(reply)
    assert "words, brave (remote: brave)" in " ".join(capsys.readouterr().out.split())


def test_a_long_chunk_in_a_list_ends_in_dots(capsys: pytest.CaptureFixture[str]) -> None:
    chunk = document_pb2.Chunk(title="Handbook", body="leave " * 40)
    show.results(gateway_pb2.SearchResponse(results=[gateway_pb2.SearchResult(chunk=chunk)]))
    assert "leave lea…" in capsys.readouterr().out
    chunk.body = "leave"
    show.results(gateway_pb2.SearchResponse(results=[gateway_pb2.SearchResult(chunk=chunk)]))
    assert "…" not in capsys.readouterr().out


def test_no_documents_are_said_to_be_none(capsys: pytest.CaptureFixture[str]) -> None:
    show.documents([])
    assert capsys.readouterr().out == "no documents\n"


def test_a_thing_and_two_things() -> None:
    assert [show.count(number, "page") for number in (0, 1, 2000)] == [
        "0 pages",
        "1 page",
        "2,000 pages",
    ]


def test_the_time_of_a_step_that_failed_is_told() -> None:
    failed = step_pb2.StepReport(
        step=step_pb2.STEP_COLBERT,
        status=step_pb2.STEP_STATUS_DEGRADED,
        reason="too slow",
        elapsed_ms=15000.4,
    )
    skipped = step_pb2.StepReport(
        step=step_pb2.STEP_WEB, status=step_pb2.STEP_STATUS_SKIPPED, elapsed_ms=2.0
    )
    assert show.steps([failed, skipped], 15010).plain == (
        "steps  colbert degraded after 15000 ms (too slow)  web skipped  total 15010 ms"
    )
