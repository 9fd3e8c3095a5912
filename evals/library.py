"""The documents that a golden set is about: a manifest, and the files beside it."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from evals.files import BadFile
from evals.nodes import compose


@dataclass(frozen=True)
class LibraryDocument:
    """One file of one organization. `pages` is its number of physical pages."""

    path: str
    file: Path
    organization: str
    collection: str
    kind: str
    title: str
    published_on: str
    pages: int

    @cached_property
    def sha256(self) -> str:
        """Of the file's bytes, hexadecimal: how a service's document is recognised as this one."""
        return hashlib.sha256(self.file.read_bytes()).hexdigest()


@dataclass(frozen=True)
class Library:
    """Every document by its path in the manifest."""

    documents: Mapping[str, LibraryDocument]

    def find(self, name: str) -> LibraryDocument:
        """A document by path, or by file name where only one has it. KeyError with what to do."""
        if name in self.documents:
            return self.documents[name]
        same = [path for path in self.documents if path.rsplit("/", 1)[-1] == name]
        if len(same) == 1:
            return self.documents[same[0]]
        if same:
            raise KeyError(f"document {name!r} is one of {', '.join(same)}; write the whole path")
        raise KeyError(
            f"no document {name!r} in the manifest; there are: {', '.join(self.documents)}"
        )

    @property
    def organizations(self) -> tuple[str, ...]:
        return tuple(sorted({document.organization for document in self.documents.values()}))


def load_library(manifest: Path, root: Path | None = None) -> Library:
    """Reads manifest.yaml; paths start at `root`, or where the manifest is.

    BadFile for a document without a file, or listed twice.
    """
    found: dict[str, LibraryDocument] = {}
    for entry in compose(manifest).mappings("documents"):
        path = entry.text("path")
        file = (root or manifest.parent) / path
        if not file.is_file():
            raise entry.bad("path", f"no file {path}; build the documents first")
        if path in found:
            raise entry.bad("path", f"{path} is listed twice; keep one")
        found[path] = LibraryDocument(
            path,
            file,
            entry.text("organization"),
            entry.text("collection", ""),
            entry.text("kind", ""),
            entry.text("title", ""),
            entry.text("published_on", ""),
            entry.integer("pages"),
        )
    if not found:
        raise BadFile(manifest, 0, "no document in it; expected a list `documents`")
    return Library(found)


def join(libraries: Iterable[Library]) -> Library:
    """One library of several. Manifests of one corpus never name the same path."""
    return Library(
        {path: document for each in libraries for path, document in each.documents.items()}
    )
