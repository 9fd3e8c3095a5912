"""Tables and sections of the report page. Cells are HTML, escaped by whoever makes them."""

from collections.abc import Iterable, Sequence
from html import escape

# In a cell without a value.
NONE = "-"


def section(title: str, body: str) -> str:
    """A heading and what is under it; nothing for nothing."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>" if body else ""


def table(caption: str, head: Sequence[str], rows: Iterable[str], text: int = 1) -> str:
    """A table under its caption. `text` columns from the left hold words, the others numbers."""
    cells = "".join(
        f'<th scope="col"{" class=text" if number < text else ""}>{escape(name)}</th>'
        for number, name in enumerate(head)
    )
    return (
        f'<p class="soft">{escape(caption)}</p>'
        f'<div class="scroll" tabindex="0"><table aria-label="{escape(caption)}">'
        f"<thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def row(cells: Iterable[str], kind: str = "") -> str:
    """One row, of class `kind`."""
    return f"<tr{f' class={kind}' if kind else ''}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def number(value: float | None, digits: int = 3) -> str:
    """A number as every table shows it."""
    return NONE if value is None else f"{value:.{digits}f}"
