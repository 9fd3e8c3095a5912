"""The labels of a PDF's pages: what is printed on them, where the file does not say it."""

from collections.abc import Sequence
from itertools import pairwise

from services.retriever.parsing.pdf.numbers import Number

_SHORT = 6
_LEAST_SHARE = 1 / 3


def printed(numbers: Sequence[Number | None]) -> list[str]:
    """A label for each page from the numbers found on them; [] where too few pages have one.

    A page without a number has the one that its place among the others gives it; in front of the first one, or
    where there is none, its physical number in brackets, as libraries cite unnumbered pages.
    """
    count = len(numbers)
    have = [index for index, number in enumerate(numbers) if number is not None]
    if len(have) < (2 if count <= _SHORT else 3) or len(have) < _LEAST_SHARE * count:
        return []
    labels = [number.text if number is not None else "" for number in numbers]
    step = _step(numbers)
    for index in range(count):
        if labels[index]:
            continue
        before = max((at for at in have if at < index), default=None)
        after = min((at for at in have if at > index), default=None)
        value = _between(numbers, before, after, index, step)
        # Behind the last number, or in front of the first, pages are counted on, but not past a cover.
        labels[index] = value or f"[{index + 1}]"
    return labels


def _step(numbers: Sequence[Number | None]) -> int:
    """How much a number grows from one page to the next: 2 where each sheet is a spread."""
    known = [(index, number.value) for index, number in enumerate(numbers) if number is not None]
    steps = [(value - before) / (index - at) for (at, before), (index, value) in pairwise(known)]
    return 2 if steps and sum(step == 2 for step in steps) > len(steps) / 2 else 1


def _between(
    numbers: Sequence[Number | None],
    before: int | None,
    after: int | None,
    index: int,
    step: int,
) -> str:
    if before is not None:
        number = numbers[before]
        assert number is not None
        value = number.value + step * (index - before)
        following = numbers[after] if after is not None else None
        if following is None or following.roman != number.roman or following.value > value:
            return _written(value, number)
        return ""
    number = numbers[after] if after is not None else None
    if number is None or after is None:
        return ""
    value = number.value - step * (after - index)
    return _written(value, number) if value > 0 else ""


def _written(value: int, like: Number) -> str:
    if not like.roman:
        chapter = like.text.removesuffix(str(like.value))
        return str(value) if chapter.isdigit() else f"{chapter}{value}"
    text = ""
    for unit, letters in _UNITS:
        text += letters * (value // unit)
        value %= unit
    return text.upper() if like.text.isupper() else text


_UNITS = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
