"""Writes a source as HTML, Markdown or plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from html import escape
from itertools import groupby

import yaml

from .source import Block, Source


def set_html(source: Source) -> bytes:
    """A small HTML page; ``comment`` directives become HTML comments, ``image`` an ``alt``."""
    parts = []
    for bullets, run in groupby(source.blocks, key=lambda b: b.kind == "item" and b.marker == "-"):
        lines = [_html(block) for block in run]
        parts += ["<ul>", *lines, "</ul>"] if bullets else lines
    body = "\n".join(parts)
    language = source.about.get("language", "en")
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(source.title)}</title>\n"
        f'<meta name="date" content="{source.published_on}">\n</head>\n'
        f"<body>\n{body}\n</body>\n</html>\n"
    ).encode()


def set_markdown(source: Source) -> bytes:
    """The body as it stands, under its own front matter (title and date only)."""
    front = yaml.safe_dump({"title": source.title, "date": source.published_on}, allow_unicode=True)
    return ("---\n" + front + "---\n" + source.body.rstrip("\n") + "\n").encode()


def set_text(source: Source) -> bytes:
    """Plain text of 78 columns, one form feed at each ``page`` directive."""
    return ("\n\n".join(_text(source.blocks)).replace("\n\n\f\n\n", "\n\f") + "\n").encode()


def _html(block: Block) -> str:
    text = escape(block.text, quote=False)
    match block.kind:
        case "heading":
            return f"<h{block.level}>{text}</h{block.level}>"
        case "paragraph":
            return f"<p>{text}</p>"
        case "item":
            return f"<li>{text}</li>" if block.marker == "-" else f"<p>{block.marker} {text}</p>"
        case "note":
            return f"<blockquote>{text}</blockquote>"
        case "table":
            head, *rows = block.rows
            return "\n".join(
                ["<table>", _row(head, "th"), *(_row(r, "td") for r in rows), "</table>"]
            )
        case "directive" if block.marker == "comment":
            return f"<!-- {block.text} -->"
        case "directive" if block.marker == "image":
            return f'<img src="figure.png" alt="{escape(block.text)}">'
        case _:
            return ""


def _row(cells: Iterable[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _text(blocks: Iterable[Block]) -> Iterable[str]:
    for block in blocks:
        match block.kind:
            case "heading":
                rule = {1: "=", 2: "-", 3: "."}[block.level]
                yield f"{block.text}\n{rule * len(block.text)}"
            case "item":
                yield textwrap.fill(f"{block.marker} {block.text}", 78, subsequent_indent="  ")
            case "table":
                widths = [max(map(len, column)) for column in zip(*block.rows, strict=True)]
                yield "\n".join(
                    "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
                    for row in block.rows
                )
            case "directive":
                if block.marker == "page":
                    yield "\f"
            case _:
                yield textwrap.fill(block.text, 78)
