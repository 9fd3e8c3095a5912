"""Bytes to text: Unicode by its marks and its shape, older encodings by their letters (chardet) or as the sender says.

Text that is not sure to be right is refused: letters of the wrong alphabet would be indexed, quoted and believed.
"""

import codecs
import re
import unicodedata

import chardet

from services.rpc.errors import InvalidArgument

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
# What is called by a narrow name is mostly written in the wider encoding of Windows.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "tis-620": "cp874",
    "iso8859-11": "cp874",
}
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f\x0b\x1b")
_HIGH = bytes(range(128, 256))
_SAMPLE_BYTES = 2**16
# What text in UTF-16 is made of, whatever its language; bytes that are something else give letters of all scripts.
_USUAL = re.compile(
    "[\t\n\f\r\x20-\x7e\xa0-\u024f\u0300-\u036f\u0370-\u052f\u0531-\u058f\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e5b"
    "\u10a0-\u10ff\u1e00-\u1fff\u200b-\u2027\u202a-\u202e\u2060-\u2069\u2030-\u203a\u20ac\u2116\u2122\u2190-\u2193\u2212\u25a0-\u25cf\u2022"
    "\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff5e\ufeff]"
)
_SEPARATORS = re.compile(
    "[\t\n\r ,.:;0-9\u3000-\u3002\u300c\u300d\uff01\uff08\uff09\uff0c\uff0e\uff1a]"
)
_WIDE = re.compile("[\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
_MIN_USUAL = 0.97
# Of chardet's confidence: with these, of 310 texts in 19 languages and 7,202 passages of xquad (25 characters and
# more) in 32 encodings, none was read wrongly but four in MacRoman with a dash as their only sign
# (evals/studies/encoding_detectors.py).
_SURE, _NEARLY_SURE, _ENOUGH_BYTES = 0.3, 0.2, 40
_WORD = re.compile(r"[^\W\d_]+")
_ALPHABETS = frozenset(("LATIN", "CYRILLIC", "GREEK", "HEBREW", "ARABIC"))
# What no word holds, and what reading a byte in the wrong Western encoding gives: a sign between two letters, a capital
# behind a small letter, a letter beside a digit, one that stands alone, marks that open at a word's end.
_ODD = re.compile(
    "(?<=[A-Za-z\xc0-\u052f])(?![\xad\xb7\u2010-\u2015\u2018\u2019\u02bc])[\x80-\xbf\xd7\xf7\u02c6-\u036f\u2016-\u2bff]"
    "(?=[A-Za-z\xc0-\u052f])"
    "|(?<=[a-z\xdf-\xf6\xf8-\xff])[\xc0-\xd6\xd8-\xde\u0160\u0178\u017d\u0141\u0104]|(?<=\\d)[\xc0-\xd6\xd8-\xf6\xf8-\xff]"
    "|(?<![^\\s])[\xd0-\xd6\xd8-\xde\xe3-\xe7\xea-\xf1\xf4-\xf8\xfa-\xff\u0160\u0178\u017d](?![^\\s])"
    '|(?<=\\w)[\xa1\xbf]|(?<=[\\s"(])[\u2020-\u203a\u02c6\u02dc\xa8\xaf\xb4\xb8](?=[a-z])'
)
_WESTERN = re.compile(
    "[äöüÄÖÜßéáàçâíóúÉ§€\u2013\u2014\u2018\u2019\u201c-\u201e\u2026\u2022©®]|£(?=\\d)|(?<=\\d) ?[°½]"
)
_REPLACED = "\ufffd"


def decode(data: bytes, charset: str = "", named: str = "") -> tuple[str, tuple[str, ...]]:
    """The text, and warnings that say what was guessed or lost. `charset`: what the file says of itself, believed if it
    fits. `named`: what the sender says, believed over all but a byte order mark.

    Lone surrogates come through, for `clean` to join or to drop. Raises InvalidArgument for an unknown name, and for
    bytes whose encoding cannot be told.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _lossy(data[len(mark) :], encoding)
    if named:
        return _lossy(data, _known(named))
    if charset and _strict(data, "utf-8") is None:
        # What is UTF-8 is, whatever a file says of itself.
        text = _strict(data, _wider(charset))
        if text is not None:
            return text, ()
    return _found(data)


def unmarked(sample: bytes) -> str:
    """UTF-16 or UTF-32 without a byte order mark: the name of the encoding, else ""."""
    sample = sample[:_SAMPLE_BYTES]
    if len(sample) >= 8:
        quads = len(sample) // 4
        zeros = [sample[place : 4 * quads : 4].count(0) for place in range(4)]
        for encoding, high, next_high in (("utf-32-le", 3, 2), ("utf-32-be", 0, 1)):
            if zeros[high] == quads and zeros[next_high] > 0.9 * quads:
                return encoding
    pairs = len(sample) // 2
    if pairs < 4:
        return ""
    for encoding, high, low in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        # Of a Latin script: a zero in nearly every second byte, and nearly none between.
        if (
            sample[high : 2 * pairs : 2].count(0) > 0.7 * pairs
            and sample[low : 2 * pairs : 2].count(0) < 0.05 * pairs
        ):
            return encoding
    shares = {
        encoding: _usual(sample[: 2 * pairs], encoding) for encoding in ("utf-16-le", "utf-16-be")
    }
    best = max(shares, key=lambda encoding: shares[encoding])
    return best if shares[best] >= _MIN_USUAL else ""


def _usual(sample: bytes, encoding: str) -> float:
    """The share of characters that text is made of; 0 for what has no spaces or marks between its words."""
    text = sample.decode(encoding, "replace").rstrip(_REPLACED)
    # Between the words of an alphabet stands something soon; in Chinese and Japanese, at least now and then.
    least = 1 + len(text) // 100 if _WIDE.search(text) else len(text) // 40
    if not text or len(_SEPARATORS.findall(text)) < least:
        return 0.0
    return len(_USUAL.findall(text)) / len(text)


def _found(data: bytes) -> tuple[str, tuple[str, ...]]:
    text = _strict(data, "utf-8")
    if text is not None:
        controls = len(data) - len(data.translate(None, _CONTROLS))
        if controls > len(data) / 50:
            wide = unmarked(data)
            return _lossy(data, wide) if wide else (text, ())
        if b"\x1b$" in data:
            return _strict(data, "iso2022_jp_2") or text, ()
        return text, ()
    wide = unmarked(data)
    if wide:
        return _lossy(data, wide)
    text = _utf8_with_faults(data)
    if text is not None:
        return text, _lost(text.count(_REPLACED))
    return _legacy(data)


def _utf8_with_faults(data: bytes) -> str | None:
    """UTF-8 in which a few bytes are broken: most of what is not ASCII is whole."""
    text = data.decode("utf-8", "replace")
    broken = text.count(_REPLACED)
    whole = _strange(text) - broken
    # In a short text one, beside three letters: text in other encodings does not pair up as UTF-8 does.
    return text if whole > 4 * broken or (broken == 1 and whole > 2) else None


def _legacy(data: bytes) -> tuple[str, tuple[str, ...]]:
    found = chardet.detect(_telling(data))
    encoding, confidence = found["encoding"], found["confidence"] or 0.0
    text = _strict(data, encoding) if encoding else None
    if encoding and text is None:
        replaced = data.decode(encoding, "replace")
        text = replaced if 100 * replaced.count(_REPLACED) < _strange(replaced) else None
    # Western text is told apart from its kind by few letters, so by what Windows-1252 makes of them.
    high = len(data) - len(data.translate(None, _HIGH))
    enough = _ENOUGH_BYTES if 5 * high > len(data) else _ENOUGH_BYTES // 2
    least = _SURE if high < enough else _NEARLY_SURE
    sure = confidence >= least or text == _strict(data, "cp1252")
    if encoding and text is not None and sure and _is_legible(text):
        return text, (f"not UTF-8: read as {encoding}", *_lost(text.count(_REPLACED)))
    western = _strict(data, "cp1252")
    if western is not None and _is_western(western) and not _is_legible(data.decode("mac-roman")):
        return western, ("not UTF-8: read as Windows-1252",)
    if 500 * high < len(data):
        # Nearly all of it is ASCII: what cannot be told is marked, and the rest is read.
        return data.decode("ascii", "replace"), _lost(high)
    raise InvalidArgument(
        "the file's text encoding cannot be told: it is not UTF-8; save it as UTF-8, or name the encoding"
        ' in the media type ("text/plain; charset=koi8-r"; folio ingest --charset koi8-r)',
        reason="UNKNOWN_ENCODING",
    )


def _telling(data: bytes) -> bytes:
    """The lines that are not all ASCII, as far as a sample goes: in the others every encoding is the same."""
    lines: list[bytes] = []
    size = 0
    for line in data.split(b"\n"):
        if not line.isascii():
            lines.append(line[:_SAMPLE_BYTES])
            size += len(lines[-1])
            if size >= _SAMPLE_BYTES:
                break
    return b"\n".join(lines)


def _is_legible(text: str) -> bool:
    """Whether words are of one script each, without control characters and signs in their midst."""
    sample = text[: 4 * _SAMPLE_BYTES]
    if any("\x80" <= char <= "\x9f" or "\ue000" <= char <= "\uf8ff" for char in sample):
        return False
    words = [word for word in _WORD.findall(sample) if not word.isascii()]
    mixed = sum(1 for word in words if len(_ALPHABETS & set(map(_script, word))) > 1)
    return 10 * mixed <= len(words) and 10 * len(_ODD.findall(sample)) <= _strange(sample)


def _is_western(text: str) -> bool:
    """Whether what is not ASCII are signs and letters that few other encodings have in the same places."""
    strange = _strange(text)
    return len(_WESTERN.findall(text)) == strange and 5 * strange < len(text) and _is_legible(text)


def _script(char: str) -> str:
    if char < "\u0250":
        return "LATIN"
    return unicodedata.name(char, "").partition(" ")[0]


def _strange(text: str) -> int:
    """Characters that are not ASCII."""
    return len(text) - len(text.encode("ascii", "ignore"))


def _wider(charset: str) -> str:
    """The encoding that is meant by a name, as the Encoding Standard of the WHATWG has it."""
    try:
        return _WIDER.get(codecs.lookup(charset).name, charset)
    except LookupError:
        return charset


def _known(charset: str) -> str:
    try:
        if codecs.lookup(charset)._is_text_encoding:
            return _wider(charset)
    except LookupError:
        pass
    raise InvalidArgument(
        f'"{charset[:40]}" is no text encoding that is known', reason="UNKNOWN_ENCODING"
    )


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        errors = "surrogatepass" if encoding.lower().startswith("utf") else "strict"
        return data.decode(encoding, errors)
    except (UnicodeError, LookupError):
        return None


def _lossy(data: bytes, encoding: str) -> tuple[str, tuple[str, ...]]:
    text = _strict(data, encoding)
    if text is not None:
        return text, ()
    text = data.decode(encoding, "replace")
    return text, _lost(text.count(_REPLACED))


def _lost(count: int) -> tuple[str, ...]:
    return (f"bytes that are no text, shown as \ufffd: {count}",) if count else ()
