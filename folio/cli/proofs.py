"""Where an answer is from, as a person reads it: its quotes with their places, and rows of tables."""

from collections.abc import Sequence
from pathlib import PurePath

from rich.table import Table
from rich.text import Text

from folio.common.v1 import document_pb2
from folio.formats import DRAWN, SUFFIXES
from folio.gateway.v1 import gateway_pb2

# What a page is called before its label.
_CALLED = {
    document_pb2.PAGE_KIND_SLIDE: "slide",
    document_pb2.PAGE_KIND_SHEET: "sheet",
    document_pb2.PAGE_KIND_CHAPTER: "chapter",
    document_pb2.PAGE_KIND_ROWS: "rows",
    document_pb2.PAGE_KIND_MESSAGE: "message",
}
# What a unit may say in plural and a sentence in singular.
_SCALES = ("thousand", "million", "billion", "trillion")


def plain(text: str) -> str:
    """Text of a document made safe for a terminal: no control characters, so no escape sequences."""
    return "".join(
        character if character in "\n\t" or character.isprintable() else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )


def place(
    kind: "document_pb2.PageKind.ValueType",
    label: str,
    *,
    last: str = "",
    cells: str = "",
    heading: str = "",
) -> str:
    """ "p. 2 to 3", "sheet Prices, B12"; the heading where the file has no pages, which may be nothing."""
    if kind == document_pb2.PAGE_KIND_NONE:
        said = f"“{heading}”" if heading else ""
    else:
        said = f"{_CALLED.get(kind, 'p.')} {label}{f' to {last}' if last else ''}"
    return plain(", ".join(filter(None, [said, cells])))


def of_chunk(chunk: document_pb2.Chunk) -> str:
    """Where a chunk begins."""
    heading = chunk.section_path[-1] if chunk.section_path else ""
    return place(chunk.page_kind, chunk.page_label, heading=heading)


def of_document(title: str, file_name: str) -> Text:
    """A document by its title and, since others may have the same, its file below the folder that was ingested."""
    text = Text(plain(title or file_name))
    if title and file_name:
        text.append(f"\n{plain(file_name)}", style="dim")
    return text


def of_citations(citations: Sequence[gateway_pb2.Citation]) -> str:
    """Where quotes of one page stand: all their cells."""
    first = citations[0]
    cells = ", ".join(dict.fromkeys(each.cells for each in citations if each.cells))
    last = max((each.page_end_label for each in citations), default="")
    return place(first.page_kind, first.page_label, last=last, cells=cells, heading=first.heading)


def grouped(sentence: gateway_pb2.Sentence) -> list[list[gateway_pb2.Citation]]:
    """The citations of a sentence, one proof each; the cells that a value is read from are one proof together."""
    if not sentence.table_values:
        return [[citation] for citation in sentence.citations]
    found: dict[tuple[int, int], list[gateway_pb2.Citation]] = {}
    for citation in sentence.citations:
        found.setdefault((citation.document_id, citation.page), []).append(citation)
    return list(found.values())


def proof(citations: Sequence[gateway_pb2.Citation]) -> Text:
    """The document, the place, and what stands there."""
    first = citations[0]
    text = Text()
    text.append(plain(first.title or first.file_name), style="bold")
    where = of_citations(citations)
    if where and where != f"“{plain(first.title)}”":
        text.append(f", {where}")
    text.append(f"   {plain(first.link)}", style="dim")
    if SUFFIXES.get(PurePath(first.file_name).suffix.lower()) in DRAWN and not all(
        each.located for each in citations
    ):
        text.append("   (not located on the page)", style="yellow")
    if any(each.uncertain for each in citations):
        text.append("   (hard to read in the scan: compare it with the page)", style="yellow")
    quotes = (f"“{' '.join(plain(each.quote).split())}”" for each in citations)
    text.append(f"\n{' · '.join(quotes)}", style="italic")
    return text


def units(sentence: gateway_pb2.Sentence) -> str:
    """The units of a sentence's values that it does not say itself: "in millions"."""
    said = " ".join(sentence.text.split()).casefold()
    found = dict.fromkeys(_unit(value) for value in sentence.table_values)
    return "; ".join(
        unit
        for unit in found
        # "14,215 million" has said that it is in millions.
        if unit.casefold() not in said
        and not any(scale in said for scale in _SCALES if scale in unit.casefold())
    )


def _unit(value: gateway_pb2.TableValue) -> str:
    return " ".join(plain(value.unit).split()).strip("() ")


def rows(values: Sequence[gateway_pb2.TableValue]) -> list[Table]:
    """The rows that values are read from, each once: a cell a line, so that any terminal is wide enough.

    Above them what the table is called, below them the unit that it gives all its figures.
    """
    found: dict[tuple[str, ...], set[int]] = {}
    for value in values:
        told = {at for at, cell in enumerate(value.row) if cell.is_value}
        found.setdefault(tuple(cell.text for cell in value.row), set()).update(told)
    first = {tuple(cell.text for cell in value.row): value for value in reversed(values)}
    tables = []
    for texts, told in found.items():
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim")
        table.add_column()
        if caption := first[texts].caption:
            table.title = Text(plain(caption), style="dim")
            table.title_justify = "left"
        for at, cell in enumerate(first[texts].row):
            head = ", ".join(plain(head) for head in cell.column_heads)
            table.add_row(Text(head), Text(plain(cell.text), style="bold" if at in told else ""))
        if unit := _unit(first[texts]):
            table.add_row(Text("Unit"), Text(unit))
        if texts:
            tables.append(table)
    return tables
