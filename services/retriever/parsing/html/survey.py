"""A first look at a whole page: which elements are menus, banners and hidden, and which tables only lay it out.

What is left out depends on what is left: a page whose whole text stands in a menu is that menu. So the page is measured
before any of it is written.
"""

import re
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from services.retriever.parsing.html import styles

# fmt: off
SKIPPED = frozenset(
    (
        "script", "style", "template", "noscript", "head", "title", "iframe", "object", "embed",
        "svg", "canvas", "audio", "video", "datalist", "meter", "progress", "rp",
    )
)
STRUCK = frozenset(("del", "s", "strike"))
_MENU_WORDS = frozenset(
    (
        "breadcrumb", "breadcrumbs", "menu", "nav", "navbar", "navigation", "pager", "pagination",
        "sitenav", "topnav", "mainnav", "mainmenu", "submenu", "skip", "skiplink", "skiplinks",
    )
)
_PATH_WORDS = frozenset(("breadcrumb", "breadcrumbs", "pager", "pagination", "skip", "skiplink", "skiplinks"))
_EDGE_WORDS = frozenset(
    ("header", "footer", "masthead", "topbar", "sidebar", "siteheader", "sitefooter")
)
# fmt: on
_EDGES = frozenset(("header", "footer", "aside"))
_EDGE_ROLES = frozenset(("banner", "contentinfo", "complementary"))
_MENU_ROLES = frozenset(("navigation", "menu", "menubar"))
_DIALOGS = frozenset(("dialog", "alertdialog"))
_BODIES = frozenset(("main", "article"))
_MENU_PARTS = frozenset(("ul", "ol", "menu", "div", "p", "section", "table", "span", "td"))
_BANNER_PARTS = frozenset(("div", "section", "aside", "form", "dialog", "p", "footer", "header"))
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_CELL_BLOCKS = frozenset((*_HEADINGS, "pre", "form", "article", "section"))
_WORD = re.compile(r"[a-z]+")
_COOKIE_NAME = re.compile(
    r"(?:cookie|consent|gdpr|ccpa).{0,30}(?:banner|bar|notice|popup|pop-up|modal|dialog|overlay|wall|alert|window|toast"
    r"|layer|message|consent|box|container|wrapper|disclaimer|hint|info|law)"
    r"|(?:banner|bar|notice|popup|modal|dialog|accept).{0,30}(?:cookie|consent|gdpr)"
    r"|onetrust|cookiebot|usercentrics|didomi|cmplz|borlabs"
)
_ACCEPT = re.compile(
    r"(?:i |we )?(?:accept|agree|allow|reject|decline|deny|refuse|got it|ok|okay|understood|dismiss|"
    r"alle akzeptieren|akzeptieren|zustimmen|ablehnen|verstanden|accepter|tout accepter|refuser|aceptar|accetta|accetto"
    r"|akceptuj\w*|aceitar)"
    r"(?: (?:all|only|and|the|cookies?|close|necessary|essential|todo|todas|tutti|tout|alle|wszystk\w+)){0,4}[.!]?"
)
_BANNER_CHARS = 1_500
_TELLING_CHARS = 800
_PROSE_CHARS = 200
_LINK_CHARS = 40
_LONG_CELL = 300
# Of a page's characters: what is hidden and more than that is shown by a script later. Less is an old text or a note.
_SHOWN_BY_SCRIPT = 0.9


@dataclass
class Survey:
    """Elements by `mem_id`. `hidden`, `struck`, `raised` and `lowered` are so by a rule of the page; `furniture` are
    menus and banners; `layout` are tables that put text beside text and hold no data."""

    hidden: set[int] = field(default_factory=set)
    struck: set[int] = field(default_factory=set)
    raised: set[int] = field(default_factory=set)
    lowered: set[int] = field(default_factory=set)
    furniture: set[int] = field(default_factory=set)
    layout: set[int] = field(default_factory=set)


@dataclass
class _Table:
    node: int
    nested: bool = False
    heads: bool = False
    prose: bool = False
    blocks: bool = False


@dataclass
class _Open:
    """An element whose end has not come: what stands in it so far. Characters are those that are no white space."""

    node: LexborNode | None
    edge: bool = False
    body: bool = False
    table: _Table | None = None
    chars: int = 0
    linked: int = 0
    links: int = 0
    own: int = 0
    """Characters that are no menu, banner, heading or foot: what the page is there for."""
    cookies: bool = False
    consent: bool = False
    main: bool = False
    headed: bool = False
    in_link: bool = False


