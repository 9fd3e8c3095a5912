"""What reads one format: the Protocol that every format's file keeps. worker.py lists them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from services.retriever.documents import ParsedDocument
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.titles import is_title


@dataclass(frozen=True)
class Hints:
    """What is known of a file beside its bytes.

    `title`: the sender's. `stem`: the file's name without its ending. Both are clean lines. `password`: the sender's,
    for a file that has one. `ocr_pages`: pages, from 0, that OCR is to read, in `ocr_languages` (tesseract's names,
    joined by "+"). `careful`: this file has crashed the parser once; do without the parts that may have done it.
    `charset`: the text encoding that the sender names. `skip`: pages, from 0, that ended the process before.
    """

    title: str = ""
    stem: str = ""
    password: str = ""
    ocr_pages: frozenset[int] = frozenset()
    ocr_languages: str = "eng"
    careful: bool = False
    charset: str = ""
    skip: tuple[int, ...] = ()

    def title_of(self, *found: str, heading: str = "") -> str:
        """The document's title: the sender's, else the first that was found in the file and says something, else its
        first heading, else the file's name. A heading is the document's own words, though they are "Test"."""
        title = self.title or next(filter(is_title, found), "")
        return title or (heading if any(map(str.isalpha, heading)) else self.stem)


# Raised when files are read differently: then the same bytes, sent again, are another version of a document.
VERSION = 3

NO_HINTS = Hints()
DEFAULT_LIMITS = ParseLimits()
Progress = Callable[[int], None]
"""Called with a page's index before that page is read, which has a time limit of its own (ParseLimits.page_s)."""


def unseen(page: int) -> None:
    """The Progress of somebody who does not watch."""


class Parser(Protocol):
    """Reads the files of one format. It runs in a worker process, which it may crash."""

    def __call__(
        self,
        data: bytes,
        hints: Hints = NO_HINTS,
        limits: ParseLimits = DEFAULT_LIMITS,
        progress: Progress = unseen,
    ) -> ParsedDocument:
        """The file as pages, sections and clean text (text.py).

        Raises InvalidArgument for a file that cannot be read, FailedPrecondition for one that needs something else
        first, ResourceExhausted past a limit. The worker holds every document against max_chars and max_pages.
        """
