"""Turns ranked chunks into ranked items that can be judged.

Golden sets judge pages, services rank chunks. A chunk stands for each relevant item whose pages it touches and that no
chunk before it touched (best grade first), one rank each; any other chunk takes one rank as not relevant, also a second
chunk of an item that is already found. So the same pages are never paid twice, and the best order still scores 1.
Collections that judge whole documents rank each document at its best chunk (MaxP; Dai and Callan, 2019).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evals.golden import Relevant


@dataclass(frozen=True)
class Place:
    """Where a chunk stands: document (a library path, or a collection's id) and its pages, both inclusive."""

    document: str
    first: int
    last: int


def touches(place: Place, item: Relevant) -> bool:
    """They share a page of one document."""
    return place.document == item.document and place.first <= item.last and item.first <= place.last


def rank_items(
    chunks: Sequence[int], places: Mapping[int, Place], relevant: Iterable[Relevant]
) -> list[str]:
    """Item ids in the order of the chunks; a chunk without a place is an item that is not relevant."""
    left = sorted(relevant, key=lambda item: (-item.grade, item.id))
    ranking: list[str] = []
    for chunk in chunks:
        place = places.get(chunk)
        found = [item for item in left if place and touches(place, item)]
        ranking += [item.id for item in found] or [f"chunk {chunk}"]
        left = [item for item in left if item not in found]
    return ranking


def rank_documents(chunks: Sequence[int], places: Mapping[int, Place]) -> list[str]:
    """Documents in the order of their best chunk."""
    return list(
        dict.fromkeys(
            places[chunk].document if chunk in places else f"chunk {chunk}" for chunk in chunks
        )
    )
