"""Makes what a stranger wrote safe to show: plain text on one line, and addresses that are web pages."""

import html
import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import urlsplit

from services.generator.websearch import WebResult
from services.text.invisible import without_hidden

MAX_TITLE_CHARS = 200
MAX_SNIPPET_CHARS = 1000
MAX_URL_CHARS = 2000

_TAG = re.compile(r"<[^<>]{0,2000}>")


def clean(found: Iterable[tuple[str, str, str]], limit: int) -> tuple[WebResult, ...]:
    """(title, url, snippet) as results: at most `limit`, each address once, those that are no web page left out."""
    results: dict[str, WebResult] = {}
    for title, url, snippet in found:
        if len(results) == limit:
            break
        if is_page(url) and url not in results:
            results[url] = WebResult(
                plain(title, MAX_TITLE_CHARS), url, plain(snippet, MAX_SNIPPET_CHARS)
            )
    return tuple(results.values())


def plain(text: str, limit: int) -> str:
    """No markup, no control or hidden characters, no line breaks; at most `limit` characters."""
    shown = html.unescape(_TAG.sub(" ", text))
    # Once more: the entities may have spelled tags.
    shown = _TAG.sub(" ", shown)
    kept = "".join(
        " " if char.isspace() else char
        for char in without_hidden(shown)
        if char.isspace() or unicodedata.category(char) not in {"Cc", "Cs", "Co", "Cn"}
    )
    return " ".join(kept.split())[:limit]


def is_page(url: str) -> bool:
    """Whether an address is http(s), has a host and no user name, and holds nothing but printable ASCII."""
    if (
        len(url) > MAX_URL_CHARS
        or not url.isascii()
        or not url.isprintable()
        or set(url) & set(" <>\"'`\\")
    ):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.username is None
