"""What a sentence takes from tables, each value with what it is the value of."""

import re
from collections.abc import Iterator, Sequence

from folio.gateway.v1 import gateway_pb2
from services.gateway.grounding.check import CheckedSentence, Quote
from services.gateway.grounding.quotes import SourceText, Span
from services.gateway.grounding.text import neutralise
from services.text.tables import Cell, Grid

# A sentence of more values than this shows rows, not values.
MAX_VALUES = 12


def table_values(
    sentence: CheckedSentence, texts: Sequence[SourceText], *, rows: bool
) -> list[gateway_pb2.TableValue]:
    """In the order of the sentence's quotes; with `rows`, each with the whole row that it stands in."""
    found: list[gateway_pb2.TableValue] = []
    seen: set[tuple[int, Cell]] = set()
    for position, quote in enumerate(sentence.quotes):
        for grid in texts[quote.source].grids:
            others = [other.span for other in sentence.quotes if other.source == quote.source]
            for cell, row in _values(sentence.text, quote, grid, others):
                if (quote.source, cell) not in seen:
                    seen.add((quote.source, cell))
                    found.append(_value(grid, cell, row, position, others, rows=rows))
    return found if len(found) <= MAX_VALUES else []


def _values(
    sentence: str, quote: Quote, grid: Grid, spans: Sequence[Span]
) -> Iterator[tuple[Cell, int]]:
    """The values that a quote is the proof of, and the row of each."""
    if quote.span.end <= grid.table.char_start or grid.table.char_end <= quote.span.start:
        return
    for row in grid.rows:
        for cell in grid.values(row):
            if cell.row != row or not _touch(quote.span, cell):
                continue
            alone = cell.char_start <= quote.span.start and quote.span.end <= cell.char_end
            if _is_value(grid, cell, spans) if alone else _said(grid.say(cell), sentence):
                yield cell, row


def _is_value(grid: Grid, cell: Cell, spans: Sequence[Span]) -> bool:
    """Whether a quoted cell is what is told, not what tells the row: then a head of it is quoted too, if any is."""
    quoted = [head for head in grid.heads if any(_touch(span, head) for span in spans)]
    heads = grid.column_heads(cell)
    return not heads or not quoted or any(head in quoted for head in heads)


def _touch(span: Span, cell: Cell) -> bool:
    return span.start < cell.char_end and cell.char_start < span.end


def _said(value: str, sentence: str) -> bool:
    pattern = r"\s+".join(map(re.escape, value.split()))
    return re.search(rf"(?<![^\W_]){pattern}(?![^\W_])", sentence, re.IGNORECASE) is not None


def _value(
    grid: Grid, cell: Cell, row: int, position: int, spans: Sequence[Span], *, rows: bool
) -> gateway_pb2.TableValue:
    names = [head for head in grid.row_heads(row) if head is not cell]
    names += [
        other
        for other in grid.values(row)
        if other is not cell
        and any(other.char_start <= span.start and span.end <= other.char_end for span in spans)
        and not _is_value(grid, other, spans)
    ]
    return gateway_pb2.TableValue(
        row_heads=[_shown(grid, name) for name in names],
        column_heads=[_shown(grid, head) for head in grid.column_heads(cell)],
        value=_shown(grid, cell),
        unit=_line(grid, grid.unit_of(cell)),
        caption=_line(grid, grid.table.caption),
        address=cell.address,
        citation=position,
        row=[
            gateway_pb2.RowCell(
                column_heads=[_shown(grid, head) for head in grid.column_heads(each)],
                text=_shown(grid, each),
                is_value=each is cell,
            )
            for each in grid.row(row)
        ]
        if rows
        else (),
    )


def _shown(grid: Grid, cell: Cell) -> str:
    return neutralise(grid.say(cell))


def _line(grid: Grid, place: tuple[int, int] | None) -> str:
    return neutralise(" ".join(grid.text[place[0] : place[1]].split())) if place else ""
