"""Tables written as lines."""

from services.text.tables import Cell, Grid, Table


def grid(rows: list[str], head_rows: int = 1, head_columns: int = 1) -> Grid:
    """A table of lines "a | b | c"; "name >3" spans three columns."""
    cells, lines, at = [], [], 0
    for number, line in enumerate(rows):
        column, written = 0, []
        for each in line.split("|"):
            text, _, wide = each.strip().partition(" >")
            written.append(text)
            start = at + len(" | ".join(written)) - len(text)
            span = int(wide or 1)
            cells.append(Cell(number, column, start, start + len(text), column_span=span))
            column += span
        lines.append(" | ".join(written))
        at += len(lines[-1]) + 1
    text = "\n".join(lines)
    return Grid(Table(0, len(text), head_rows, head_columns, tuple(cells)), text)
