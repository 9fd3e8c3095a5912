"""YAML with line numbers: a mapping whose fields are read by type, and whose errors say the line and what to do."""

from collections.abc import Iterator
from pathlib import Path

import yaml
from yaml.reader import ReaderError

from evals.files import BadFile, read_text


def compose(path: Path) -> "Mapping":
    """The one mapping that a YAML file is. BadFile if it is none, or not YAML."""
    text = read_text(path)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise BadFile(path, line, f"not YAML: {error.problem}; repair the line") from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise BadFile(path, line, "not YAML: a control character; take it out") from None
    if not isinstance(node, yaml.MappingNode):
        raise BadFile(path, 1, "expected a mapping at the top")
    return Mapping(path, node)


class Mapping:
    """One YAML mapping. Each reader gives the field's value, or the default where it is left out."""

    def __init__(self, path: Path, node: yaml.MappingNode) -> None:
        self.path = path
        self.line = node.start_mark.line + 1
        self._fields: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise BadFile(path, key.start_mark.line + 1, "a key must be a text; rename it")
            if key.value in self._fields:
                raise BadFile(
                    path, key.start_mark.line + 1, f"{key.value!r} is here twice; keep one"
                )
            self._fields[key.value] = value
        self._lines = {key.value: key.start_mark.line + 1 for key, _ in node.value}

    def keys(self) -> list[str]:
        return list(self._fields)

    def only(self, *known: str) -> None:
        """BadFile for a key that is not one of these."""
        for key in self._fields:
            if key not in known:
                raise self.bad(key, f"unknown key {key!r}; there are: {', '.join(known)}")

    def bad(self, key: str, message: str) -> BadFile:
        """An error at the line of a field (of the mapping, where the field is missing)."""
        return BadFile(self.path, self._lines.get(key, self.line), message)

    def text(self, key: str, default: str | None = None) -> str:
        """A string that is not blank; dates and numbers count as the text they are written as."""
        node = self._fields.get(key)
        if node is None:
            if default is None:
                raise self.bad(key, f"{key!r} is missing; add it")
            return default
        return self._scalar(key, node)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; () where it is left out."""
        return tuple(self._scalar(key, item) for item in self._items(key))

    def alternatives(self, key: str) -> tuple[tuple[str, ...], ...]:
        """A list whose items are a string or a list of strings: the ways to say one thing."""
        return tuple(
            tuple(self._scalar(key, way) for way in item.value)
            if isinstance(item, yaml.SequenceNode)
            else (self._scalar(key, item),)
            for item in self._items(key)
        )

    def mapping(self, key: str) -> "Mapping | None":
        """A mapping, or None where it is left out."""
        node = self._fields.get(key)
        if node is None or isinstance(node, yaml.MappingNode):
            return Mapping(self.path, node) if node is not None else None
        raise self.bad(key, f"{key!r} must be a mapping")

    def mappings(self, key: str) -> Iterator["Mapping"]:
        """A list of mappings; nothing where it is left out."""
        for item in self._items(key):
            if not isinstance(item, yaml.MappingNode):
                raise BadFile(self.path, item.start_mark.line + 1, f"expected a mapping in {key!r}")
            yield Mapping(self.path, item)

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number."""
        node = self._fields.get(key)
        if node is None and default is not None:
            return default
        text = self.text(key)
        try:
            return int(text)
        except ValueError:
            message = f"{key!r} must be a whole number, not {text!r}"
            raise self.bad(key, message) from None

    def span(self, key: str) -> tuple[int, int]:
        """A number n, read as (n, n), or a list [first, last], both inclusive."""
        node = self._fields.get(key)
        if not isinstance(node, yaml.SequenceNode):
            only = self.integer(key)
            return only, only
        texts = self.texts(key)
        if len(texts) != 2 or not all(text.isdecimal() for text in texts):
            raise self.bad(key, f"{key!r} must be a number or [first, last]")
        first, last = map(int, texts)
        if first > last:
            raise self.bad(
                key, f"{key!r} runs backwards: {first} to {last}; write [{last}, {first}]"
            )
        return first, last

    def _items(self, key: str) -> list[yaml.Node]:
        node = self._fields.get(key)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self.bad(key, f"{key!r} must be a list; write [..] or one `- ` a line")
        return list(node.value)

    def _scalar(self, key: str, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
            raise BadFile(self.path, node.start_mark.line + 1, f"{key!r} must be a text, not blank")
        return str(node.value)
