"""What a link says beyond its words: the address that it leads to."""

from urllib.parse import unquote, urljoin

from selectolax.lexbor import LexborHTMLParser

_MAX_ADDRESS = 300  # Characters. Longer ones carry a session or a search, not a place.


def base(tree: LexborHTMLParser) -> str:
    """The page's own address, as far as it gives one: relative links lead from there."""
    for selector in (
        "head > base[href]",
        'head > link[rel="canonical"]',
        'head > meta[property="og:url"]',
    ):
        found = tree.css_first(selector)
        if found is not None:
            attributes = found.attributes
            found_address = attributes.get("href") or attributes.get("content") or ""
            if found_address.startswith(("http://", "https://")):
                return found_address
    return ""


def address(target: str, base: str = "") -> str:
    """The address of a link as a reader could use it: http, https, mail or telephone; else "".

    A relative one is resolved against `base`, the page's own address; without it, it leads nowhere from here.
    """
    target = target.strip()
    if not target or target.startswith("#"):
        return ""
    if base:
        try:
            target = urljoin(base, target)
        except ValueError:
            return ""
    scheme, colon, rest = target.partition(":")
    match scheme.lower() if colon else "":
        case "http" | "https":
            usable = rest.startswith("//") and len(rest) > 2
            return target if usable and len(target) <= _MAX_ADDRESS else ""
        case "mailto" | "tel":
            return unquote(rest.partition("?")[0])[:_MAX_ADDRESS].strip()
        case _:
            return ""


def says_more(found: str, words: str) -> bool:
    """Whether an address is not already what the link's words say."""
    plain = _plain(found)
    return bool(plain) and plain not in _plain(words)


def _plain(text: str) -> str:
    text = "".join(text.split()).lower()
    for lead in ("https://", "http://"):
        text = text.removeprefix(lead)
    return text.removeprefix("www.").rstrip("/")
