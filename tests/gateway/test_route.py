"""Where a question goes, and by what right."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from services.gateway.calibration import Calibration, load, sigmoid
from services.gateway.route import Decision, Router, Scored, spread
from services.gateway.settings import DEFAULT_CALIBRATION
from services.rpc.errors import FailedPrecondition


def calibration(**changes: Any) -> Calibration:
    return Calibration(
        **{
            "model": "m",
            "signal": "score",
            "slope": 1.0,
            "intercept": 0.0,
            "threshold": 0.5,
            "dataset": "hand-made",
            "date": "2026-11-30",
            **changes,
        }
    )


def router(**changes: Any) -> Router:
    return Router({("m", "score"): calibration(**changes)})


def scored(*scores: float) -> Scored:
    return Scored("m", "score", scores)


def test_the_top_probability_decides() -> None:
    assert router().decide(scored(0.1, -3.0), 2).decision is Decision.ANSWER
    assert router().decide(scored(-0.1, -3.0), 2).decision is Decision.ABSTAIN
    route = router().decide(scored(2.0, 0.0), 2)
    assert route.probability == pytest.approx(1 / (1 + math.exp(-2)))
    assert route.probabilities[1] == 0.5


def test_enough_hits_must_clear_the_floor() -> None:
    strict = router(floor=0.4, least_above_floor=2)
    assert strict.decide(scored(3.0, 0.0), 2).decision is Decision.ANSWER
    assert strict.decide(scored(3.0, -3.0), 2).decision is Decision.ABSTAIN


def test_the_request_goes_before_the_settings_before_the_sweep() -> None:
    strict = Router({("m", "score"): calibration(threshold=0.1)}, threshold=0.9)
    assert strict.decide(scored(0.0), 1).threshold == 0.9
    assert strict.decide(scored(0.0), 1, threshold=0.2).decision is Decision.ANSWER


def test_close_but_not_enough_asks_back_where_the_sweep_says_so() -> None:
    asks = router(clarify_from=0.3)
    assert asks.decide(scored(-0.5), 1).decision is Decision.CLARIFY
    assert asks.decide(scored(-5.0), 1).decision is Decision.ABSTAIN


def test_nothing_scored_or_another_models_sweep_applies_no_threshold() -> None:
    assert router().decide(None, 3).uncalibrated
    other = router().decide(Scored("another", "score", (-9.0,)), 1)
    assert other.decision is Decision.ANSWER
    assert other.probability == 0.0
    assert "another" in other.uncalibrated
    # The same model by another signal is another scale.
    assert router().decide(Scored("m", "score_per_token", (-9.0,)), 1).uncalibrated


def test_no_hits_is_no() -> None:
    assert router().decide(scored(), 0).decision is Decision.ABSTAIN
    assert router().decide(None, 0).decision is Decision.ABSTAIN


def test_what_could_not_be_scored_answers_nothing() -> None:
    assert router().decide(scored(-math.inf), 1).probability == 0.0


def test_extreme_scores_do_not_overflow() -> None:
    assert sigmoid(1e6) == 1.0
    assert sigmoid(-1e6) == 0.0


def test_files_are_read_strictly(tmp_path: Path) -> None:
    good = json.loads(calibration().model_dump_json())
    (tmp_path / "a.json").write_text(json.dumps(good))
    assert load(tmp_path)[("m", "score")].threshold == 0.5
    (tmp_path / "b.json").write_text(json.dumps(good))
    with pytest.raises(FailedPrecondition, match=r"b\.json.*two sweeps"):
        load(tmp_path)
    for wrong in ({**good, "slope": -1.0}, {**good, "treshold": 0.5}, {**good, "threshold": 2}):
        (tmp_path / "b.json").write_text(json.dumps(wrong))
        with pytest.raises(FailedPrecondition, match=r"b\.json"):
            load(tmp_path)
    with pytest.raises(FailedPrecondition, match="not a folder"):
        load(tmp_path / "none")


def test_the_committed_calibrations_can_be_read() -> None:
    for made in load(DEFAULT_CALIBRATION).values():
        assert made.questions >= 100, "a calibration on fewer questions tells nothing"


def test_one_document_gives_way_to_other_relevant_ones() -> None:
    stuffed = [1] * 8 + [2, 3, 4, 5]
    assert spread(stuffed, 5, 3, [True] * 12) == [0, 1, 2, 8, 9]


def test_a_document_that_alone_is_relevant_keeps_its_places() -> None:
    assert spread([1] * 5 + [2, 3], 5, 3, [True] * 5 + [False] * 2) == [0, 1, 2, 3, 4]


def test_few_of_one_document_can_be_switched_off() -> None:
    assert spread([1] * 5 + [2], 4, 0, [True] * 6) == [0, 1, 2, 3]
    assert spread([], 4, 3, []) == []
