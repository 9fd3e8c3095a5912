"""Writes docs/api.md from the comments of the contracts: `python protos/reference.py`, after generate.py.

It reads the descriptor set that generate.py leaves in build/protos, which carries the comments and the rules.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    ServiceDescriptorProto,
)

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from buf.validate import validate_pb2 as rules  # noqa: E402 - generated into this checkout

PAGE = ROOT / "docs" / "api.md"
HEAD = """<!-- Generated from protos/ by `make protos`. Edit the comments there. -->

# API

Every service, method and message of Folio, as the contracts in `protos/` define them. The public API is the gateway's:
`folio.gateway.v1` and the nouns in `folio.common.v1`. The other packages are spoken between the services.

Errors are gRPC statuses with `google.rpc` details: `BadRequest` names the fields of a request that break a rule,
`ErrorInfo` gives a reason for programs, `RetryInfo` says when to try again. A caller sends
`authorization: Bearer <API key or JWT>` in the metadata of every call.
"""
PUBLIC = ("folio.gateway.v1", "folio.common.v1")
# Field numbers of descriptor.proto: where in a file a comment stands.
MESSAGES, ENUMS, SERVICES, SYNTAX = 4, 5, 6, 12
FIELDS, NESTED, METHODS, VALUES = 2, 3, 2, 2
TYPES = {
    number: name.removeprefix("TYPE_").lower() for name, number in FieldDescriptorProto.Type.items()
}

# Rules of protovalidate: those that make a range, with the unit of its ends, and those that a word or two tells.
RANGES = [
    ("min_len", "max_len", "characters"),
    ("min_bytes", "max_bytes", "bytes"),
    ("min_items", "max_items", "entries"),
    ("gte", "lte", ""),
]
WORDS = {
    "gt": "more than {}",
    "lt": "less than {}",
    "unique": "no entry twice",
    "not_in": "not {}",
    "uuid": "a UUID",
}

Place = tuple[int, ...]


class Reference:
    """The page of one file's contents."""

    def __init__(self, file: FileDescriptorProto) -> None:
        self._file = file
        self._locations = {tuple(at.path): at for at in file.source_code_info.location}

    def lines(self) -> Iterator[str]:
        """The file's part of the page."""
        if about := self._comment((SYNTAX,)):
            yield f"{about}\n"
        for i, service in enumerate(self._file.service):
            yield from self._service(service, (SERVICES, i))
        for i, message in enumerate(self._file.message_type):
            yield from self._message(message, (MESSAGES, i), message.name)
        for i, enum in enumerate(self._file.enum_type):
            yield from self._enum(enum, (ENUMS, i), enum.name)

    def _comment(self, place: Place) -> str:
        """All that is written above or beside a definition."""
        if place not in self._locations:
            return ""
        at = self._locations[place]
        parts = [*at.leading_detached_comments, at.leading_comments, at.trailing_comments]
        paragraphs = (" ".join(part.split()) for part in parts)
        return " ".join(text.replace("|", "\\|") for text in paragraphs if text)

    def _heading(self, name: str, place: Place) -> Iterator[str]:
        yield f'### <a id="{self._file.package}.{name}"></a>{name}\n'
        if about := self._comment(place):
            yield f"{about}\n"

    def _service(self, service: ServiceDescriptorProto, place: Place) -> Iterator[str]:
        yield from self._heading(service.name, place)
        rows = []
        for i, method in enumerate(service.method):
            takes, gives = _link(method.input_type), _link(method.output_type)
            rows.append(
                (
                    f"`{method.name}`",
                    f"stream of {takes}" if method.client_streaming else takes,
                    f"stream of {gives}" if method.server_streaming else gives,
                    self._comment((*place, METHODS, i)),
                )
            )
        yield from _table(("method", "request", "reply", ""), rows)

    def _message(self, message: DescriptorProto, place: Place, name: str) -> Iterator[str]:
        yield from self._heading(name, place)
        entries = {
            f".{self._file.package}.{name}.{nested.name}": nested for nested in message.nested_type
        }
        rows = []
        for i, field in enumerate(message.field):
            choice = ""
            if field.HasField("oneof_index") and not field.proto3_optional:
                choice = message.oneof_decl[field.oneof_index].name
            told = [
                f"One of `{choice}`." if choice else "",
                self._comment((*place, FIELDS, i)),
                _sentence(rule_words(field)),
            ]
            kind = _kind(field, entries)
            rows.append((f"`{field.name}`", kind, " ".join(part for part in told if part)))
        if rows:
            yield from _table(("field", "type", ""), rows)
        else:
            yield "No fields.\n"
        for i, nested in enumerate(message.nested_type):
            if not nested.options.map_entry:
                yield from self._message(nested, (*place, NESTED, i), f"{name}.{nested.name}")
        for i, enum in enumerate(message.enum_type):
            yield from self._enum(enum, (*place, MESSAGES, i), f"{name}.{enum.name}")

    def _enum(self, enum: EnumDescriptorProto, place: Place, name: str) -> Iterator[str]:
        yield from self._heading(name, place)
        rows = [
            (f"`{value.name}`", str(value.number), self._comment((*place, VALUES, i)))
            for i, value in enumerate(enum.value)
        ]
        yield from _table(("value", "", ""), rows)


