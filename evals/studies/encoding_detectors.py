"""How often a text in an older encoding is read rightly: by ours, by chardet alone, by charset-normalizer.

    python -m evals.studies.encoding_detectors          # sentences of ours (encodings.yaml)
    python -m evals.studies.encoding_detectors DATA     # and passages of DATA/xquad

charset-normalizer is tried where it is installed. A text counts as wrong if it is read as other letters, as refused if
nobody would tell; ours may also mark what it could not read.
"""

import importlib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import chardet
import yaml

from services.retriever.parsing.encodings import decode
from services.rpc.errors import InvalidArgument

OWN = Path(__file__).parent / "encodings.yaml"
# Of passages so many characters are taken.
CUTS = (25, 60, 5_000)
ENCODINGS = {
    "zh": ("gbk", "big5hkscs", "utf-16-le", "utf-16-be", "utf-32-le"),
    "ar": ("cp1256", "iso8859-6", "utf-16-le", "utf-16-be"),
    "en": ("cp1252", "mac-roman", "utf-16-le", "utf-32-be"),
}


@dataclass(frozen=True)
class Case:
    """A text, and the bytes that are to be read as it. `group` is a row of the table."""

    group: str
    encoding: str
    text: str
    data: bytes


def own() -> Iterator[Case]:
    """The first two sentences of each text, the second and third together, the whole, and eight times the whole."""
    for entry in yaml.safe_load(OWN.read_text(encoding="utf-8")).values():
        text = entry["text"]
        sentences = [part for part in re.split(r"(?<=。)|(?<=\.) ", text) if part]
        for piece in (*sentences[:2], " ".join(sentences[1:3]), text, text * 8):
            yield from _cases("sentences of ours", piece, entry["encodings"])


def xquad(folder: Path) -> Iterator[Case]:
    """Passages in three languages."""
    for language, encodings in ENCODINGS.items():
        articles = json.loads((folder / f"xquad.{language}.json").read_text())["data"]
        for paragraph in (each for article in articles for each in article["paragraphs"]):
            for cut in CUTS:
                group = f"xquad, {cut} characters" if cut < CUTS[-1] else "xquad, whole"
                text = paragraph["context"].removeprefix("\ufeff")[:cut]
                yield from _cases(group, text, encodings)


def _cases(group: str, text: str, encodings: "list[str] | tuple[str, ...]") -> Iterator[Case]:
    for encoding in encodings:
        with suppress(UnicodeError):
            data = text.encode(encoding)
            # ASCII says nothing of its encoding, and needs none.
            if not data.isascii() or encoding.startswith(("utf", "iso2022")):
                yield Case(group, encoding, text, data)


def ours(data: bytes) -> str | None:
    try:
        return decode(data)[0]
    except InvalidArgument:
        return None


def by_chardet(data: bytes) -> str | None:
    encoding = chardet.detect(data)["encoding"]
    try:
        return data.decode(encoding) if encoding else None
    except (UnicodeError, LookupError):
        return None


def by_charset_normalizer(data: bytes) -> str | None:
    best = importlib.import_module("charset_normalizer").from_bytes(data).best()
    return None if best is None else str(best)


def judge(case: Case, read: str | None) -> str:
    """ "right", "refused", "marked" (with U+FFFD) or "wrong"."""
    if read is None:
        return "refused"
    if read == case.text:
        return "right"
    return "marked" if "\ufffd" in read else "wrong"


def main() -> None:
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    cases = list(own())
    if sys.argv[1:]:
        cases += xquad(Path(sys.argv[1]) / "xquad")
    readers: dict[str, Callable[[bytes], str | None]] = {"ours": ours, "chardet": by_chardet}
    with suppress(ModuleNotFoundError):
        importlib.import_module("charset_normalizer")
        readers["charset-normalizer"] = by_charset_normalizer
    print(f"{len({case.encoding for case in cases})} encodings")
    print("| texts | reader | right | refused | marked | wrong |")
    print("| --- | --- | --- | --- | --- | --- |")
    for group in dict.fromkeys(case.group for case in cases):
        chosen = [case for case in cases if case.group == group]
        for name, reader in readers.items():
            counts = Counter(judge(case, reader(case.data)) for case in chosen)
            cells = (counts[verdict] for verdict in ("right", "refused", "marked", "wrong"))
            print(
                f"| {group}, {len(chosen)} | {name} | {' | '.join(map(str, cells))} |", flush=True
            )


if __name__ == "__main__":
    main()
