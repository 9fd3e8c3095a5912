"""Comma- and tab-separated values to text: one page, a table of it where its rows have the same columns.

There is no standard to rely on: what separates the values, and whether the first row names them, is told from the rows.
"""

import csv
import io
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from folio.formats import MediaType
from services.retriever.documents import ParsedDocument
from services.retriever.parsing import encodings
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.office import grid
from services.retriever.parsing.parser import DEFAULT_LIMITS, NO_HINTS, Hints, Progress, unseen
from services.retriever.parsing.writer import TextWriter

MAX_CELLS = 200_000
"""Values that are read of one file."""
_SEPARATORS = ",;\t|"
_SAMPLE_CHARS = 65_536
_SAMPLE_ROWS = 200
_VALUE_CHARS = 1_000_000
_TELL_EVERY = 1_000  # Rows.


def parse(
    data: bytes,
    hints: Hints = NO_HINTS,
    limits: ParseLimits = DEFAULT_LIMITS,
    progress: Progress = unseen,
) -> ParsedDocument:
    """One page labelled "1"; cells have the names that a spreadsheet program gives them ("B12"). Titles: the sender's,
    the file's name."""
    progress(0)
    raw, warnings = encodings.decode(data, named=hints.charset)
    raw = raw.replace("\0", "")
    named, separator, body = _separator(raw)
    writer = TextWriter()
    rows = None
    # A quote inside a value is doubled, or, in what databases write, has a backslash.
    for escape in (None, "\\"):
        with suppress(csv.Error):
            rows, cut = _read(body, separator, escape, named, progress)
            warnings += cut
            break
    if rows is None:
        warnings += ("the quotes around values do not match: read as lines of text",)
        writer.text(body)
    else:
        grid.write(writer, rows, partial(progress, 0))
        progress(0)
    return writer.finish(
        MediaType.TSV if separator == "\t" else MediaType.CSV, [hints.stem], hints, warnings
    )


def _read(
    text: str, separator: str, escape: str | None, before: int, progress: Progress
) -> tuple[list[grid.Row], tuple[str, ...]]:
    """The rows, and a warning if they are not all. Raises csv.Error where quotes do not match."""
    rows: list[grid.Row] = []
    cells = 0
    csv.field_size_limit(_VALUE_CHARS)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=separator,
        escapechar=escape,
        doublequote=escape is None,
        strict=True,
    )
    for values in reader:
        cells += len(values)
        if cells > MAX_CELLS:
            return rows, (
                f"read up to row {len(rows) + before}: the file has more than {MAX_CELLS:,} values; split it",
            )
        rows.append(_row(values, len(rows) + 1 + before))
        if len(rows) % _TELL_EVERY == 0:
            progress(0)
    return rows, ()


def _row(values: list[str], number: int) -> Mapping[int, grid.SheetCell]:
    return {
        column: grid.SheetCell(
            text,
            grid.looks_like_figure(text),
            address=f"{grid.letters(column)}{number}",
            indent=len(value) - len(value.lstrip()),
        )
        for column, value in enumerate(values, start=1)
        if (text := " ".join(value.split()))
    }


def _separator(raw: str) -> tuple[int, str, str]:
    """How many lines say what separates the values, what does, and the text without those lines.

    Excel writes "sep=;" on a line of its own. Else it is what gives most rows the same number of values.
    """
    first, _, rest = raw.partition("\n")
    if first.strip().lower().startswith("sep=") and len(first.strip()) == 5:
        return 1, first.strip()[4], rest
    sample = raw[:_SAMPLE_CHARS]
    if len(sample) < len(raw):
        sample = sample[: sample.rfind("\n") + 1] or sample
    return 0, max(_SEPARATORS, key=lambda separator: _regular(sample, separator)), raw


def _regular(sample: str, separator: str) -> tuple[float, int]:
    """The share of rows with the most usual number of values, if that is more than one; and that number."""
    counts: Counter[int] = Counter()
    try:
        for index, values in enumerate(
            csv.reader(io.StringIO(sample, newline=""), delimiter=separator)
        ):
            if index >= _SAMPLE_ROWS:
                break
            if any(values):
                counts[len(values)] += 1
    except csv.Error:
        return 0.0, 0
    size, times = max(counts.items(), key=lambda item: (item[0] > 1, item[1]), default=(0, 0))
    return (times / counts.total(), size) if size > 1 else (0.0, 0)
