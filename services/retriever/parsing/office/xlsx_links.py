"""Where the links of a sheet's cells lead: their addresses follow the words of the cells."""

import re
from collections.abc import Mapping
from dataclasses import replace

from services.retriever.parsing.html.links import address, says_more
from services.retriever.parsing.office.grid import SheetCell

_FORMULA = re.compile(r'\s*HYPERLINK\(\s*"([^"]+)"\s*[,;)]', re.IGNORECASE)
_MAX_LINKED = 1_000
"""Cells that one link is spread over."""


def of_formula(formula: str) -> str:
    """The address that a formula leads to, if it names one; else ""."""
    found = _FORMULA.match(formula)
    return found[1] if found else ""


def linked(text: str, figure: bool, target: str) -> str:
    """A cell's text with the address that it leads to. Figures stay alone: they are what a table is asked for."""
    found = "" if figure or not text.strip() else address(target)
    return f"{text.rstrip()} ({found})" if found and says_more(found, text) else text


def link_cells(
    rows: Mapping[int, dict[int, SheetCell]],
    first: tuple[int, int],
    last: tuple[int, int],
    target: str,
) -> None:
    """Gives the cells from the first to the last place (row, column) an address."""
    count = 0
    for row in range(first[0], min(last[0], first[0] + _MAX_LINKED) + 1):
        cells = rows.get(row, {})
        for column in [one for one in cells if first[1] <= one <= last[1]]:
            count += 1
            if count > _MAX_LINKED:
                return
            cell = cells[column]
            cells[column] = replace(cell, text=linked(cell.text, cell.figure, target))
