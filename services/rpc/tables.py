"""Tables as they cross the wire."""

from folio.common.v1 import table_pb2
from services.text.tables import Cell, Place, Table


def pack(table: Table) -> table_pb2.Table:
    """A table as a message."""
    return table_pb2.Table(
        char_start=table.char_start,
        char_end=table.char_end,
        head_rows=table.head_rows,
        head_columns=table.head_columns,
        cells=[
            table_pb2.TableCell(
                row=cell.row,
                column=cell.column,
                char_start=cell.char_start,
                char_end=cell.char_end,
                row_span=cell.row_span,
                column_span=cell.column_span,
                address=cell.address,
            )
            for cell in table.cells
        ],
        caption=_span(table.caption),
        unit=_span(table.unit),
    )


def unpack(message: table_pb2.Table, characters: int) -> Table:
    """A table in a text of so many characters; cells that reach beyond it are left out."""
    cells = tuple(
        Cell(
            cell.row,
            cell.column,
            cell.char_start,
            cell.char_end,
            max(1, cell.row_span),
            max(1, cell.column_span),
            cell.address,
        )
        for cell in message.cells
        if cell.char_start <= cell.char_end <= characters
    )
    return Table(
        message.char_start,
        min(message.char_end, characters),
        message.head_rows,
        message.head_columns,
        cells,
        _place(message.caption, characters) if message.HasField("caption") else None,
        _place(message.unit, characters) if message.HasField("unit") else None,
    )


def _span(place: Place | None) -> table_pb2.TextSpan | None:
    return table_pb2.TextSpan(char_start=place[0], char_end=place[1]) if place else None


def _place(span: table_pb2.TextSpan, characters: int) -> Place | None:
    inside = span.char_start < span.char_end <= characters
    return (span.char_start, span.char_end) if inside else None
