"""The words of a page by where they stand, in rows across the page and in the pieces that wide gaps cut rows into."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from services.retriever.parsing.pdf.glyphs import Glyphs
from services.retriever.parsing.pdf.rules import Rules
from services.retriever.parsing.pdf.segments import HYPHEN

_CURRENCY = r"(?:US|CA|AU|HK|NZ|[CAR])?[$€£¥₹]|Rs\.?|EUR|USD|GBP|CHF|INR"
_SIGN = "[-+\u2010\u2011\u2012\u2013\u2014\u2212]"
_MARK = "[*\u2020\u2021]"
_NUMBER = re.compile(
    rf"[<>~\u2248\u00b1]?{_SIGN}?(?:{_CURRENCY})?\(?{_SIGN}?(?:{_CURRENCY})?\d[\d.,'\u2019]*(?<![.,'])"
    rf"(?:%|\u2030|x|bps|pp|pts?)?\)?(?:%|pts?)?{_MARK}*"
)
_RATIO = re.compile(r"\d+(?:\.\d+)?:\d+(?:\.\d+)?")
_DASH = re.compile(rf"\(?{_SIGN}+\)?%?")
_NONE = re.compile(r"N/?A\.?|n/?a\.?|N/?M\.?|n/?m\.?|nil|Nil|\*")
_MONEY = re.compile(rf"\(?(?:{_CURRENCY})\(?")
_TAIL = re.compile(r"\)|\)?%\)?|pts?\.?|bps|\)x|x")
_NOTE = re.compile(
    r"[(\[](?:\d{1,2}|[a-z])(?:[,)\](](?:\d{1,2}|[a-z]))*[)\]]|[*\u2020\u2021]+|[(\[]"
)
_LEADER = re.compile(r"[.\u2026_\u00b7]{2,}|\.")
_LEADERS = re.compile(r"[.\u2026_\u00b7]{3,}")
YEAR = re.compile(r"(?:FY|CY)?'?(?:19|20)\d\d(?:\(?[EAF]\)?)?")

# In units of the letters' size.
_GAP = 0.8
_VALUE_GAP = 0.3


@dataclass(frozen=True)
class Word:
    """Letters without a gap, in points as shown. `glyphs` are pdfium's indices."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float
    bold: bool
    glyphs: tuple[int, ...]

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


@dataclass
class Piece:
    """Words of one row with no wide gap between them."""

    words: list[Word]
    before: list[Word] = field(default_factory=list)
    """A currency sign that stands apart."""
    after: list[Word] = field(default_factory=list)
    """A percent sign or a bracket that stands apart, and footnote marks."""

    @cached_property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def left(self) -> float:
        return min(word.left for word in self.words)

    @property
    def right(self) -> float:
        return max(word.right for word in self.words)

    @property
    def top(self) -> float:
        return min(word.top for word in self.words)

    @property
    def bottom(self) -> float:
        return max(word.bottom for word in self.words)

    @property
    def size(self) -> float:
        return max(word.size for word in self.words)

    @property
    def bold(self) -> bool:
        return all(word.bold for word in self.words)

    @cached_property
    def is_value(self) -> bool:
        """A figure, a dash for none, "n/a"."""
        return len(self.words) == 1 and is_value(self.words[0].text)

    @property
    def all(self) -> list[Word]:
        return [*self.before, *self.words, *self.after]

    @property
    def outer_left(self) -> float:
        return min(word.left for word in self.all)

    @property
    def outer_right(self) -> float:
        return max(word.right for word in self.all)


@dataclass
class Row:
    """Words on one line across the page, from left to right."""

    words: list[Word]
    pieces: list[Piece] = field(default_factory=list)

    @property
    def top(self) -> float:
        return min(word.top for word in self.words)

    @property
    def bottom(self) -> float:
        return max(word.bottom for word in self.words)

    @cached_property
    def size(self) -> float:
        return max(word.size for word in self.words)

    @cached_property
    def middle(self) -> float:
        tall = [word.middle for word in self.words if word.size >= 0.8 * self.size]
        return sum(tall) / len(tall)


def is_value(text: str) -> bool:
    """Whether a word is a figure, or stands in a figure's place."""
    return any(pattern.fullmatch(text) for pattern in (_NUMBER, _DASH, _NONE, _RATIO))


def is_figure(text: str) -> bool:
    """Whether a word is a number."""
    return _NUMBER.fullmatch(text) is not None


