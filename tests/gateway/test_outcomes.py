"""Where a question goes: to the generator, to the web, or to an honest no."""

import json
from pathlib import Path
from typing import Any

import pytest

from folio.common.v1 import document_pb2
from folio.gateway.v1 import gateway_pb2
from folio.retriever.v1 import retriever_pb2
from tests.gateway.asking import DEGRADED, ask, report
from tests.gateway.suite import Suite, running_suite


def calibrate(folder: Path, **changes: Any) -> None:
    calibration = {
        "model": "colbert-model",
        "signal": "score_per_token",
        "slope": 20.0,
        "intercept": -12.0,
        "threshold": 0.5,
        "dataset": "hand-made",
        "date": "2026-11-30",
        **changes,
    }
    (folder / "calibration").mkdir(exist_ok=True)
    (folder / "calibration" / "colbert.json").write_text(json.dumps(calibration))


async def test_below_the_threshold_nobody_asks_the_generator(tmp_path: Path) -> None:
    calibrate(tmp_path)
    async with running_suite(tmp_path) as suite:
        suite.script.scores = {1: 0.3, 2: 0.2}
        reply = await suite.call("Ask", ask())
        assert reply.abstained.reason == gateway_pb2.ABSTAIN_REASON_BELOW_THRESHOLD
        assert reply.abstained.message == "The documents do not say."
        assert 0 < reply.answer_probability < 0.5 == reply.answer_threshold
        assert "generator.Answer" not in suite.script.names()
        assert "retriever.GetPassages" not in suite.script.names()


async def test_the_caller_may_set_the_threshold(tmp_path: Path) -> None:
    calibrate(tmp_path)
    async with running_suite(tmp_path) as suite:
        suite.script.scores = {1: 0.5, 2: 0.2}
        assert (await suite.call("Ask", ask())).HasField("abstained")
        assert (await suite.call("Ask", ask(answer_threshold=0.01))).HasField("answered")


async def test_a_threshold_of_zero_always_answers_where_there_are_hits(tmp_path: Path) -> None:
    """Even where too few hits clear the calibration's floor. Unset, the configured threshold holds."""
    calibrate(tmp_path, floor=0.99, least_above_floor=2)
    async with running_suite(tmp_path) as suite:
        suite.script.scores = {1: 0.0, 2: 0.0}
        reply = await suite.call("Ask", ask())
        assert reply.abstained.reason == gateway_pb2.ABSTAIN_REASON_BELOW_THRESHOLD
        assert reply.answer_threshold == 0.5
        reply = await suite.call("Ask", ask(answer_threshold=0))
        assert reply.HasField("answered")
        assert reply.answer_threshold == 0
    async with running_suite(tmp_path, answer_threshold=0) as suite:
        suite.script.scores = {1: 0.0, 2: 0.0}
        assert (await suite.call("Ask", ask())).HasField("answered")


async def test_another_models_threshold_is_never_used(tmp_path: Path) -> None:
    calibrate(tmp_path, model="another-model")
    async with running_suite(tmp_path, answer_threshold=0.99) as suite:
        reply = await suite.call("Ask", ask())
        assert reply.WhichOneof("outcome") == "answered"
        assert report(reply, "route").status == DEGRADED
        assert "no calibration for model 'colbert-model'" in report(reply, "route").reason


@pytest.mark.parametrize(
    ("documents", "reason"),
    [
        (True, gateway_pb2.ABSTAIN_REASON_NO_HITS),
        (False, gateway_pb2.ABSTAIN_REASON_NO_DOCUMENTS),
    ],
)
async def test_no_hits_is_an_honest_no(suite: Suite, documents: bool, reason: int) -> None:
    async def nothing(request: Any) -> Any:
        return retriever_pb2.SearchResponse()

    async def empty(request: Any) -> Any:
        return retriever_pb2.GetVocabularyResponse()

    suite.script.on["retriever.Search"] = nothing
    if not documents:
        suite.script.on["retriever.GetVocabulary"] = empty
    reply = await suite.call("Ask", ask())
    assert reply.abstained.reason == reason
    assert "generator.Answer" not in suite.script.names()


async def test_web_needs_the_settings_and_a_rule(tmp_path: Path) -> None:
    async def nothing(request: Any) -> Any:
        return retriever_pb2.SearchResponse()

    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{organization_id: 1, collections: [public]}]")
    async with running_suite(tmp_path, web=True, web_rules=rules) as suite:
        suite.script.on["retriever.Search"] = nothing
        reply = await suite.call("Ask", ask())
        assert reply.HasField("abstained")
        assert "no rule" in report(reply, "web").reason
        public = document_pb2.Filter(collections=["public"])
        reply = await suite.call("Ask", ask(filter=public))
        assert reply.web.provider == "searxng"
        assert [result.url for result in reply.web.results] == ["https://example.org/"]
        assert [(entry.provider, entry.bytes_sent) for entry in reply.egress] == [("searxng", 42)]
        assert "generator.Answer" not in suite.script.names()
        off = gateway_pb2.StepToggles(web=gateway_pb2.TOGGLE_OFF)
        reply = await suite.call("Ask", ask(filter=public, steps=off))
        assert reply.HasField("abstained")
