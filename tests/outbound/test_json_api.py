"""One request for JSON: bounded in time and in size, and nothing that was sent or received is in an error."""

import itertools
import json

import pytest

from services.outbound.failures import AWAY, UNREADABLE
from services.outbound.json_api import JsonApi
from services.outbound.retries import retrying
from services.rpc.deadline import Deadline
from services.rpc.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    FolioError,
    Internal,
    InvalidArgument,
    Unavailable,
)
from tests.generator.wire import Reply, provider, whole

KEY = "canary-key-5c1e"


async def test_the_answer_and_what_was_sent_for_it() -> None:
    async with provider(whole({"a": [1]}), whole(["b"])) as spoken:
        api = JsonApi("the server", spoken.url + "/v1/", headers={"authorization": KEY})
        got = await api.get("/things", {"q": "a b"})
        posted = await api.post("/things", {"text": "é"})
        await api.close()
        first, second = spoken.received
    assert (got.value, posted.value) == ({"a": [1]}, ["b"])
    assert got.bytes_sent == len(first.path)
    assert posted.bytes_sent == len(second.path) + len(second.body)
    assert first.path == "/v1/things?q=a+b"
    assert json.loads(second.body) == {"text": "é"}
    assert first.headers["authorization"] == second.headers["authorization"] == KEY


FAULTS: dict[str, tuple[Reply, type[FolioError], str]] = {
    "no JSON": (Reply(chunks=[b"<html>"]), Internal, UNREADABLE),
    "nothing": (Reply(), Internal, UNREADABLE),
    "no UTF-8": (Reply(chunks=[b'"\xff"']), Internal, UNREADABLE),
    "nested without end": (Reply(chunks=[b"[" * 2**20]), Internal, UNREADABLE),
    "endless": (Reply(chunks=itertools.repeat(b" " * 2**16)), Internal, UNREADABLE),
    "cut": (Reply(chunks=[b'{"a'], cut=True), Unavailable, AWAY),
    "no gzip": (
        Reply(chunks=[b"{}"], headers={"content-encoding": "gzip"}),
        Internal,
        UNREADABLE,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_is_an_error_with_a_kind(fault: str) -> None:
    reply, kind, reason = FAULTS[fault]
    async with provider(reply) as spoken:
        api = JsonApi("the server", spoken.url)
        with pytest.raises(kind) as raised:
            await api.post("/x", {"q": "secret words"})
        await api.close()
    assert raised.value.reason == reason
    assert "secret" not in raised.value.message


async def test_a_body_may_be_as_large_as_the_bound_and_no_larger() -> None:
    async with provider(Reply(chunks=[b'"', b"x" * 98, b'"'])) as spoken:
        fits = JsonApi("the server", spoken.url, max_bytes=100)
        assert (await fits.get("/")).value == "x" * 98
        small = JsonApi("the server", spoken.url, max_bytes=99)
        with pytest.raises(Internal, match="more than 99 bytes"):
            await small.get("/")
        await fits.close()
        await small.close()


async def test_a_server_that_drips_is_left_when_the_time_is_over() -> None:
    """Each byte comes soon after the last: a bound on single reads would wait for ever."""
    drip = Reply(chunks=itertools.repeat(b" "), drip_s=0.02)
    async with provider(drip) as spoken:
        api = JsonApi("the server", spoken.url)
        with pytest.raises(DeadlineExceeded):
            await retrying("the server", lambda seconds: api.get("/"), Deadline.after(0.3))
        assert await spoken.left()
        await api.close()


async def test_a_redirect_is_not_followed() -> None:
    async with (
        provider(whole({})) as elsewhere,
        provider(whole({}, 307, location=elsewhere.url)) as spoken,
    ):
        api = JsonApi("the server", spoken.url, headers={"authorization": KEY})
        with pytest.raises(FailedPrecondition, match="moved"):
            await api.get("/")
        await api.close()
        assert not elsewhere.received


async def test_a_call_may_know_better_what_a_status_means() -> None:
    def reads(status: int) -> FolioError | None:
        return InvalidArgument("too long") if status == 422 else None

    async with provider(whole({}, 422), whole({}, 422), whole({}, 400)) as spoken:
        api = JsonApi("the server", spoken.url)
        with pytest.raises(InvalidArgument):
            await api.post("/", {}, reads)
        with pytest.raises(FailedPrecondition):
            await api.post("/", {})
        with pytest.raises(FailedPrecondition):
            await api.post("/", {}, reads)
        await api.close()
