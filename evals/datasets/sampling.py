"""A smaller collection with the same sort of questions. Chosen by hash, so the same on every machine.

Fewer documents make a search easier: numbers of a sample compare with each other, never with those of the whole.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from evals.datasets import Collection, Query


def by_hash(names: Iterable[str]) -> list[str]:
    """In an order that has nothing to do with what they name."""
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())


def sample(collection: Collection, *, queries: int = 0, documents: int = 0) -> Collection:
    """So many of the questions, and of the documents; 0 keeps all.

    Answerable and unanswerable questions keep their shares. Documents that are relevant to a question that is kept
    stay, whatever their number, and those that an unanswerable one was written for, without which it is easy; judged
    ones are taken before the others, since near misses make a search hard.
    """
    if queries:
        chosen = _queries(collection.queries, queries)
        judged = {q.id: collection.qrels[q.id] for q in chosen if q.id in collection.qrels}
        collection = replace(collection, queries=chosen, qrels=judged)
    if documents:
        graded = [collection.qrels.get(query.id, {}) for query in collection.queries]
        needed = {
            name
            for query, grades in zip(collection.queries, graded, strict=True)
            for name, grade in grades.items()
            if grade > 0 or not query.answerable
        }
        seen = {name for grades in graded for name in grades} - needed
        rest = {passage.id for passage in collection.passages} - needed - seen
        kept = set(
            [*by_hash(needed), *by_hash(seen), *by_hash(rest)][: max(documents, len(needed))]
        )
        collection = replace(
            collection, passages=tuple(p for p in collection.passages if p.id in kept)
        )
    return collection


def _queries(queries: Sequence[Query], count: int) -> tuple[Query, ...]:
    answerable = [query.id for query in queries if query.answerable]
    others = [query.id for query in queries if not query.answerable]
    share = round(count * len(answerable) / max(len(queries), 1))
    kept = {*by_hash(answerable)[:share], *by_hash(others)[: count - share]}
    return tuple(query for query in queries if query.id in kept)
