"""MaxSim outside the event loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from native import maxsim
from services.colbert.encoding import Query
from services.colbert.scoring import Scorer


async def test_a_caller_who_leaves_stops_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    tiles = maxsim.Tiles.from_matrix(random.standard_normal((2000, 256)).astype(np.float32), "int8")
    query = Query(random.standard_normal((256, 256)).astype(np.float32))
    scores, began, stopped = maxsim.scores, asyncio.Event(), []
    loop = asyncio.get_running_loop()

    def watched(*arguments: Any, **options: Any) -> Any:
        loop.call_soon_threadsafe(began.set)
        try:
            return scores(*arguments, **options)
        except maxsim.Cancelled:
            stopped.append(True)
            raise

    monkeypatch.setattr(maxsim, "scores", watched)
    with ThreadPoolExecutor(1) as executor:
        scorer = Scorer(executor, 1)
        call = asyncio.create_task(scorer.tiles(query, [tiles] * 20_000, alignments=False))
        await began.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert call.cancelled()
        (scored,) = await scorer.tiles(query, [tiles], alignments=False)
    assert stopped == [True]
    assert scored.score > 0
