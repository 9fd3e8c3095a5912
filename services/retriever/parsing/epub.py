"""EPUB books to text: a page for each part of the book, in reading order, named as its table of contents does."""

import posixpath
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from lxml import etree

from folio.formats import MediaType
from services.retriever.documents import ParsedDocument
from services.retriever.parsing import encodings, html
from services.retriever.parsing.archive import Archive, broken
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.parser import DEFAULT_LIMITS, NO_HINTS, Hints, Progress, unseen
from services.retriever.parsing.text import clean_line
from services.retriever.parsing.writer import TextWriter
from services.rpc.errors import FailedPrecondition

_CALLED = MediaType.EPUB.called
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = frozenset(
    ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document")
)
_LABEL_CHARS = 100


def parse(
    data: bytes,
    hints: Hints = NO_HINTS,
    limits: ParseLimits = DEFAULT_LIMITS,
    progress: Progress = unseen,
) -> ParsedDocument:
    """Titles: the sender's, the book's, its first heading, the file's name.

    Raises FailedPrecondition (UNSUPPORTED_ENCRYPTION) for a book that a shop has locked.
    """
    archive = Archive(data, _CALLED)
    package = _package_name(archive)
    book = _tree(archive.read(package))
    manifest = {
        _get(item, "id"): (_path(package, _get(item, "href")), item) for item in _all(book, "item")
    }
    locked = _locked(archive)
    labels = _labels(archive, book, manifest)
    writer = TextWriter()
    warnings: dict[str, int] = {}
    missing = 0
    label = ""
    for index, reference in enumerate(_all(book, "itemref")):
        path, item = manifest.get(_get(reference, "idref"), ("", None))
        if item is None or _get(item, "media-type") not in _PAGES:
            continue
        if "nav" in _get(item, "properties").split():
            continue  # The table of contents.
        progress(index)
        if path not in archive:
            missing += 1
            continue
        if path in locked:
            raise FailedPrecondition(
                "the book is locked with digital rights management: only an unlocked copy can be read",
                reason="UNSUPPORTED_ENCRYPTION",
            )
        # A chapter that is cut into several files is named at its first.
        label = clean_line(labels.get(path, label), _LABEL_CHARS)
        writer.page(label)
        seen = html.write(_markup(archive.read(path)), writer)
        for warning in seen.warnings():
            name, _, count = warning.rpartition(": ")
            warnings[name] = warnings.get(name, 0) + int(count)
    told = [f"{name}: {count}" for name, count in warnings.items()]
    if missing:
        told.append(f"parts that the book lists and does not hold: {missing}")
    titles = [clean_line("".join(title.itertext())) for title in _all(book, "title")]
    return writer.finish(MediaType.EPUB, titles, hints, told)


def _tree(content: bytes) -> etree._Element:
    """Without entities and without what a document type leads to: tables of contents have one."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, recover=True, remove_comments=True
    )
    try:
        tree = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise broken(_CALLED) from None
    if tree is None:
        raise broken(_CALLED)
    return tree


def _markup(content: bytes) -> str:
    """A chapter's text: XML is UTF-8 where it does not say otherwise."""
    declared = content[:200].partition(b'encoding="')[2].partition(b'"')[0]
    charset = declared.decode("ascii", "replace") if content.startswith(b"<?xml") else ""
    return encodings.decode(content, charset)[0]


def _all(tree: etree._Element, name: str) -> Iterator[etree._Element]:
    """The elements of that name, whatever their namespace: old books have none."""
    for element in tree.iter():
        if isinstance(element.tag, str) and element.tag.rpartition("}")[2] == name:
            yield element


def _get(element: etree._Element, name: str) -> str:
    return str(element.get(name) or "")


def _path(base: str, reference: str) -> str:
    """The name of the entry that a reference in `base` leads to. It is looked up, never opened."""
    path = unquote(reference.partition("#")[0])
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(base), path)).lstrip("/")


def _package_name(archive: Archive) -> str:
    for rootfile in _all(_tree(archive.read(_CONTAINER)), "rootfile"):
        path = _path("", _get(rootfile, "full-path"))
        if path in archive:
            return path
    raise broken(_CALLED)


def _locked(archive: Archive) -> frozenset[str]:
    """The entries that are encrypted; fonts often are, and nothing else need be."""
    if _ENCRYPTION not in archive:
        return frozenset()
    references = _all(_tree(archive.read(_ENCRYPTION)), "CipherReference")
    return frozenset(_path("", _get(one, "URI")) for one in references)


def _labels(
    archive: Archive, book: etree._Element, manifest: Mapping[str, tuple[str, etree._Element]]
) -> dict[str, str]:
    """What the table of contents calls each part: of version 3, else of version 2. The first entry of a part counts."""
    found: dict[str, str] = {}
    nav = [path for path, item in manifest.values() if "nav" in _get(item, "properties").split()]
    for path in nav:
        if path not in archive:
            continue
        for link in _all(_tree(archive.read(path)), "a"):
            name = clean_line("".join(link.itertext()))
            # Lists of pages and of pictures follow, which name parts by numbers.
            if name and not name.isdigit():
                found.setdefault(_path(path, _get(link, "href")), name)
    if found:
        return found
    for path, item in manifest.values():
        if _get(item, "media-type") != "application/x-dtbncx+xml" or path not in archive:
            continue
        for point in _all(_tree(archive.read(path)), "navPoint"):
            name = next((clean_line("".join(one.itertext())) for one in _all(point, "text")), "")
            content = next(_all(point, "content"), None)
            if name and content is not None:
                found.setdefault(_path(path, _get(content, "src")), name)
    return found
