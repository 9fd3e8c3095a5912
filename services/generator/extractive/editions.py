"""Which sources speak of the year that is asked about, where their titles name a year. Pure."""

import re
from collections.abc import Sequence

from services.generator.answers import Source

_YEAR = re.compile(r"(?<![\d/])(?:19|20)\d\d(?!\d)")


def out_of_date(question: str, sources: Sequence[Source]) -> frozenset[int]:
    """Indices of the sources that are another edition than the one asked about.

    A year in the question asks for the editions of that year; without one, of two editions of the same title the
    newest counts. Titles without a year belong to every year.
    """
    asked = set(_YEAR.findall(question))
    named = {source.index: set(_YEAR.findall(source.title)) for source in sources}
    if asked:
        met = any(years & asked for years in named.values())
        return frozenset(
            index for index, years in named.items() if met and years and not years & asked
        )
    newest: dict[str, str] = {}
    for source in sources:
        years = named[source.index]
        if years:
            name = _nameless(source.title)
            newest[name] = max(newest.get(name, ""), *years)
    return frozenset(
        source.index
        for source in sources
        if named[source.index] and newest[_nameless(source.title)] not in named[source.index]
    )


def _nameless(title: str) -> str:
    return " ".join(_YEAR.sub("", title).lower().split())