class _Surveyor:
    def __init__(self, tree: LexborHTMLParser) -> None:
        self._styles = styles.of_page(tree)
        self._menus: set[int] = set()
        # Banners and hidden elements with their size: neither is a whole page.
        self._banners: dict[int, int] = {}
        self._hidden: dict[int, int] = {}
        self._found = Survey(
            struck=self._styles.struck,
            raised=self._styles.raised,
            lowered=self._styles.lowered,
        )

    def survey(self, root: LexborNode | None) -> Survey:
        page = _Open(None)
        stack: list[LexborNode | None] = [root]
        opened = [page]
        while stack:
            node = stack.pop()
            if node is None:
                inner = opened.pop()
                self._close(inner, opened[-1])
                continue
            tag = node.tag or ""
            if tag == "-text":
                _count(opened[-1], node.text_content or "")
            elif not (tag.startswith(("-", "!")) or tag in SKIPPED or tag in STRUCK):
                if styles.is_hidden_by_attribute(node):
                    continue
                opened.append(self._open(node, tag, opened[-1]))
                stack.append(None)
                stack.extend(reversed(list(node.iter(include_text=True))))
        return self._result(page)

    def _result(self, page: _Open) -> Survey:
        most = page.chars * _SHOWN_BY_SCRIPT
        self._found.hidden = {node for node, chars in self._hidden.items() if chars <= most}
        banners = {node for node, chars in self._banners.items() if chars <= page.chars / 2}
        # A page of nothing but menus: then they are what it says.
        self._found.furniture = banners | (self._menus if page.own else set())
        return self._found

    def _open(self, node: LexborNode, tag: str, outer: _Open) -> _Open:
        inner = _Open(node, outer.edge, outer.body, outer.table, in_link=outer.in_link)
        role = (node.attributes.get("role") or "").lower()
        if tag in _BODIES or role == "main":
            inner.body = inner.main = True
        elif not inner.body:
            inner.edge = (
                inner.edge
                or tag in _EDGES
                or role in _EDGE_ROLES
                or bool(_EDGE_WORDS & _named(node))
            )
        if tag == "a":
            inner.in_link = True
        elif tag == "table":
            if outer.table:
                outer.table.nested = True
            inner.table = _Table(node.mem_id)
        elif inner.table:
            inner.table.heads |= tag in ("th", "thead", "caption")
            inner.table.blocks |= tag in _CELL_BLOCKS
        return inner

    def _close(self, inner: _Open, outer: _Open) -> None:
        node = inner.node
        if node is None:
            return
        tag, key = node.tag or "", node.mem_id
        if tag == "a" and inner.chars:
            inner.links += 1
        if tag in ("td", "th") and inner.table:
            inner.table.prose |= inner.chars > _LONG_CELL
        if tag == "table" and inner.table and _is_layout(node, inner.table):
            self._found.layout.add(key)
        if tag in _HEADINGS:
            inner.own, inner.headed = 0, True
        if tag in ("button", "a", "input") or node.attributes.get("role") == "button":
            words = node.text() or node.attributes.get("value") or "" if inner.chars < 60 else ""
            inner.consent |= _ACCEPT.fullmatch(" ".join(words.lower().split())) is not None
        outer.chars += inner.chars
        if self._is_away(node, tag, inner):
            return
        if tag == "footer" and not inner.body:
            inner.own = 0
        outer.own += inner.own
        outer.linked += inner.linked
        outer.links += inner.links
        outer.cookies |= inner.cookies
        outer.consent |= inner.consent
        outer.main |= inner.main
        outer.headed |= inner.headed

    def _is_away(self, node: LexborNode, tag: str, inner: _Open) -> bool:
        """Whether an element is no part of what the page says, as far as it can be told from inside."""
        key = node.mem_id
        if key in self._styles.hidden and not _shown_by_attribute(node):
            self._hidden[key] = inner.chars
        elif _is_banner(node, tag, inner):
            self._banners[key] = inner.chars
        elif _is_menu(node, tag, inner):
            self._menus.add(key)
        else:
            return False
        return True


def survey(tree: LexborHTMLParser) -> Survey:
    """Measures a page once, in a time that grows with its length."""
    return _Surveyor(tree).survey(tree.root)


def _count(inner: _Open, text: str) -> None:
    chars = len(text) - sum(map(text.count, " \n\t\r\f"))
    inner.chars += chars
    inner.own += chars
    inner.linked += chars if inner.in_link else 0
    inner.cookies = inner.cookies or "cookie" in text.lower()


def _named(node: LexborNode) -> set[str]:
    attributes = node.attributes
    return set(
        _WORD.findall(f"{attributes.get('id') or ''} {attributes.get('class') or ''}".lower()[:500])
    )


def _is_layout(node: LexborNode, table: _Table) -> bool:
    if (node.attributes.get("role") or "") in ("presentation", "none") or table.nested:
        return True
    return not table.heads and (table.prose or table.blocks)


def _is_banner(node: LexborNode, tag: str, inner: _Open) -> bool:
    """Asks for consent to cookies, or is hidden from assistive software: decoration, or a copy of what is elsewhere."""
    attributes = node.attributes
    if (attributes.get("aria-hidden") or "").lower() == "true":
        return True
    if tag == "dialog" and "open" not in attributes:
        return True
    if inner.chars > _BANNER_CHARS or inner.main or tag not in _BANNER_PARTS:
        return False
    role = (attributes.get("role") or "").lower()
    name = " ".join(attributes.get(key) or "" for key in ("id", "class", "aria-label")).lower()[
        :500
    ]
    if _COOKIE_NAME.search(name) and not inner.body:
        return True
    if inner.cookies and (role in _DIALOGS or tag == "dialog"):
        return True
    asks = (
        inner.cookies and inner.consent and not (inner.body or (inner.headed and inner.own > 400))
    )
    return asks and inner.chars < _TELLING_CHARS


def _is_menu(node: LexborNode, tag: str, inner: _Open) -> bool:
    role = (node.attributes.get("role") or "").lower()
    if tag == "nav" or role in _MENU_ROLES:
        return inner.chars - inner.linked < _PROSE_CHARS or inner.linked * 2 > inner.chars
    if tag not in _MENU_PARTS and tag != "a":
        return False
    named = _named(node)
    if tag == "a":
        target = node.attributes.get("href") or ""
        return target.startswith("#") and bool(named & _PATH_WORDS)
    short = inner.links > 0 and inner.linked <= _LINK_CHARS * inner.links
    if not short or inner.linked < 0.6 * inner.chars:
        return False
    if named & _PATH_WORDS:
        return True
    return not inner.body and (
        (inner.links >= 2 and bool(named & _MENU_WORDS))
        or (inner.edge and inner.links >= 3 and inner.linked > 0.7 * inner.chars)
    )


def _shown_by_attribute(node: LexborNode) -> bool:
    style = "".join((node.attributes.get("style") or "").lower().split())
    return "display:" in style or "visibility:visible" in style
