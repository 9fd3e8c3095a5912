"""Office Open XML files: their parts, and what leads from one part to another (ECMA-376, part 2).

Only parts that are asked for are unpacked, and only those with text are asked for: macros, pictures and embedded files
stay packed, and nothing outside the file is ever opened. The names of the strict variant of the standard are read as
those of the usual one.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from lxml import etree

from services.retriever.parsing.archive import Archive, broken
from services.retriever.parsing.text import clean_line
from services.retriever.parsing.titles import is_title
from services.rpc.errors import InvalidArgument

Element: TypeAlias = etree._Element

_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)")
# No office program writes a document type, and entities come with one.
_DOCTYPE = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_MACROS = re.compile(r"(?:^|/)(?:vbaProject\.bin|macrosheets/|dialogsheets/|activeX/)", re.I)
_EMBEDDED = re.compile(r"/embeddings/[^/]+$", re.I)
_CORE = "{http://purl.org/dc/elements/1.1/}title"
_NAMESPACES = re.compile(r"\{[^}]*\}")


@dataclass(frozen=True)
class Relationship:
    """`kind` is the last word of its type ("slide"), `target` the name of a part, or an address if `external`."""

    kind: str
    target: str
    external: bool


def parse_xml(content: bytes, called: str) -> Element:
    """A tree without entities, network or a document type. Raises InvalidArgument if it is no XML."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        return etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise broken(called) from None


@lru_cache(maxsize=10_000)
def local(tag: str) -> str:
    """A name without its namespace: the formats never use one name in two senses in one place."""
    return _NAMESPACES.sub("", tag)


def name_of(element: Element) -> str:
    return local(element.tag)


def attribute(element: Element | None, name: str, default: str = "") -> str:
    """The value of an attribute, whatever its namespace."""
    if element is None:
        return default
    for key, value in element.attrib.items():
        if local(str(key)) == name:
            return str(value)
    return default


def whole(value: str, default: int = 0, most: int = 1_000_000) -> int:
    """A whole number of an attribute; the default for what is none."""
    try:
        return max(-most, min(int(value), most))
    except ValueError:
        return default


def relation(element: Element | None, name: str = "id") -> str:
    """The identifier of a relationship that an element holds."""
    for key, value in element.attrib.items() if element is not None else ():
        if str(key).endswith(f"/relationships}}{name}"):
            return str(value)
    return ""


def child(element: Element | None, *names: str) -> Element | None:
    """The first child of that name, of its first child of the next name, and so on."""
    for name in names:
        if element is None:
            return None
        element = next((one for one in element if name_of(one) == name), None)
    return element


def children(element: Element | None, name: str) -> Iterator[Element]:
    if element is not None:
        yield from (one for one in element if name_of(one) == name)


class Package:
    """A file's parts. `main`: the name of the part that a reader begins with."""

    def __init__(self, data: bytes, called: str) -> None:
        self.called = called
        self._archive = Archive(data, called)
        self._by_lower = {name.lower(): name for name in self._archive.names}
        self._known: dict[str, Mapping[str, Relationship]] = {}
        found = [one for one in self.relationships("").values() if one.kind == "officeDocument"]
        if not found or found[0].external or found[0].target not in self:
            raise broken(called)
        self.main = found[0].target

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._by_lower

    def raw(self, name: str) -> bytes:
        return self._archive.read(self._by_lower.get(name.lower(), name))

    def part(self, name: str) -> bytes:
        """An XML part. Raises InvalidArgument (BROKEN_FILE) if it is missing or declares a document type."""
        content = self.raw(name)
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            # Whatever its declaration says of UTF-16, it is UTF-8 from here on.
            text = re.sub(r"^\s*<\?xml[^>]*\?>", "", content.decode("utf-16", "replace"))
            content = text.encode("utf-8", "replace")
        if _DOCTYPE.search(content):
            raise InvalidArgument(
                f"the {self.called} file declares a document type in its XML, as no office program does: it is not"
                " read",
                reason="BROKEN_FILE",
            )
        return _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006", content)

    def tree(self, name: str) -> Element:
        return parse_xml(self.part(name), self.called)

    def relationships(self, name: str) -> Mapping[str, Relationship]:
        """By identifier, those of a part, or of the file for ""."""
        if name not in self._known:
            folder, _, last = name.rpartition("/")
            path = f"{folder}/_rels/{last}.rels".lstrip("/")
            found = {}
            if path in self:
                for entry in self.tree(path):
                    target, external = (
                        entry.get("Target") or "",
                        entry.get("TargetMode") == "External",
                    )
                    if not external:
                        joined = posixpath.join("/", folder, target.partition("#")[0])
                        target = posixpath.normpath(joined).lstrip("/")
                    kind = (entry.get("Type") or "").rpartition("/")[2]
                    found[entry.get("Id") or ""] = Relationship(kind, target, external)
            self._known[name] = found
        return self._known[name]

    def related(self, name: str, kind: str) -> list[str]:
        """The parts of a kind that a part leads to and that are there."""
        return [
            one.target
            for one in self.relationships(name).values()
            if one.kind == kind and not one.external and one.target in self
        ]

    def target(self, name: str, identifier: str) -> str:
        """The part that an identifier of a part leads to; "" if it leads to none that is there."""
        found = self.relationships(name).get(identifier)
        return found.target if found and not found.external and found.target in self else ""

    def link(self, name: str, identifier: str) -> str:
        """The address that an identifier of a part leads to, outside the file; else ""."""
        found = self.relationships(name).get(identifier)
        return found.target if found and found.external and found.kind == "hyperlink" else ""

    def title(self) -> str:
        """What the file's properties say, if that is a title."""
        for name in self.related("", "core-properties"):
            title = clean_line(self.tree(name).findtext(_CORE) or "")
            return title if is_title(title) else ""
        return ""

    def warnings(self) -> tuple[str, ...]:
        """Macros, files embedded in this one, and links to what lies outside, of the parts that were read."""
        names = self._archive.names
        found = []
        if any(_MACROS.search(name) for name in names):
            found.append("macros not read")
        embedded = sum(1 for name in names if _EMBEDDED.search(name))
        if embedded:
            found.append(f"embedded files not read: {embedded}")
        outside = sum(
            one.external and one.kind != "hyperlink"
            for each in self._known.values()
            for one in each.values()
        )
        if outside:
            found.append(
                f"links to other files not followed: {outside}; what they show is not read"
            )
        return tuple(found)