def _link(type_name: str) -> str:
    full = type_name.removeprefix(".")
    return f"[{full.rsplit('.', 1)[1]}](#{full})" if full.startswith("folio.") else f"`{full}`"


def _kind(field: FieldDescriptorProto, entries: dict[str, DescriptorProto]) -> str:
    entry = entries.get(field.type_name)
    if entry is not None and entry.options.map_entry:
        return f"map of {_kind(entry.field[0], {})} to {_kind(entry.field[1], {})}"
    name = _link(field.type_name) if field.type_name else TYPES[field.type]
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return f"repeated {name}"
    return f"optional {name}" if field.proto3_optional else name


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}." if words else ""


def rule_words(field: FieldDescriptorProto) -> str:
    """What a request's field must hold, in words; "" if anything."""
    if not field.options.HasExtension(rules.field):
        return ""
    return ", ".join(_words(field.options.Extensions[rules.field]))


def _words(rule: rules.FieldRules) -> Iterator[str]:
    if rule.required:
        yield "required"
    kind = rule.WhichOneof("type")
    if kind is None:
        return
    body = getattr(rule, kind)
    told = {descriptor.name: value for descriptor, value in body.ListFields()}
    for least, most, unit in RANGES:
        if least in told or most in told:
            own = "bytes" if kind == "bytes" else unit
            yield _range(told.pop(least, None), told.pop(most, None), own)
    for name, value in told.items():
        if name == "items":
            yield from (f"each {words}" for words in _words(value))
        elif name == "defined_only":
            continue  # The field's type says it.
        elif name == "pattern":
            yield f"matches `{value}`".replace("|", "\\|")
        elif name in WORDS:
            yield WORDS[name].format(", ".join(map(str, value)) if name == "not_in" else value)
        else:
            raise SystemExit(f"reference.py has no words for the rule {kind}.{name}: add them")


def _range(least: float | None, most: float | None, unit: str) -> str:
    if least == 1 and most is None and unit:
        return "not empty"
    if least is None:
        words = f"at most {most:,}"
    elif most is None:
        words = f"at least {least:,}"
    else:
        words = f"{least:,} to {most:,}"
    return f"{words} {unit}".rstrip()


def page(files: Sequence[FileDescriptorProto]) -> str:
    """The whole page."""
    packages: dict[str, list[FileDescriptorProto]] = {}
    for file in files:
        if file.package.startswith("folio."):
            packages.setdefault(file.package, []).append(file)
    order = [*PUBLIC, *sorted(set(packages) - set(PUBLIC))]
    parts = [HEAD]
    for package in order:
        parts.append(f"## {package}\n")
        for file in packages[package]:
            parts += Reference(file).lines()
    return "\n".join(parts).rstrip() + "\n"


def main() -> None:
    files = FileDescriptorSet.FromString((ROOT / "build" / "protos" / "folio.binpb").read_bytes())
    PAGE.write_text(page(files.file))


if __name__ == "__main__":
    main()
