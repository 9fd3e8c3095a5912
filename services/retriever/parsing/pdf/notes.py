"""What a document's warnings say about the reading of its pages."""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum


class Note(Enum):
    """Something that was left out or read with doubt; the value is the warning, {} for the page numbers."""

    STRUCK = "struck-out text left out on pages {}"
    COVERED = "text under something opaque or in a layer that is switched off left out on pages {}"
    REDACTED = "text marked to be redacted left out on pages {}"
    FIELDS = "form fields that could not be read on pages {}"
    STAMPS = "stamps whose words could not be read on pages {}"
    COMMENTS = "comments of readers left out on pages {}"
    CIPHERED = "text left out whose font does not say which letters it shows, on pages {}"
    ILLEGIBLE = "text that is not legible, taken as unread (its fonts do not say which letters they show), on pages {}"


def warnings(pages: Iterable[tuple[int, Iterable[Note]]]) -> Iterator[str]:
    """One warning for each kind, with the pages (physical, from 0) that have it."""
    found: dict[Note, list[int]] = {}
    for index, notes in pages:
        for note in notes:
            found.setdefault(note, []).append(index)
    for note in Note:
        if note in found:
            yield note.value.format(numbers(found[note]))


def numbers(pages: Sequence[int]) -> str:
    """Page numbers as people count, from 1; of many the first twenty."""
    shown = ", ".join(str(page + 1) for page in pages[:20])
    return shown if len(pages) <= 20 else f"{shown} and {len(pages) - 20} more"
