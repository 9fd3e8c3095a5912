"""What makes a PDF readable that pdfium does not open and other readers do, by qpdf (pikepdf).

It finds the objects of a file without a usable table of them, opens files whose owner password is empty, and rebuilds
a tree of pages that leads into itself. Only pages that the tree names come back: a page that was deleted stays so.
"""

import io
import re
import zlib
from collections.abc import Iterator

import brotli
import pikepdf

_CATALOG = re.compile(rb"/Type\s{0,8}/Catalog\b")
_OBJECT = re.compile(rb"(\d{1,10})\s{1,8}(\d{1,5})\s{1,8}obj\b")
_END = b"%%EOF"
_ENCRYPT = b"/Encrypt"
BROTLI = b"/BrotliDecode"
_STREAM = re.compile(rb"(?<=>>)\s{0,4}stream\r?\n")
_LENGTH = re.compile(rb"/Length\s+(\d+)(\s+\d+\s+R)?")
_INHERITED = ("/MediaBox", "/CropBox", "/Resources", "/Rotate")
_MAX_INFLATED = 256 * 2**20
_MAX_DICTIONARY = 4_000
_MAX_CATALOGUES = 100
_MAX_PAGES = 50_000
_MAX_DEPTH = 50


def attempts(data: bytes, password: str) -> Iterator[bytes]:
    """The file written anew without encryption, in the ways that may help, the likely one first.

    A file that stays locked gives none.
    """
    written = _rewritten(data, password)
    if written:
        yield written
    # Without its trailer an encrypted file would be read as if it were not.
    elif _ENCRYPT not in data and (rooted := _with_root(data)):
        written = _rewritten(rooted, password)
        if written:
            yield written


def _rewritten(data: bytes, password: str) -> bytes:
    if not data[-64:].rstrip().endswith(_END):
        # qpdf takes an object that ends with the file for none.
        data += b"\n" + _END + b"\n"
    for candidate in dict.fromkeys(("", password)):
        try:
            with pikepdf.open(
                io.BytesIO(data), password=candidate, inherit_page_attributes=False
            ) as pdf:
                _mend_pages(pdf)
                file = io.BytesIO()
                pdf.save(file, encryption=False)
                return file.getvalue()
        except pikepdf.PasswordError:
            continue
        except (pikepdf.PdfError, ValueError, TypeError, KeyError, AttributeError, RuntimeError):
            return b""
    return b""


def _mend_pages(pdf: pikepdf.Pdf) -> None:
    """Makes the tree of pages flat where qpdf cannot walk it. Branches that lead back into the tree, or nowhere, become
    as many blank pages as they say that they hold, so that the others keep their numbers."""
    try:
        len(pdf.pages)
        return
    except pikepdf.PdfError:
        found = _Leaves(pdf)
        found.walk(pdf.Root.Pages, {}, 0)
    tree = pdf.make_indirect(
        pikepdf.Dictionary(
            Type=pikepdf.Name.Pages, Kids=pikepdf.Array(found.pages), Count=len(found.pages)
        )
    )
    for page in found.pages:
        page.Parent = tree
    pdf.Root.Pages = tree


class _Leaves:
    """The pages below a node, each with the attributes that it inherits."""

    def __init__(self, pdf: pikepdf.Pdf) -> None:
        self._pdf = pdf
        self._seen: set[tuple[int, int]] = set()
        self.pages: list[pikepdf.Object] = []

    def walk(self, node: pikepdf.Object, inherited: dict[str, pikepdf.Object], depth: int) -> bool:
        """False for a node that was met before, or is none."""
        if (
            not isinstance(node, pikepdf.Dictionary)
            or depth > _MAX_DEPTH
            or node.objgen in self._seen
        ):
            return False
        self._seen.add(node.objgen)
        inherited = inherited | {name: node[name] for name in _INHERITED if name in node}
        if "/Kids" not in node:
            if len(self.pages) >= _MAX_PAGES:
                raise ValueError("too many pages")
            for name, value in inherited.items():
                node[name] = value
            self.pages.append(node)
            return True
        before, blank_at = len(self.pages), None
        for kid in node.Kids:
            at = len(self.pages)
            if not self.walk(kid, inherited, depth + 1) and blank_at is None:
                blank_at = at
        missing = int(node.get("/Count", 0)) - (len(self.pages) - before)
        if blank_at is not None and 0 < missing <= _MAX_PAGES - len(self.pages):
            self.pages[blank_at:blank_at] = [self._blank() for _ in range(missing)]
        return True

    def _blank(self) -> pikepdf.Object:
        box = pikepdf.Array([0, 0, 612, 792])
        return self._pdf.make_indirect(pikepdf.Dictionary(Type=pikepdf.Name.Page, MediaBox=box))


def _with_root(data: bytes) -> bytes:
    """With a trailer, for a file that lost its own: the last catalogue is the document's."""
    for found in reversed(list(_CATALOG.finditer(data))[-_MAX_CATALOGUES:]):
        objects = list(
            _OBJECT.finditer(data, max(0, found.start() - _MAX_DICTIONARY), found.start())
        )
        if objects:
            root = objects[-1][1] + b" " + objects[-1][2]
            return data + b"\ntrailer\n<< /Root " + root + b" R >>\nstartxref\n0\n%%EOF\n"
    return b""


def without_brotli(data: bytes) -> bytes:
    """Every stream that is Brotli alone (ISO/TS 32003, a draft) as Deflate, which pdfium knows; predictors stay.

    The table of objects is wrong then, and is built anew by whoever opens the file.
    """
    parts: list[bytes] = []
    done, left = 0, _MAX_INFLATED
    for found in _STREAM.finditer(data):
        if found.start() < done:
            continue
        head_at = max(done, found.start() - _MAX_DICTIONARY)
        objects = list(_OBJECT.finditer(data, head_at, found.start()))
        if not objects:
            continue
        head = data[objects[-1].end() : found.start()]
        end = data.find(b"endstream", found.end())
        if BROTLI not in head or end < 0:
            continue
        length = _LENGTH.search(head)
        if length and length[1] and not length[2] and found.end() + int(length[1]) <= len(data):
            end = found.end() + int(length[1])
        try:
            plain = brotli.Decompressor().process(data[found.end() : end], output_buffer_limit=left)
        except brotli.error:
            continue
        left -= len(plain)
        packed = zlib.compress(plain, 1)
        head = _LENGTH.sub(b"", head, count=1).replace(BROTLI, b"/FlateDecode")
        head = head[: head.rindex(b">>")] + b" /Length %d >>" % len(packed)
        parts += (data[done : objects[-1].end()], head, b"\nstream\n", packed, b"\n")
        done = end
        if left <= 0:
            break
    parts.append(data[done:])
    return b"".join(parts)
