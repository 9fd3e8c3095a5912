"""What a file is, told from its bytes; its name and declared type only decide between kinds of text."""

import io
import re
import zipfile
from collections.abc import Sequence
from pathlib import PurePath

from folio.formats import PICTURES, SUFFIXES, MediaType
from services.retriever.parsing import encodings
from services.rpc.errors import FailedPrecondition, InvalidArgument

_READ = f"Folio reads {', '.join(kind.called for kind in MediaType)}"
_HEADER_BYTES = 1024  # A PDF may have this much in front of its header (ISO 32000-1, H.3, note 13).
_MAX_PREFIX = 2**20
_TAIL_BYTES = 2048

_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", MediaType.PNG),
    (b"\xff\xd8\xff", MediaType.JPEG),
    (b"II*\x00", MediaType.TIFF),
    (b"MM\x00*", MediaType.TIFF),
    (b"II+\x00", MediaType.TIFF),
    (b"MM\x00+", MediaType.TIFF),
)
_MAGIC = (
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"{\\rtf", "an RTF document"),
    (b"%!PS", "a PostScript file"),
    (b"\x7fELF", "a program (ELF)"),
    (b"MZ\x90\x00", "a program (Windows)"),
    (b"\xca\xfe\xba\xbe", "a program (Java or Mach-O)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"OggS", "an Ogg file"),
    (b"ID3", "an MP3 file"),
    (b"\x00asm", "a WebAssembly module"),
)
_ZIP = b"PK\x03\x04"
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# What a compound file (MS-CFB) is, by the name of an entry in it, which is in UTF-16.
_COMPOUNDS = (
    ("EncryptedPackage", ""),
    ("WordDocument", "an old Word document (doc): save it as docx"),
    ("PowerPoint Document", "an old PowerPoint file (ppt): save it as pptx"),
    ("Workbook", "an old Excel workbook (xls): save it as xlsx"),
    ("__substg1.0_", "an Outlook message (msg): save it as eml"),
)
_OFFICE = (
    ("word/", MediaType.DOCX),
    ("xl/", MediaType.XLSX),
    ("ppt/", MediaType.PPTX),
)
_CONTENT_TYPES = "[Content_Types].xml"
# The formats whose files begin with an entry that names them.
_MIMETYPES: Sequence[tuple[bytes, MediaType | str]] = (
    (b"application/epub+zip", MediaType.EPUB),
    (b"application/vnd.oasis.opendocument.text", "an OpenDocument text (odt): save it as docx"),
    (
        b"application/vnd.oasis.opendocument.spreadsheet",
        "an OpenDocument spreadsheet (ods): save it as xlsx",
    ),
    (
        b"application/vnd.oasis.opendocument.presentation",
        "an OpenDocument presentation (odp): save it as pptx",
    ),
    (b"application/vnd.oasis.opendocument", "an OpenDocument file"),
)
# Text that is not marked up: what begins as a web page is one.
_BARE = frozenset((MediaType.TEXT, MediaType.CSV, MediaType.TSV))
_ZIPPED = frozenset((MediaType.DOCX, MediaType.PPTX, MediaType.XLSX, MediaType.EPUB))
_HTML_STARTS = (b"<!doctype html", b"<html", b"<head", b"<body")
_UNICODE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f\x0b\x1b") + b"\x7f"
_MAX_CONTROLS = 0.1
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:+-]{1,40})", re.IGNORECASE)
_ZIP_LIST_BYTES = 2**18


def media_type(data: bytes, file_name: str = "", declared: str = "") -> MediaType:
    """The type of a file. Raises InvalidArgument for one that is not read, saying what it is and what is read."""
    if not data:
        raise InvalidArgument(f"the file is empty (0 bytes); {_READ}", reason="EMPTY_FILE")
    head = data[:_HEADER_BYTES]
    known = MediaType.PDF if pdf_header(head) >= 0 else _picture(data)
    if known is not None:
        return known
    hint = _hint(file_name, declared)
    if data.startswith(_ZIP):
        return _zipped(data, hint)
    kind = _compound_kind(data) if data.startswith(_COMPOUND) else _binary_kind(data)
    if kind:
        raise InvalidArgument(f"the file is {kind}; {_READ}", reason="UNSUPPORTED_TYPE")
    if pdf_header(data) >= 0:
        return MediaType.PDF
    if hint is MediaType.PDF:
        raise InvalidArgument(
            "the file is named a PDF, but holds no PDF header: it is of another type, or damaged",
            reason="NOT_A_PDF",
        )
    if hint in _ZIPPED:
        raise InvalidArgument(
            f"the file is named as {hint.called}, but its bytes are of another type, or damaged",
            reason="BROKEN_FILE",
        )
    wide = charset(declared).lower().startswith(("utf-16", "utf16", "utf-32", "utf32", "ucs"))
    if not wide and not head.startswith(_UNICODE_MARKS) and _looks_binary(data[: 2**20]):
        raise InvalidArgument(
            f"the file is binary data of an unknown type; {_READ}", reason="UNSUPPORTED_TYPE"
        )
    if hint in _BARE and head.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_HTML_STARTS):
        return MediaType.HTML
    return hint