def is_money(text: str) -> bool:
    """Whether a word is a currency sign alone."""
    return _MONEY.fullmatch(text) is not None


def is_leader(text: str) -> bool:
    """Whether a word is dots that lead to a figure."""
    return len(text) > 1 and _LEADER.fullmatch(text) is not None


def is_tail(text: str) -> bool:
    """Whether a word is a percent sign, or what closes a figure."""
    return _TAIL.fullmatch(text) is not None and not text[0].isalnum()


def words_of(glyphs: Glyphs, unseen: Sequence[int]) -> list[Word]:
    """The visible words of a page that stand upright on it as it is shown, in pdfium's order; dots that lead to a
    figure are words of their own."""
    return _Letters(glyphs).words(unseen)


class _Letters:
    """The letters of a page. There are thousands, so little is called for each."""

    def __init__(self, glyphs: Glyphs) -> None:
        self._chars = glyphs.chars
        self._turns, self._upright = glyphs.turns, glyphs.frame.rotation // 90 % 4
        self._lefts, self._tops, self._rights, self._bottoms = glyphs.shown()
        self._sizes = [0.0] * len(glyphs.chars)
        self._bold = bytearray(len(glyphs.chars))
        for start, end, style in glyphs.runs:
            self._sizes[start:end] = [style.size] * (end - start)
            if style.bold:
                self._bold[start:end] = b"\1" * (end - start)

    def words(self, unseen: Sequence[int]) -> list[Word]:
        sizes, turns, upright = self._sizes, self._turns, self._upright
        found: list[Word] = []
        start = -1  # Of the word that is being read.
        last_right = last_size = last_top = last_bottom = 0.0
        places = zip(self._lefts, self._tops, self._rights, self._bottoms, strict=True)
        for index, (char, (left, top, right, bottom)) in enumerate(
            zip(self._chars, places, strict=True)
        ):
            if (
                (char <= " " and char != HYPHEN)
                or char == "\xa0"
                or unseen[index]
                or turns[index] != upright
                or right <= left
                or bottom <= top
            ):
                if start >= 0:
                    self._add(start, index, found)
                    start = -1
                continue
            size = sizes[index]
            if size <= 0:
                size = sizes[index] = (bottom - top) * 0.85
            if start < 0:
                start = index
            else:
                high, low = max(top, last_top), min(bottom, last_bottom)
                if (
                    left - last_right > 0.25 * (size if size > last_size else last_size)
                    or left < last_right - 0.6 * last_size
                    or low - high < 0.5 * min(bottom - top, last_bottom - last_top)
                    or not 0.75 < size / last_size < 1.34
                ):
                    self._add(start, index, found)
                    start = index
            last_right, last_size, last_top, last_bottom = right, size, top, bottom
        if start >= 0:
            self._add(start, len(self._chars), found)
        return found

    def _add(self, start: int, end: int, found: list[Word]) -> None:
        """One word, or its parts around a run of leader dots."""
        text = "".join(self._chars[start:end]).replace(HYPHEN, "-")
        if len(text) != end - start:  # A glyph of several letters.
            found.append(self._word(start, end, text))
            return
        at = 0
        for run in _LEADERS.finditer(text) if end - start > 2 else ():
            for cut in run.span():
                if at < cut:
                    found.append(self._word(start + at, start + cut, text[at:cut]))
                at = cut
        if at < end - start:
            found.append(self._word(start + at, end, text[at:]))

    def _word(self, start: int, end: int, text: str) -> Word:
        return Word(
            text,
            min(self._lefts[start:end]),
            min(self._tops[start:end]),
            max(self._rights[start:end]),
            max(self._bottoms[start:end]),
            self._sizes[start],
            bool(self._bold[start]),
            tuple(range(start, end)),
        )


def rows_of(words: Iterable[Word], rules: Rules) -> list[Row]:
    """Words grouped by height, top to bottom, and cut into pieces."""
    rows: list[list[Word]] = []
    tallest: list[Word] = []
    for word in sorted(words, key=lambda word: word.middle):
        for at in range(len(rows) - 1, max(-1, len(rows) - 4), -1):
            tall = tallest[at]
            shared = min(word.bottom, tall.bottom) - max(word.top, tall.top)
            least = min(word.bottom - word.top, tall.bottom - tall.top)
            if shared > 0.55 * least:
                rows[at].append(word)
                if word.size > tall.size:
                    tallest[at] = word
                break
        else:
            rows.append([word])
            tallest.append(word)
    down = sorted(rules.down)
    xs = [x for x, _, _ in down]
    found = [Row(sorted(row, key=lambda word: word.left)) for row in rows]
    found.sort(key=lambda row: row.middle)
    for row in found:
        row.pieces = _pieces(row, down, xs)
    return found


