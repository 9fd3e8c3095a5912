"""How steps are timed and reported: one line a step, whatever became of it."""

import pytest

from folio.common.v1 import step_pb2
from folio.common.v1.step_pb2 import STEP_FETCH, STEP_SCORE, STEP_SEARCH
from services.rpc.errors import Unavailable
from services.rpc.report import DEGRADED, MAX_REASON_CHARACTERS, RAN, SKIPPED, Report


def test_each_step_is_one_line_and_is_told_as_it_ends() -> None:
    told: list[step_pb2.StepReport] = []
    report = Report(
        lambda line: told.append(step_pb2.StepReport.FromString(line.SerializeToString()))
    )
    with report.step(STEP_SEARCH, model="m") as step:
        assert report.current == STEP_SEARCH
        assert not told
        step.reason = "x" * 1000
    report.skip(STEP_SCORE, "nothing to score")
    assert [(line.step, line.status, line.model) for line in report.steps] == [
        (STEP_SEARCH, RAN, "m"),
        (STEP_SCORE, SKIPPED, ""),
    ]
    assert len(report.steps[0].reason) == MAX_REASON_CHARACTERS
    assert report.steps[0].elapsed_ms > 0 == report.steps[1].elapsed_ms
    assert told == report.steps


def test_a_failure_of_ours_degrades_a_step_that_is_not_needed() -> None:
    report = Report()
    with report.step(STEP_SCORE):
        raise Unavailable("colbert cannot be reached")
    assert report.steps[0].status == DEGRADED
    assert report.steps[0].reason == "UNAVAILABLE: colbert cannot be reached"
    with pytest.raises(Unavailable), report.step(STEP_SEARCH, needed=True):
        raise Unavailable("down")
    assert [line.step for line in report.steps] == [STEP_SCORE]


def test_anything_else_is_a_bug_and_goes_on() -> None:
    report = Report()
    with pytest.raises(ZeroDivisionError), report.step(STEP_SCORE):
        raise ZeroDivisionError
    assert not report.steps


def test_a_step_that_runs_again_adds_its_time_to_its_line() -> None:
    report = Report()
    for number in range(3):
        with report.step(STEP_FETCH):
            pass
        with report.step(STEP_SCORE) as step:
            step.reason = f"round {number}"
    assert [line.step for line in report.steps] == [STEP_FETCH, STEP_SCORE]
    assert report.steps[1].reason == "round 2"
    before = report.steps[0].elapsed_ms
    with report.step(STEP_FETCH):
        pass
    assert report.steps[0].elapsed_ms > before