def pdf_header(data: bytes) -> int:
    """Where the header of a PDF stands, -1 for another file. Further in than the standard allows, as some senders put
    their own lines in front, it counts only if the file also ends like a PDF."""
    at = data.find(b"%PDF-", 0, _HEADER_BYTES)
    if at < 0 and b"startxref" in data[-_TAIL_BYTES:]:
        at = data.find(b"%PDF-", 0, _MAX_PREFIX)
    return at


def is_picture(data: bytes) -> bool:
    """Whether the bytes are a picture that is read."""
    return pdf_header(data[:_HEADER_BYTES]) < 0 and _picture(data) is not None


def _picture(data: bytes) -> MediaType | None:
    return next((kind for magic, kind in _PICTURES if data.startswith(magic)), None)


def charset(declared: str) -> str:
    """The text encoding that a declared media type names: "koi8-r" of "text/plain; charset=koi8-r"."""
    found = _CHARSET.search(declared)
    return found[1] if found else ""


def _hint(file_name: str, declared: str) -> MediaType:
    named = SUFFIXES.get(PurePath(file_name).suffix.lower(), MediaType.TEXT)
    if named in PICTURES:
        return MediaType.TEXT  # Its bytes are none.
    # Any text may be called .txt: what its sender declares says more.
    if named is not MediaType.TEXT:
        return named
    plain = declared.partition(";")[0].strip().lower()
    return MediaType(plain) if plain in set(MediaType) - PICTURES else MediaType.TEXT


def _binary_kind(data: bytes) -> str:
    if data[:4] == b"RIFF":
        return "a WebP image" if data[8:12] == b"WEBP" else "an audio or video file (RIFF)"
    if data[4:8] == b"ftyp":
        return "a video, or an image of a phone (MP4, HEIC)"
    if data[:2] == b"BM" and data[6:10] == b"\x00\x00\x00\x00":
        return "a BMP image"
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), "")


def _compound_kind(data: bytes) -> str:
    for name, kind in _COMPOUNDS:
        if name.encode("utf-16-le") in data:
            if not kind:
                raise FailedPrecondition(
                    "the file is encrypted, as Office does it: save it without a password",
                    reason="UNSUPPORTED_ENCRYPTION",
                )
            return kind
    return "an old Microsoft Office file"


def _zipped(data: bytes, hint: MediaType) -> MediaType:
    # Only the list of names is read, which stands at the end; nothing is unpacked. A file may list millions of names,
    # and this runs in the service's own process: one with more than a few thousand is what its name says.
    try:
        names = zipfile.ZipFile(io.BytesIO(data[-_ZIP_LIST_BYTES:])).namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError):
        if hint in _ZIPPED:
            return hint  # Whose parser says what is wrong with it.
        kind = "a damaged ZIP archive" if len(data) <= _ZIP_LIST_BYTES else "a ZIP archive"
        found: MediaType | str = _by_first_entry(data) or kind
    else:
        found = _by_first_entry(data) or _by_names([name.replace("\\", "/") for name in names])
    if isinstance(found, MediaType):
        return found
    raise InvalidArgument(f"the file is {found}; {_READ}", reason="UNSUPPORTED_TYPE")


def _by_first_entry(data: bytes) -> MediaType | str:
    if data[30:38] != b"mimetype":
        return ""
    return next((kind for name, kind in _MIMETYPES if data[38:200].startswith(name)), "")


def _by_names(names: Sequence[str]) -> MediaType | str:
    if "META-INF/container.xml" in names:
        return MediaType.EPUB
    if "xl/workbook.bin" in names:
        return "a binary Excel workbook (xlsb): save it as xlsx"
    if _CONTENT_TYPES in names:
        for prefix, kind in _OFFICE:
            if any(name.startswith(prefix) for name in names):
                return kind
    return "an OpenDocument file" if "content.xml" in names else "a ZIP archive"


def _looks_binary(sample: bytes) -> bool:
    """More than a tenth control characters, unless it is UTF-16 or UTF-32 without a mark."""
    if encodings.unmarked(sample):
        return False
    return len(sample) - len(sample.translate(None, _CONTROLS)) > _MAX_CONTROLS * len(sample)
