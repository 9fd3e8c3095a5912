"""The metrics, worked by hand and against ir-measures where the definitions agree."""

import math
import random

import ir_measures
import pytest
from ir_measures import RR, R, Success, nDCG

from evals.scoring.metrics import evaluate, evaluate_run, hit, ndcg, order, recall, reciprocal_rank


def test_the_worked_example_is_65092() -> None:
    # Two relevant items, found at ranks 2 and 4:
    # DCG = 1/log2(3) + 1/log2(5) = .63093 + .43068 = 1.06161; the best order gives 1 + .63093 = 1.63093.
    assert ndcg(["x", "a", "y", "b"], {"a": 1, "b": 1}, 10) == pytest.approx(0.65092, abs=5e-6)


def test_graded_by_hand_with_exponential_gain() -> None:
    # Grades 2, 0, 3, 1 in this order; gains 3, 0, 7, 1.
    # DCG = 3 + 0 + 7/2 + 1/log2(5) = 6.93068; ideal 7 + 3/log2(3) + 1/2 = 9.39279.
    judgements = {"a": 2, "b": 0, "c": 3, "d": 1}
    expected = (3 + 7 / 2 + 1 / math.log2(5)) / (7 + 3 / math.log2(3) + 1 / 2)
    assert ndcg(["a", "b", "c", "d"], judgements, 10) == pytest.approx(expected)
    assert expected == pytest.approx(0.73787, abs=5e-6)


def test_linear_gain_differs_for_grades_above_one() -> None:
    judgements = {"a": 2, "c": 3, "d": 1}
    qrels = {"q": judgements}
    run = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}
    linear = ir_measures.calc_aggregate([nDCG @ 10], qrels, run)[nDCG @ 10]
    # trec_eval: DCG = 2 + 3/2 + 1/log2(5) = 3.93068; ideal 3 + 2/log2(3) + 1/2 = 4.76186.
    assert linear == pytest.approx(0.82545, abs=5e-6)
    assert ndcg(["a", "b", "c", "d"], judgements, 10) == pytest.approx(0.73787, abs=5e-6)


def test_equal_to_ir_measures_on_grades_turned_into_gains() -> None:
    # trec_eval's gain is the grade itself; given 2^grade - 1 as the grade, it must find what ours finds.
    generator = random.Random(11)
    for _ in range(40):
        documents = [f"d{n}" for n in range(30)]
        grades = {d: generator.randint(0, 4) for d in generator.sample(documents, 15)} | {"d0": 3}
        ranked = generator.sample(documents, generator.randint(1, 30))
        scores = {d: float(len(ranked) - rank) for rank, d in enumerate(ranked)}
        gains = {"q": {d: 2**grade - 1 for d, grade in grades.items()}}
        theirs = ir_measures.calc_aggregate([nDCG @ 10], gains, {"q": scores})[nDCG @ 10]
        assert ndcg(ranked, grades, 10) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(
    ("ranking", "k", "expected"),
    [
        (["a"], 10, 1 / (1 + 1 / math.log2(3))),  # k > n: the missing item counts
        (["a", "x", "b"], 1, 1.0),  # n_rel > k: the ideal is cut at k too
        (["x", "y"], 10, 0.0),
        ([], 10, 0.0),
    ],
)
def test_ndcg_of_short_lists(ranking: list[str], k: int, expected: float) -> None:
    assert ndcg(ranking, {"a": 1, "b": 1}, k) == pytest.approx(expected)


def test_hit_reciprocal_rank_and_recall_by_hand() -> None:
    ranking, judgements = ["x", "y", "a", "z", "b"], {"a": 1, "b": 2, "c": 1, "x": 0}
    assert [hit(ranking, judgements, k) for k in (1, 2, 3)] == [0, 0, 1]
    assert reciprocal_rank(ranking, judgements, 10) == pytest.approx(1 / 3)
    assert reciprocal_rank(ranking, judgements, 2) == 0
    assert recall(ranking, judgements, 10) == pytest.approx(2 / 3)
    assert recall(ranking, judgements, 3) == pytest.approx(1 / 3)


def test_equal_to_ir_measures_on_binary_judgements() -> None:
    generator = random.Random(7)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for number in range(60):
        documents = [f"d{n}" for n in range(150)]
        qrels[f"q{number}"] = {d: 1 for d in generator.sample(documents, generator.randint(1, 15))}
        ranked = generator.sample(documents, generator.randint(1, 120))
        run[f"q{number}"] = {d: float(len(ranked) - rank) for rank, d in enumerate(ranked)}
    ours = evaluate_run({q: order(scores) for q, scores in run.items()}, qrels).mean()
    peers = {
        "ndcg@10": nDCG @ 10,
        "mrr@10": RR @ 10,
        "recall@10": R @ 10,
        "recall@100": R @ 100,
        "hit@1": Success @ 1,
        "hit@5": Success @ 5,
    }
    theirs = ir_measures.calc_aggregate(list(peers.values()), qrels, run)
    for name, measure in peers.items():
        assert ours[name] == pytest.approx(theirs[measure], abs=1e-12), name


def test_equal_scores_are_ordered_by_id_whatever_the_order_they_came_in() -> None:
    items = [f"d{n:02}" for n in range(20)]
    shuffled = random.Random(1).sample(items, 20)
    assert order(dict.fromkeys(shuffled, 0.5)) == items
    # trec_eval sorts ties by id descending: a blind run gets a perfect score if the last id is relevant.
    blind = {"q": dict.fromkeys(items, 0.5)}
    theirs = ir_measures.calc_aggregate([RR], {"q": {"d19": 1}}, blind)[RR]
    assert theirs == 1.0
    assert reciprocal_rank(order(blind["q"]), {"d19": 1}, 10) == 0.0


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_a_score_that_is_not_finite_is_refused(score: float) -> None:
    with pytest.raises(ValueError, match="d2 is not a finite number"):
        order({"d1": 1.0, "d2": score})


def test_an_item_ranked_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="a is ranked twice"):
        evaluate(["a", "b", "a"], {"a": 1})


def test_queries_without_relevant_items_are_left_out_of_the_average() -> None:
    found = evaluate_run({"q1": ["a"], "q2": ["a"]}, {"q1": {"a": 1}, "q2": {"a": 0}, "q3": {}})
    assert found.mean()["ndcg@10"] == 1.0
    assert found.left_out == ("q2", "q3")


def test_a_judged_query_without_a_ranking_counts_as_nothing_found() -> None:
    found = evaluate_run({"q1": ["a"]}, {"q1": {"a": 1}, "q2": {"a": 1}})
    assert found.mean()["hit@1"] == 0.5


def test_empty_qrels_are_refused() -> None:
    with pytest.raises(ValueError, match="no relevant item"):
        evaluate_run({"q": ["a"]}, {"q": {"a": 0}})
