"""Text whose parts look different, as office programs keep it: runs that stand on the line, above it or below it."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from services.retriever.parsing import marks

_SEEN = 40  # Characters in front of a raised one that say what it is.


@dataclass(frozen=True, slots=True)
class Run:
    """`level`: 0 on the line, 1 raised, -1 lowered."""

    text: str
    level: int = 0


def joined(runs: Iterable[Run], before: str = "") -> str:
    """Runs as plain text behind `before`; a raised digit never makes a number longer. A program cuts one word into many
    runs, so those of one level are read together."""
    parts: list[str] = []
    behind = before[-_SEEN:]
    for level, group in groupby(runs, lambda run: run.level):
        text = "".join(run.text for run in group)
        if level and text.strip():
            change = marks.raised if level > 0 else marks.lowered
            space = text[len(text.rstrip()) :]
            text = change(behind, text) + space
        parts.append(text)
        behind = (behind + text)[-_SEEN:]
    return "".join(parts)
