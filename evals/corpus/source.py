"""The sources of the sample documents: a small Markdown dialect with YAML front matter.

A source is read into blocks that the PDF, HTML, Markdown and text writers share. Directives are
HTML comments on a line of their own; README.md lists them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal

import yaml

Format = Literal["pdf", "md", "html", "txt"]
Labels = Literal["none", "decimal", "roman-front"]
Kind = Literal["heading", "paragraph", "item", "note", "table", "directive"]

_DIRECTIVE = re.compile(r"^<!--\s*(?P<name>[a-z-]+)\s*(?P<argument>.*?)\s*-->$", re.DOTALL)
_HEADING = re.compile(r"^(#{1,3})\s+(.+)$")
_ITEM = re.compile(r"^(-|\d+\.)\s+(.+)$", re.DOTALL)
_RULE = re.compile(r"^\|?[\s:|-]+\|[\s:|-]*$")


class SourceError(ValueError):
    """A source that cannot be set; the message names the file and what is wrong."""


@dataclass(frozen=True)
class Block:
    """One piece of a page.

    ``level`` is 1 to 3 for headings; ``marker`` is the bullet or number of a list item, or the
    name of a directive; ``rows`` holds a table, its header first.
    """

    kind: Kind
    text: str = ""
    level: int = 0
    marker: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Source:
    """A parsed source and where it came from."""

    path: Path
    organization: str
    collection: str
    kind: str
    title: str
    published_on: date
    body: str
    format: Format = "pdf"
    labels: Labels = "decimal"
    page: Literal["A4", "A5"] = "A5"
    hyphenate: bool = False
    chapters: Literal["break", "flow"] = "break"
    subject: str = ""
    about: dict[str, str] = field(default_factory=dict)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(parse_blocks(self.body, self.path.parent))

    @property
    def file(self) -> str:
        """The name of the built document; ``about.file`` overrides it (hostile file names)."""
        return self.about.get("file", f"{self.path.stem}.{self.format}")


def read_source(path: Path) -> Source:
    """Read one source.

    Raises:
        SourceError: the front matter is missing, is not a mapping, or has an unknown key.
    """
    text = path.read_text(encoding="utf-8")
    parts = text.split("---\n", 2)
    if len(parts) != 3 or parts[0]:
        raise SourceError(f"{path}: expected YAML front matter between two lines of ---")
    front = yaml.safe_load(parts[1])
    if not isinstance(front, dict):
        raise SourceError(f"{path}: the front matter must be a mapping")
    try:
        return Source(path=path, body=parts[2], **front)
    except TypeError as error:
        raise SourceError(f"{path}: {error}") from error


def parse_blocks(body: str, folder: Path) -> list[Block]:
    """Split a body into blocks; ``sheets`` directives are filled from YAML files in ``folder``."""
    blocks: list[Block] = []
    for piece in re.split(r"\n\s*\n", body.strip()):
        directive = _DIRECTIVE.match(piece)
        if directive and directive["name"] == "sheets":
            blocks += parse_blocks(_fill_sheets(folder / directive["argument"]), folder)
        elif directive:
            blocks.append(
                Block("directive", _unwrap(directive["argument"]), marker=directive["name"])
            )
        else:
            blocks += _parse_piece(piece)
    return blocks


def _parse_piece(piece: str) -> list[Block]:
    lines = piece.splitlines()
    heading = _HEADING.match(lines[0])
    if heading:
        rest = "\n".join(lines[1:])
        first = Block("heading", heading[2].strip(), level=len(heading[1]))
        return [first, *(_parse_piece(rest) if rest.strip() else [])]
    if lines[0].startswith("|"):
        cells = [
            tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
            for line in lines
            if not _RULE.match(line)
        ]
        return [Block("table", rows=tuple(cells))]
    if lines[0].startswith("> "):
        return [Block("note", _unwrap("\n".join(line.removeprefix("> ") for line in lines)))]
    if _ITEM.match(lines[0]):
        items = re.split(r"\n(?=(?:-|\d+\.)\s)", piece)
        found = [_ITEM.match(item) for item in items]
        return [Block("item", _unwrap(m[2]), marker=m[1]) for m in found if m]
    return [Block("paragraph", _unwrap(piece))]


def _unwrap(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines())


def _fill_sheets(path: Path) -> str:
    """Fill a template once per row, as a mail merge does: ``{template, rows: [{field: value}]}``."""
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    template: str = data["template"]
    try:
        return "\n\n".join(template.format_map(row) for row in data["rows"])
    except KeyError as error:
        raise SourceError(f"{path}: a row lacks the field {error} of the template") from error
