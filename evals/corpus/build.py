"""Builds the sample documents and their manifests from ``sources/``.

    python -m evals.corpus.build            # writes every document that changed
    python -m evals.corpus.build --check    # writes nothing, exits 1 where a rebuild differs

Needs fpdf2 (dependency group ``dev``). The built documents are committed, so only whoever
changes a source runs this.
"""

from __future__ import annotations

import argparse
import sys
from itertools import groupby
from pathlib import Path

import yaml

from .pdf import set_pdf
from .source import Source, read_source
from .web import set_html, set_markdown, set_text

CORPUS = Path(__file__).parent
SOURCES = CORPUS / "sources"
HEADER = "# Written by evals/corpus/build.py from sources/; do not edit.\n"


def build() -> dict[str, bytes]:
    """Every built file by its path relative to ``evals/corpus``, manifests included."""
    files: dict[str, bytes] = {}
    documents: list[dict[str, object]] = []
    hostile: list[dict[str, object]] = []
    for path in sorted(SOURCES.rglob("*.md")):
        source = read_source(path)
        target = (path.parent.relative_to(SOURCES) / source.file).as_posix()
        files[target], labels = _set(source)
        entry: dict[str, object] = {
            "path": target,
            "organization": source.organization,
            "collection": source.collection,
            "kind": source.kind,
            "title": source.title,
            "published_on": source.published_on,
            "pages": len(labels),
            "labels": label_runs(labels),
        }
        about = {key: value for key, value in source.about.items() if key != "file"}
        (hostile if path.parent.name == "hostile" else documents).append(entry | about)
    organizations = yaml.safe_load((SOURCES / "organizations.yaml").read_text(encoding="utf-8"))
    files["manifest.yaml"] = _dump({"organizations": organizations, "documents": documents})
    files["hostile/manifest.yaml"] = _dump({"documents": hostile})
    return files


def label_runs(labels: list[str]) -> list[str]:
    """Compress labels to runs: [i, ii, iii, 1, 2] becomes ["i-iii", "1-2"].

    A run ends where the numbering changes its style or prefix; unlabelled pages give [].
    """

    def style(label: str) -> str:
        return label.rstrip("0123456789") if label[-1:].isdigit() else "roman"

    runs = []
    for _, group in groupby((label for label in labels if label), key=style):
        members = list(group)
        runs.append(members[0] if len(members) == 1 else f"{members[0]}-{members[-1]}")
    return runs


def _set(source: Source) -> tuple[bytes, list[str]]:
    match source.format:
        case "pdf":
            return set_pdf(source)
        case "html":
            return set_html(source), [""]
        case "md":
            return set_markdown(source), [""]
        case "txt":
            text = set_text(source)
            return text, [""] * (text.count(b"\f") + 1)


def _dump(value: object) -> bytes:
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)
    return (HEADER + text).encode()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing, report differences")
    options = parser.parse_args(arguments)
    changed = 0
    for name, content in build().items():
        target = CORPUS / name
        if target.exists() and target.read_bytes() == content:
            continue
        changed += 1
        print(f"differs: {name}" if options.check else f"wrote {name}")
        if not options.check:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
