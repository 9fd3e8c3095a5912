"""The numbers that Word prints in front of headings and items of lists, which its file holds as rules to count by."""

import re
from dataclasses import dataclass, field

from services.retriever.parsing.office.package import Element, attribute, child, children, whole

_PLACE = re.compile(r"%([1-9])")
_ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
)
_BULLET = "-"


@dataclass(frozen=True)
class _Level:
    format: str
    text: str
    start: int


@dataclass
class _Counting:
    """Of one abstract list: the numbers of its levels so far."""

    numbers: dict[int, int] = field(default_factory=dict)
    started: set[str] = field(default_factory=set)


class Numbering:
    """Counts as the document is read: `label` is to be called once for each numbered paragraph, in order."""

    def __init__(self, tree: Element | None) -> None:
        self._levels: dict[str, dict[int, _Level]] = {}
        self._abstract: dict[str, str] = {}
        self._overrides: dict[str, dict[int, int]] = {}
        self._counting: dict[str, _Counting] = {}
        for one in children(tree, "abstractNum"):
            self._levels[attribute(one, "abstractNumId")] = {
                whole(attribute(level, "ilvl")): _level(level) for level in children(one, "lvl")
            }
        for one in children(tree, "num"):
            number = attribute(one, "numId")
            abstract = attribute(child(one, "abstractNumId"), "val")
            self._abstract[number] = abstract
            starts: dict[int, int] = {}
            for override in children(one, "lvlOverride"):
                level = whole(attribute(override, "ilvl"))
                start = attribute(child(override, "startOverride"), "val")
                if start.isdecimal():
                    starts[level] = whole(start)
                inner = child(override, "lvl")
                if inner is not None:
                    # A list of its own, which differs in this level.
                    own = f"{abstract}/{number}"
                    self._levels.setdefault(own, dict(self._levels.get(abstract, {})))
                    self._levels[own][level] = _level(inner)
                    self._abstract[number] = own
            self._overrides[number] = starts

    def label(self, number: str, level: int) -> str:
        """What is printed in front of the next paragraph of this list: "2.1", "(a)", "-" for a bullet; or nothing."""
        abstract = self._abstract.get(number)
        if abstract is None:
            return ""
        levels = self._levels.get(abstract, {})
        rule = levels.get(level)
        if rule is None or rule.format == "none":
            return ""
        counting = self._counting.setdefault(abstract, _Counting())
        starts = self._overrides.get(number, {})
        if starts and number not in counting.started:
            counting.started.add(number)
            for at, start in starts.items():
                counting.numbers[at] = start - 1
        counting.numbers[level] = counting.numbers.get(level, rule.start - 1) + 1
        for deeper in [at for at in counting.numbers if at > level]:
            del counting.numbers[deeper]
        if rule.format == "bullet":
            return _BULLET

        def number_of(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            other = levels.get(at, rule)
            return formatted(counting.numbers.get(at, other.start), other.format)

        return _PLACE.sub(number_of, rule.text).strip()


def _level(element: Element) -> _Level:
    start = attribute(child(element, "start"), "val", "0")
    return _Level(
        attribute(child(element, "numFmt"), "val", "decimal"),
        attribute(child(element, "lvlText"), "val"),
        whole(start),
    )


def formatted(number: int, form: str) -> str:
    """A number in a list's format; those of other scripts in digits."""
    match form:
        case "lowerLetter" | "upperLetter" if number > 0:
            # Behind z come aa, bb, cc.
            letter = chr(97 + (number - 1) % 26) * min((number - 1) // 26 + 1, 10)
            return letter if form == "lowerLetter" else letter.upper()
        case "lowerRoman" | "upperRoman" if 0 < number < 4_000:
            roman = ""
            for value, sign in _ROMAN:
                roman += sign * (number // value)
                number %= value
            return roman if form == "lowerRoman" else roman.upper()
        case "decimalZero":
            return f"{number:02d}"
        case _:
            return str(number)
