"""What is wrong in an input file, and where. Every loader here raises this one kind."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ENDINGS = frozenset({".jsonl", ".json", ".html"})


class BadFile(Exception):
    """A file that cannot be used: `path:line: what is wrong; what to do`."""

    def __init__(self, path: Path, line: int, message: str) -> None:
        where = f"{path}:{line}" if line else str(path)
        super().__init__(f"{where}: {message}")
        self.path, self.line = path, line


def named(output: Path, ending: str) -> Path:
    """`output` with an ending of ours (".json"): added, or in place of the one it has. "v1.2" keeps its ".2"."""
    stem = output.with_suffix("") if output.suffix in ENDINGS else output
    return stem.with_name(stem.name + ending)


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """The whole file. BadFile if it is missing or not in this encoding."""
    try:
        return path.read_text(encoding=encoding)
    except FileNotFoundError:
        raise BadFile(path, 0, "no such file; check the path") from None
    except UnicodeDecodeError as error:
        raise BadFile(path, 0, f"not {encoding} at byte {error.start}; convert it") from None


def read_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """(line number from 1, line) of every line that is not blank."""
    for number, line in enumerate(read_text(path, encoding).split("\n"), 1):
        if line.strip():
            yield number, line.rstrip("\r")


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of a JSON Lines file. BadFile for a line that is no JSON object."""
    for number, line in read_lines(path):
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise BadFile(path, number, f"not JSON ({error.msg}); repair the line") from None
        if not isinstance(value, dict):
            raise BadFile(path, number, "expected a JSON object, one a line")
        yield number, value


def text_of(path: Path, line: int, row: dict[str, Any], key: str) -> str:
    """A field that must be a string."""
    value = row.get(key)
    if not isinstance(value, str):
        raise BadFile(
            path, line, f"{key!r} must be a string; there are: {', '.join(map(str, row))}"
        )
    return value
