"""Ranking metrics, per query and averaged. Pure; no service is called here.

A ranking is a list of item ids, best first, each at most once; judgements map item ids to grades (integers, 0 and
below: not relevant). NDCG uses the exponential gain of Burges et al. (2005), 2**grade - 1, with the discount
1 / log2(rank + 1), rank from 1. trec_eval, and with it ir-measures' and ranx's plain nDCG, uses the grade itself as
gain: equal for grades 0 and 1, different for higher ones.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

Judgements = Mapping[str, int]

HIT_AT = (1, 3, 5, 10)
DEPTH = 10


def gain(grade: int) -> float:
    """2**grade - 1; 0 for grades below 1."""
    return float(2**grade - 1) if grade > 0 else 0.0


def relevant(judgements: Judgements) -> frozenset[str]:
    """Items with a grade of 1 or more."""
    return frozenset(item for item, grade in judgements.items() if grade > 0)


def hit(ranking: Sequence[str], judgements: Judgements, k: int) -> float:
    """1 if one of the first k items is relevant, else 0."""
    wanted = relevant(judgements)
    return float(any(item in wanted for item in ranking[:k]))


def reciprocal_rank(ranking: Sequence[str], judgements: Judgements, k: int) -> float:
    """1 / rank of the first relevant item within k, else 0 (MRR@k is its mean)."""
    wanted = relevant(judgements)
    return next((1 / rank for rank, item in enumerate(ranking[:k], 1) if item in wanted), 0.0)


def ndcg(ranking: Sequence[str], judgements: Judgements, k: int) -> float:
    """DCG of the first k over the DCG of the best possible k; 0 where nothing is relevant."""
    ideal = sorted((gain(grade) for grade in judgements.values()), reverse=True)[:k]
    best = _dcg(ideal)
    return _dcg([gain(judgements.get(item, 0)) for item in ranking[:k]]) / best if best else 0.0


def recall(ranking: Sequence[str], judgements: Judgements, k: int) -> float:
    """Share of the relevant items that are among the first k; 0 where nothing is relevant."""
    wanted = relevant(judgements)
    return len(wanted.intersection(ranking[:k])) / len(wanted) if wanted else 0.0


def _dcg(gains: Iterable[float]) -> float:
    return sum(value / math.log2(rank + 1) for rank, value in enumerate(gains, 1))


Metric = Callable[[Sequence[str], Judgements], float]

METRICS: Mapping[str, Metric] = {
    **{f"hit@{k}": partial(hit, k=k) for k in HIT_AT},
    f"mrr@{DEPTH}": partial(reciprocal_rank, k=DEPTH),
    f"ndcg@{DEPTH}": partial(ndcg, k=DEPTH),
    f"recall@{DEPTH}": partial(recall, k=DEPTH),
    "recall@100": partial(recall, k=100),
}


def order(scores: Mapping[str, float]) -> list[str]:
    """Item ids by descending score; equal scores by id, so that the same scores always give the same ranking.

    ValueError for a score that is not finite: it has no place in an order.
    """
    bad = [item for item, score in scores.items() if not math.isfinite(score)]
    if bad:
        raise ValueError(
            f"the score of {bad[0]} is not a finite number ({len(bad)} such); a run is only"
            " comparable where every score is, so repair the model that wrote them"
        )
    return sorted(scores, key=lambda item: (-scores[item], item))


def evaluate(ranking: Sequence[str], judgements: Judgements) -> dict[str, float]:
    """Every metric for one query. ValueError for a ranking that names an item twice."""
    if len(set(ranking)) != len(ranking):
        twice = next(item for item in ranking if ranking.count(item) > 1)
        raise ValueError(f"{twice} is ranked twice; each item may be ranked once")
    return {name: metric(ranking, judgements) for name, metric in METRICS.items()}


@dataclass(frozen=True)
class Evaluation:
    """Metrics of one run. Queries without a relevant item are left out here; answers.py scores them."""

    per_query: Mapping[str, Mapping[str, float]]
    left_out: Sequence[str] = field(default=())

    def mean(self) -> dict[str, float]:
        """The average of each metric over the queries that have relevant items; empty if there are none."""
        rows = list(self.per_query.values())
        return (
            {name: sum(row[name] for row in rows) / len(rows) for name in METRICS} if rows else {}
        )


def evaluate_run(run: Mapping[str, Sequence[str]], qrels: Mapping[str, Judgements]) -> Evaluation:
    """Metrics of every judged query; one that the run does not name was answered with an empty ranking.

    Queries of the run without judgements are ignored, as trec_eval does. ValueError for empty qrels.
    """
    if not any(relevant(judgements) for judgements in qrels.values()):
        raise ValueError("the qrels hold no relevant item, so nothing can be measured")
    judged = sorted(query for query, judgements in qrels.items() if relevant(judgements))
    return Evaluation(
        {query: evaluate(run.get(query, ()), qrels[query]) for query in judged},
        tuple(sorted(set(qrels) - set(judged))),
    )
