"""Lanes: who waits for whom, and what one bad item does to the others."""

import asyncio
import threading
from collections.abc import Hashable, Sequence

import pytest

from services.rpc.errors import ResourceExhausted
from services.rpc.lanes import Lane, Lanes


class Panic(BaseException):
    """As pyo3's PanicException, which the tokenizers raise: no Exception."""


class Recorder:
    """Gives the length of each text, notes its batches, fails on 'poison', and can be held."""

    def __init__(self, error: type[BaseException] = RuntimeError) -> None:
        self.error = error
        self.batches: list[list[str]] = []
        self.go = threading.Event()
        self.go.set()

    def __call__(self, texts: Sequence[str]) -> list[int]:
        self.go.wait(10)
        self.batches.append(list(texts))
        if "poison" in texts:
            raise self.error("this text cannot be encoded")
        return [len(text) for text in texts]


class Batcher:
    """Lanes of texts, each of which costs a quarter of its length and two."""

    def __init__(
        self, recorder: Recorder, *, batch: int = 100, queue: int = 1000, wait_s: float = 0.005
    ) -> None:
        self._lanes: Lanes[str, int] = Lanes(
            dict.fromkeys(Lane, recorder), batch=batch, queue=queue, wait_s=wait_s
        )
        self.close = self._lanes.close

    async def encode(
        self, lane: Lane, texts: Sequence[str], caller: Hashable = None
    ) -> list[int | None]:
        return await self._lanes.run(lane, texts, [len(text) // 4 + 2 for text in texts], caller)


async def test_concurrent_calls_share_a_batch_and_keep_their_results() -> None:
    recorder = Recorder()
    work = Batcher(recorder)
    results = await asyncio.gather(
        work.encode(Lane.DOCUMENT, ["a", "bb"]), work.encode(Lane.DOCUMENT, ["ccc"])
    )
    assert len(recorder.batches) == 1
    assert list(results) == [[1, 2], [3]]
    await work.close()


@pytest.mark.parametrize("error", [RuntimeError, Panic])
async def test_one_poison_text_fails_alone(error: type[BaseException]) -> None:
    recorder = Recorder(error)
    work = Batcher(recorder)
    bad, good = await asyncio.gather(
        work.encode(Lane.DOCUMENT, ["poison", "a"]), work.encode(Lane.DOCUMENT, ["bb"])
    )
    assert bad == [None, 1]
    assert good == [2]
    assert len(await work.encode(Lane.DOCUMENT, ["x"] * 50)) == 50
    await work.close()


async def test_a_long_call_does_not_hold_up_a_short_one() -> None:
    recorder = Recorder()
    work = Batcher(recorder, batch=32)
    long = asyncio.create_task(work.encode(Lane.DOCUMENT, [f"long{n}" for n in range(100)]))
    await asyncio.sleep(0)
    await work.encode(Lane.DOCUMENT, ["short"])
    assert not long.done()
    await long
    await work.close()


async def test_queries_go_before_documents_and_documents_before_bulk() -> None:
    recorder = Recorder()
    work = Batcher(recorder)
    tasks = [
        asyncio.create_task(work.encode(lane, [lane.name]))
        for lane in (Lane.BULK, Lane.DOCUMENT, Lane.QUERY)
    ]
    await asyncio.gather(*tasks)
    assert recorder.batches == [["QUERY"], ["DOCUMENT"], ["BULK"]]
    await work.close()


async def test_no_load_of_documents_stops_an_ingest() -> None:
    recorder = Recorder()
    work = Batcher(recorder, batch=16, wait_s=0)
    documents = asyncio.create_task(work.encode(Lane.DOCUMENT, [f"d{n}" for n in range(300)]))
    await asyncio.sleep(0)
    await work.encode(Lane.BULK, ["bulk"])
    assert not documents.done()
    assert recorder.batches.index(["bulk"]) == 8
    await documents
    await work.close()


async def test_a_full_queue_refuses_at_once_and_recovers() -> None:
    recorder = Recorder()
    recorder.go.clear()
    work = Batcher(recorder, queue=300, wait_s=0)
    texts = ["x" * 400, "y" * 400]
    running = asyncio.create_task(work.encode(Lane.DOCUMENT, ["first"]))
    await asyncio.sleep(0.05)
    waiting = asyncio.create_task(work.encode(Lane.DOCUMENT, texts))
    await asyncio.sleep(0)
    with pytest.raises(ResourceExhausted) as refusal:
        await work.encode(Lane.DOCUMENT, texts)
    assert refusal.value.retry_after_s
    recorder.go.set()
    await asyncio.gather(running, waiting)
    assert len(await work.encode(Lane.DOCUMENT, texts)) == 2
    await work.close()


async def test_what_a_cancelled_call_had_waiting_is_dropped() -> None:
    recorder = Recorder()
    recorder.go.clear()
    work = Batcher(recorder, batch=10, wait_s=0)
    gone = asyncio.create_task(work.encode(Lane.DOCUMENT, [f"gone {n:04}" for n in range(50)]))
    await asyncio.sleep(0.05)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    recorder.go.set()
    await work.encode(Lane.DOCUMENT, ["kept"])
    encoded = [text for batch in recorder.batches for text in batch]
    assert len(encoded) < 15
    assert encoded[-1] == "kept"
    await work.close()


async def test_organizations_take_turns_however_many_calls_each_has() -> None:
    recorder = Recorder()
    recorder.go.clear()
    work = Batcher(recorder, batch=12, wait_s=0)
    many = [
        asyncio.create_task(work.encode(Lane.BULK, [f"acme{call}-{n}" for n in range(20)], 1))
        for call in range(5)
    ]
    await asyncio.sleep(0.05)
    one = asyncio.create_task(work.encode(Lane.BULK, ["beta0", "beta1"], 2))
    await asyncio.sleep(0)
    recorder.go.set()
    await one
    assert not any(task.done() for task in many)
    assert "beta1" in [text for batch in recorder.batches[:4] for text in batch]
    await asyncio.gather(*many)
    await work.close()


async def test_no_organization_fills_a_lane_and_no_lane_another() -> None:
    recorder = Recorder()
    recorder.go.clear()
    work = Batcher(recorder, queue=300, wait_s=0)
    tasks = [asyncio.create_task(work.encode(Lane.BULK, ["first"], 1))]
    await asyncio.sleep(0.05)
    tasks.append(asyncio.create_task(work.encode(Lane.BULK, ["x" * 400], 1)))
    await asyncio.sleep(0)
    with pytest.raises(ResourceExhausted):
        await work.encode(Lane.BULK, ["x" * 400], 1)
    tasks.append(asyncio.create_task(work.encode(Lane.BULK, ["y" * 400], 2)))
    tasks.append(asyncio.create_task(work.encode(Lane.QUERY, ["z" * 400], 1)))
    await asyncio.sleep(0)
    recorder.go.set()
    assert await asyncio.gather(*tasks) == [[5], [400], [400], [400]]
    await work.close()


async def test_a_query_waits_for_one_batch_of_an_ingest() -> None:
    recorder = Recorder()
    recorder.go.clear()
    work = Batcher(recorder, batch=12, wait_s=0)
    bulk = asyncio.create_task(work.encode(Lane.BULK, [f"bulk{n}" for n in range(200)], 1))
    await asyncio.sleep(0.05)
    query = asyncio.create_task(work.encode(Lane.QUERY, ["query"], 2))
    await asyncio.sleep(0)
    recorder.go.set()
    await query
    assert recorder.batches[1] == ["query"]
    assert len(recorder.batches[0]) <= 4
    await bulk
    await work.close()
