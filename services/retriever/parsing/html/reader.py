"""An HTML file as a document."""

import re

from folio.formats import MediaType
from services.retriever.documents import ParsedDocument
from services.retriever.parsing.encodings import decode
from services.retriever.parsing.html.tree import parsed
from services.retriever.parsing.html.write import write
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.parser import DEFAULT_LIMITS, NO_HINTS, Hints, Progress, unseen
from services.retriever.parsing.text import clean_line
from services.retriever.parsing.writer import TextWriter

_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)


def parse(
    data: bytes,
    hints: Hints = NO_HINTS,
    limits: ParseLimits = DEFAULT_LIMITS,
    progress: Progress = unseen,
) -> ParsedDocument:
    """One page labelled "1". Titles: the sender's, <title>, the first heading, the file's name.

    Raises InvalidArgument for a page that is nested too deeply to read in a time that grows with its length.
    """
    found_charset = _CHARSET.search(data[:2048])
    charset = found_charset[1].decode("ascii").lower() if found_charset else ""
    # Where "charset" can be read in single bytes, they are not UTF-16 or UTF-32, whatever it says.
    if charset.startswith(("utf-16", "utf-32")):
        charset = ""
    raw, warnings = decode(data, charset, named=hints.charset)
    tree = parsed(raw)
    writer = TextWriter()
    seen = write(tree, writer)
    named = tree.css_first("head > title")
    return writer.finish(
        MediaType.HTML,
        titles=[clean_line(named.text()) if named else ""],
        hints=hints,
        warnings=[*warnings, *seen.warnings()],
    )
