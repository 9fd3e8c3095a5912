"""Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""

from collections.abc import Sequence

RRF_K = 60


def fuse(lists: Sequence[Sequence[int]], k: int = RRF_K) -> list[tuple[int, float]]:
    """score(d) = sum over the lists that hold d of 1 / (k + rank), ranks from 1.

    Best first, equal scores by id. A repeated id counts once a list, at its best rank.
    """
    scores: dict[int, float] = {}
    for ranked in lists:
        for rank, item in enumerate(dict.fromkeys(ranked), 1):
            scores[item] = scores.get(item, 0.0) + 1.0 / (k + rank)
    return sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))
