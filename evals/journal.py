"""The records of a run as they are made, so that a run that was broken off goes on where it was."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evals.files import BadFile
from evals.records import Record, read_records, to_line, write_records
from services.rpc.errors import FailedPrecondition


class Journal:
    """`<name>.jsonl` with a record a line, beside `<name>.head.json` that says what the run is of.

    Opened again with the same head, it has the records made so far; failed ones are asked again. A run that was
    finished is none that was broken off: its records are replaced, since the services may be set otherwise by now.
    """

    def __init__(self, path: Path, head: Mapping[str, Any], *, fresh: bool = False) -> None:
        self.path, self._head = path, head
        self._done: dict[tuple[str, str], Record] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._head_path = path.with_suffix(".head.json")
        if path.exists() and not fresh:
            self._resume(head)
        write_records(path, self._done.values())
        self._write_head(finished=False)

    def finish(self) -> None:
        """Every question has its record, and none failed."""
        self._write_head(finished=True)

    def _write_head(self, *, finished: bool) -> None:
        text = json.dumps({**self._head, "finished": finished}, indent=2, sort_keys=True)
        self._head_path.write_text(text + "\n", encoding="utf-8")

    def _resume(self, head: Mapping[str, Any]) -> None:
        try:
            before = json.loads(self._head_path.read_text(encoding="utf-8"))
            finished = before.pop("finished")
        except (OSError, ValueError, AttributeError, KeyError):
            raise BadFile(
                self._head_path, 0, "the run's head cannot be read; run with --fresh"
            ) from None
        if digest(before) != digest(head):
            changed = sorted(
                key for key in before.keys() | head.keys() if before.get(key) != head.get(key)
            )
            raise FailedPrecondition(
                f"{self.path} holds a run with another {', '.join(changed)}; name another --output,"
                " or pass --fresh to replace it"
            )
        if finished:
            return
        for record in read_records(self.path):
            if not record.failed:
                self._done[record.rung, record.case] = record

    def get(self, rung: str, case: str) -> Record | None:
        """The record that is there already, if any."""
        return self._done.get((rung, case))

    def add(self, record: Record) -> None:
        """Appends one, in one write."""
        self._done[record.rung, record.case] = record
        with self.path.open("a", encoding="utf-8") as file:
            file.write(to_line(record))


def digest(value: Any) -> str:
    """SHA-256 of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
