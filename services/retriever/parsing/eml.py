"""E-mail to text: who wrote to whom, when and about what, and the message. What is attached is named and not read."""

import email
import re
from collections.abc import Iterator
from email.header import decode_header
from email.message import Message
from email.policy import compat32

from folio.formats import MediaType
from services.retriever.documents import ParsedDocument
from services.retriever.parsing import encodings, html
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.parser import DEFAULT_LIMITS, NO_HINTS, Hints, Progress, unseen
from services.retriever.parsing.text import clean_line
from services.retriever.parsing.writer import TextWriter
from services.rpc.errors import InvalidArgument

_HEADERS = ("From", "To", "Cc", "Date")
_HEADER_CHARS = 2_000
_MAX_PARTS = 1_000
_NAMED = 20  # Attachments that a warning names.
_CHARSET = re.compile(r"[\w.:-]{1,40}", re.ASCII)
_FOLDED = re.compile(r"\r?\n[ \t]*")
_ENCRYPTED = frozenset(
    ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
)


def parse(
    data: bytes,
    hints: Hints = NO_HINTS,
    limits: ParseLimits = DEFAULT_LIMITS,
    progress: Progress = unseen,
) -> ParsedDocument:
    """One page labelled "1", under the subject as its heading. What it quotes of earlier messages stays. Titles: the
    sender's, the subject, the file's name."""
    progress(0)
    # The policy that never fails: the newer one raises on addresses that programs really write.
    message = email.message_from_bytes(data, policy=compat32)
    if not any(name in message for name in ("From", "To", "Date", "Subject", "Received")):
        raise InvalidArgument(
            "the file is named an e-mail, but it does not begin with a message's headers",
            reason="BROKEN_FILE",
        )
    writer = TextWriter()
    subject = clean_line(_header(message, "Subject"))
    if subject:
        with writer.heading(1):
            writer.text(subject)
    for name in _HEADERS:
        value = _header(message, name)
        if value:
            writer.text(f"{name}: {value}")
            writer.line()
    writer.paragraph()
    attached: list[str] = []
    warnings: list[str] = []
    for part in _shown(message, attached, warnings):
        _write(part, writer, warnings)
        writer.paragraph()
    if attached:
        names = ", ".join(attached[:_NAMED]) + (", ..." if len(attached) > _NAMED else "")
        warnings.append(f"attachments not read: {len(attached)} ({names})")
    return writer.finish(MediaType.EML, [subject], hints, list(dict.fromkeys(warnings)))


def _header(message: Message, name: str) -> str:
    """A header's value on one line, its encoded words (RFC 2047) decoded as far as they can be."""
    found = (value for key, value in message.raw_items() if key.lower() == name.lower())
    raw = _FOLDED.sub(" ", str(next(found, ""))[:_HEADER_CHARS])
    parts = []
    try:
        for value, charset in decode_header(raw):
            if isinstance(value, bytes):
                value = _decoded(value, charset or "")[0]
            parts.append(value)
    except (ValueError, LookupError, email.errors.MessageError):
        return raw.encode("utf-8", "replace").decode("utf-8", "replace")
    text = "".join(parts)
    if any("\udc80" <= char <= "\udcff" for char in text):
        # Bytes that are not ASCII, where a header may not hold any.
        text = _decoded(text.encode("utf-8", "surrogateescape"), "")[0]
    return text.strip()


def _shown(message: Message, attached: list[str], warnings: list[str]) -> Iterator[Message]:
    """The parts that a mail program shows as the message, in order: of alternatives, the plain one if it says anything.

    Walked with a stack of our own: parts may nest deeper than Python recurses."""
    stack = [message]
    count = 0
    while stack:
        part = stack.pop()
        count += 1
        if count > _MAX_PARTS:
            warnings.append(f"read up to part {_MAX_PARTS:,} of the message")
            return
        kind = part.get_content_type()
        if kind in _ENCRYPTED:
            warnings.append("encrypted parts not read")
        elif _is_attached(part, kind):
            attached.append(clean_line(_file_name(part)) or kind)
        elif part.is_multipart():
            inside = [one for one in part.get_payload() if isinstance(one, Message)]
            if kind == "multipart/alternative":
                inside = _best(inside)
            stack.extend(reversed(inside))
        elif kind in ("text/plain", "text/html"):
            yield part
        elif kind not in ("application/pgp-signature", "application/pkcs7-signature"):
            attached.append(clean_line(_file_name(part)) or kind)


def _is_attached(part: Message, kind: str) -> bool:
    if kind.startswith("multipart/"):
        return False
    if kind.startswith("message/"):
        return True
    if part.get_content_disposition() == "attachment":
        return True
    return bool(_file_name(part)) and kind not in ("text/plain", "text/html")


def _file_name(part: Message) -> str:
    try:
        return str(part.get_filename() or "")
    except (ValueError, LookupError, TypeError):
        return ""


def _best(alternatives: list[Message]) -> list[Message]:
    for part in alternatives:
        if part.get_content_type() == "text/plain" and _text(part)[0].strip():
            return [part]
    # The last one that can be shown is the fullest (RFC 2046, 5.1.4).
    kinds = ("text/html", "multipart/related", "multipart/mixed", "multipart/alternative")
    for kind in kinds:
        for part in reversed(alternatives):
            if part.get_content_type() == kind:
                return [part]
    return alternatives[-1:]


def _text(part: Message) -> tuple[str, tuple[str, ...]]:
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes):
        return "", ()
    return _decoded(content, str(part.get_content_charset() or ""))


def _decoded(content: bytes, charset: str) -> tuple[str, tuple[str, ...]]:
    """Text, whatever it says of itself: one part that cannot be told does not cost the message."""
    # ASCII is what programs say that do not know better.
    known = "" if charset.lower() in ("us-ascii", "ascii", "unknown-8bit") else charset
    if not _CHARSET.fullmatch(known):
        known = ""
    try:
        return encodings.decode(content, known)
    except InvalidArgument:
        return content.decode("ascii", "replace"), ("letters that cannot be told left out",)


def _write(part: Message, writer: TextWriter, warnings: list[str]) -> None:
    text, guessed = _text(part)
    warnings.extend(guessed)
    if part.get_content_type() == "text/html":
        warnings.extend(html.write(text, writer).warnings())
        return
    if str(part.get_param("format", "")).lower() == "flowed":
        text = _unflowed(text, str(part.get_param("delsp", "")).lower() == "yes")
    writer.text(text)


def _unflowed(text: str, delete_space: bool) -> str:
    """Lines that end in a space go on in the next one (RFC 3676), if that is quoted as deep."""
    out: list[str] = []
    open_depth = -1
    for line in text.replace("\r\n", "\n").split("\n"):
        depth = len(line) - len(line.lstrip(">"))
        body = line[depth:].removeprefix(" ")
        if open_depth == depth:
            out[-1] += body
        else:
            out.append(f"{'>' * depth} {body}" if depth else body)
        flows = body.endswith(" ") and body != "-- "
        open_depth = depth if flows else -1
        if flows and delete_space:
            out[-1] = out[-1][:-1]
    return "\n".join(out)
