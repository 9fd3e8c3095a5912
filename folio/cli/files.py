"""The files that paths on the command line name, and the names under which they are stored."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from folio.formats import SUFFIXES

# Office lays "~$report.docx" beside a file that it has open.
_HIDDEN = (".", "~$")


@dataclass
class Found:
    """What folders hold that is not hidden, by path: `files` of a kind that is read, and what is left out of them.

    `below`: of a file that was found in a folder, its path below the folder that was named. `outside`: links to files,
    and `folders`: links to folders, that lie outside that folder. `broken`: links to nothing. `failures`: folders that
    cannot be read.
    """

    files: list[Path] = field(default_factory=list)
    below: dict[Path, PurePath] = field(default_factory=dict)
    others: list[Path] = field(default_factory=list)
    outside: list[Path] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    broken: list[Path] = field(default_factory=list)
    failures: list[OSError] = field(default_factory=list)


def find(paths: Sequence[Path], follow_links: bool = False) -> Found:
    """The files named, of whatever kind, and those in the folders named. `follow_links`: those too that links in the
    folders lead to, wherever they lie; each folder once."""
    found = Found()
    for path in paths:
        if path.is_dir():
            _look_through(path, found, follow_links)
        else:
            found.files.append(path)
    return found


def _look_through(root: Path, found: Found, follow_links: bool) -> None:
    real_root = root.resolve()
    for path in sorted(_inside(root, found, follow_links)):
        if path.is_symlink() and not path.exists():
            found.broken.append(path)
        elif not path.is_file():
            continue
        elif path.suffix.lower() not in SUFFIXES:
            found.others.append(path)
        elif not follow_links and not path.resolve().is_relative_to(real_root):
            found.outside.append(path)
        else:
            found.files.append(path)
            found.below[path] = path.relative_to(root)


def _inside(root: Path, found: Found, follow_links: bool) -> list[Path]:
    """All that lies in a folder and is not hidden, but for folders."""
    inside: list[Path] = []
    # A link into the folder itself leads to what is read at its own place.
    read = [root.resolve()]
    waiting = [root]
    while waiting:
        for parent, folders, names in os.walk(waiting.pop(), onerror=found.failures.append):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            inside += [Path(parent, name) for name in names if not name.startswith(_HIDDEN)]
            for folder in (Path(parent, name) for name in folders):
                if not folder.is_symlink() or any(map(folder.resolve().is_relative_to, read)):
                    continue
                if follow_links:
                    read.append(folder.resolve())
                    waiting.append(folder)
                else:
                    found.folders.append(folder)
    return inside


def named(found: Found, collection: str) -> list[tuple[Path, str, str]]:
    """Each file with its collection and its name, which together tell one document from another.

    The collection is the one given, else the folder that the file lies in. What that does not say stays in the name:
    of a file deeper below the folder that was named, its path.
    """
    files = []
    for path in found.files:
        # abspath and not resolve: a link belongs to the folder that it lies in.
        folder = Path(os.path.abspath(path)).parent.name
        below = found.below.get(path, PurePath(path.name))
        told = 1 if collection else 2
        name = below.as_posix() if len(below.parts) > told else path.name
        files.append((path, collection or folder, name.encode("utf-8", "replace").decode()))
    return files