def _pieces(
    row: Row, down: Sequence[tuple[float, float, float]], xs: Sequence[float]
) -> list[Piece]:
    groups: list[list[Word]] = []
    for word in row.words:
        if _LEADER.fullmatch(word.text) and groups:
            # Leader dots lead from a name to its figure; they are neither, and what follows them begins anew.
            groups.append([])
            continue
        if groups and groups[-1] and not _parts(groups[-1], word, down, xs):
            groups[-1].append(word)
        else:
            groups.append([word])
    return _with_signs([Piece(group) for group in groups if group])


def _parts(
    group: list[Word],
    word: Word,
    down: Sequence[tuple[float, float, float]],
    xs: Sequence[float],
) -> bool:
    """Whether a new piece begins with `word`."""
    last = group[-1]
    size = max(last.size, word.size)
    gap = word.left - last.right
    if gap > _GAP * size:
        return True
    for at in range(bisect_left(xs, last.right - 0.15 * size), len(xs)):
        x, top, bottom = down[at]
        if x > word.left + 0.15 * size:
            break
        if top <= word.middle <= bottom:
            return True
    valued = all(is_value(part.text) or _is_sign(part.text) for part in group)
    if not valued or gap <= 0:
        return False
    if is_money(word.text) and not is_money(last.text):
        return True
    return gap > _VALUE_GAP * size and is_figure(word.text) and is_figure(last.text)


def _is_sign(text: str) -> bool:
    return is_money(text) or _TAIL.fullmatch(text) is not None


def _with_signs(pieces: list[Piece]) -> list[Piece]:
    """Signs that stand apart go to the figure they belong to: a currency to the right, a percent to the left."""
    found: list[Piece] = []
    waiting: list[Word] = []
    for piece in pieces:
        words = piece.words
        lead = 0
        while (
            lead < len(words) - 1 and is_money(words[lead].text) and is_value(words[lead + 1].text)
        ):
            lead += 1
        if len(words) == 1 and is_money(words[0].text):
            waiting = words
            continue
        if found and found[-1].is_value and all(_is_mark(word, found[-1]) for word in words):
            found[-1].after += words
            continue
        body, after = _tail(words[lead:])
        if found and not body and found[-1].is_value and _near(found[-1], after[0]):
            found[-1].after += after
            continue
        if not body:
            body, after = words[lead:], []
        made = Piece(body, words[:lead], after)
        if waiting:
            if made.is_value:
                made.before = [*waiting, *made.before]
            else:
                found.append(Piece(waiting))
            waiting = []
        found.append(made)
    if waiting:
        found.append(Piece(waiting))
    return found


def _is_mark(word: Word, figure: Piece) -> bool:
    """A footnote mark behind a figure: a letter in brackets, or small."""
    small = word.size < 0.85 * figure.size
    is_note = _NOTE.fullmatch(word.text) is not None
    return word.left - figure.outer_right < 3 * figure.size and (
        (is_note and (small or word.text[1:2].isalpha())) or (small and len(word.text) <= 2)
    )


def _tail(words: list[Word]) -> tuple[list[Word], list[Word]]:
    """A figure, and the signs and footnote marks behind it."""
    if len(words) == 1 and not _TAIL.fullmatch(words[0].text):
        return words, []
    end = len(words)
    while end > 1 and (_TAIL.fullmatch(words[end - 1].text) or _is_note(words, end - 1)):
        end -= 1
    if end == 1 and is_value(words[0].text):
        return words[:1], words[1:]
    if all(_TAIL.fullmatch(word.text) for word in words):
        return [], words
    return words, []


def _is_note(words: list[Word], at: int) -> bool:
    small = words[at].size < 0.85 * words[0].size
    return _NOTE.fullmatch(words[at].text) is not None or (small and len(words[at].text) <= 3)


def _near(piece: Piece, word: Word) -> bool:
    return word.left - piece.outer_right < 2.5 * word.size
