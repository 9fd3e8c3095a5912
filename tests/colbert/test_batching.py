"""Dynamic batching: who waits for whom, and what one bad text does to the others."""

import asyncio
import threading
from collections.abc import Sequence

import numpy as np
import pytest

from services.colbert.batching import Batcher, Lane
from services.colbert.encoders import Encoded
from services.rpc.errors import ResourceExhausted


class Panic(BaseException):
    """As pyo3's PanicException, which the tokenizers raise: no Exception."""


class Recorder:
    """An encoder that notes its batches, fails on 'poison', and can be held."""

    def __init__(self, error: type[BaseException] = RuntimeError) -> None:
        self.error = error
        self.batches: list[list[str]] = []
        self.go = threading.Event()
        self.go.set()

    def __call__(self, texts: Sequence[str]) -> list[Encoded]:
        self.go.wait(10)
        self.batches.append(list(texts))
        if "poison" in texts:
            raise self.error("this text cannot be encoded")
        return [Encoded(np.full((1, 4), len(text), np.float32)) for text in texts]


def batcher(recorder: Recorder, **changes: float) -> Batcher:
    values = {"batch_tokens": 100, "wait_s": 0.005, "queue_tokens": 1000} | changes
    return Batcher(
        dict.fromkeys(Lane, recorder),
        dict.fromkeys(Lane, 512),
        batch_tokens=int(values["batch_tokens"]),
        wait_s=values["wait_s"],
        queue_tokens=int(values["queue_tokens"]),
    )


async def test_concurrent_calls_share_a_batch_and_keep_their_results() -> None:
    recorder = Recorder()
    work = batcher(recorder)
    results = await asyncio.gather(
        work.encode(Lane.DOCUMENT, ["a", "bb"]), work.encode(Lane.DOCUMENT, ["ccc"])
    )
    assert len(recorder.batches) == 1
    assert [[r.vectors[0, 0] for r in result if r] for result in results] == [[1, 2], [3]]
    await work.close()


@pytest.mark.parametrize("error", [RuntimeError, Panic])
async def test_one_poison_text_fails_alone(error: type[BaseException]) -> None:
    recorder = Recorder(error)
    work = batcher(recorder)
    bad, good = await asyncio.gather(
        work.encode(Lane.DOCUMENT, ["poison", "a"]), work.encode(Lane.DOCUMENT, ["bb"])
    )
    assert bad[0] is None
    assert bad[1] is not None
    assert good[0] is not None
    assert len(await work.encode(Lane.DOCUMENT, ["x"] * 50)) == 50
    await work.close()


async def test_a_long_call_does_not_hold_up_a_short_one() -> None:
    recorder = Recorder()
    work = batcher(recorder, batch_tokens=32)
    long = asyncio.create_task(work.encode(Lane.DOCUMENT, [f"long{n}" for n in range(100)]))
    await asyncio.sleep(0)
    await work.encode(Lane.DOCUMENT, ["short"])
    assert not long.done()
    await long
    await work.close()


async def test_queries_go_before_documents_and_documents_before_bulk() -> None:
    recorder = Recorder()
    work = batcher(recorder)
    tasks = [
        asyncio.create_task(work.encode(lane, [lane.name]))
        for lane in (Lane.BULK, Lane.DOCUMENT, Lane.QUERY)
    ]
    await asyncio.gather(*tasks)
    assert recorder.batches == [["QUERY"], ["DOCUMENT"], ["BULK"]]
    await work.close()


async def test_no_load_of_documents_stops_an_ingest() -> None:
    recorder = Recorder()
    work = batcher(recorder, batch_tokens=16, wait_s=0)
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
    work = batcher(recorder, queue_tokens=300, wait_s=0)
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
    work = batcher(recorder, batch_tokens=10, wait_s=0)
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
