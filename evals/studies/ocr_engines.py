"""How many words of rendered pages OCR reads again: ours (tesseract in the parser), and rapidocr where it is installed.

    python -m evals.studies.ocr_engines DATA
    python -m evals.studies.ocr_engines DATA --degraded    # figures right, of sure and of marked ones

The pages are of two filings of DATA/financebench and of our handbook, drawn at 200 dots an inch into a PDF of pictures
alone; what pdfium reads of the original is the truth. Processor seconds are of reading, without starts.
"""

import asyncio
import importlib
import io
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2 as pdfium
from PIL import Image, ImageFilter

from services.retriever.parsing import ParseLimits, ParserPool

CORPUS = Path(__file__).parents[1] / "corpus"
# Files and physical pages, from 0.
PAGES: dict[str, Sequence[int]] = {
    "3M_2018_10K.pdf": (30, 45),
    "ADOBE_2015_10K.pdf": (30, 45),
    "staff-handbook-2024.pdf": (3, 5),
    "staff-handbook-2025.pdf": (3, 5),
}
DPI = 200
# Pages, and how bad copies of them are made: dots an inch, blur.
BLURRED = {"3M_2018_10K.pdf": 45, "ADOBE_2015_10K.pdf": 50}
DEGRADED = ((100, 0.0), (85, 0.0), (110, 0.9))


def paths(data: Path) -> dict[str, Path]:
    """Where the files are."""
    return {
        name: next(path for root in (data, CORPUS) for path in sorted(root.rglob(name)))
        for name in PAGES
    }


def drawn(page: Any) -> Image.Image:
    """The page as a scanner would give it."""
    picture: Image.Image = page.render(scale=DPI / 72, grayscale=True).to_pil()
    return picture


def scan(picture: Image.Image, dpi: int = DPI) -> bytes:
    """A PDF that holds nothing but the picture."""
    file = io.BytesIO()
    picture.convert("L").save(file, "PDF", resolution=dpi)
    return file.getvalue()


def children_cpu() -> float:
    """Processor seconds of this process's children that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def degraded(page: Any, dpi: int, blur: float) -> Image.Image:
    """The page as a bad copy: fewer dots, out of focus, compressed."""
    picture: Image.Image = page.render(scale=dpi / 72, grayscale=True).to_pil()
    file = io.BytesIO()
    picture.filter(ImageFilter.GaussianBlur(blur)).save(file, "JPEG", quality=50)
    size = (picture.width * 300 // dpi, picture.height * 300 // dpi)
    return Image.open(file).resize(size, Image.Resampling.BICUBIC)


async def figures(found: Mapping[str, Path]) -> None:
    """Of words with digits: how many stand on the page, apart for those that are marked as uncertain."""
    counts: Counter[tuple[str, bool]] = Counter()
    for name, number in BLURRED.items():
        document = pdfium.PdfDocument(found[name])
        truth = document[number].get_textpage().get_text_range()
        for dpi, blur in DEGRADED:
            pool = ParserPool()
            picture = degraded(document[number], dpi, blur)
            read = await pool.parse(scan(picture, 300), file_name="scan.pdf", ocr=True)
            await pool.close()
            left = Counter(words(truth))
            for page in read.pages:
                for word in re.finditer(r"\S*\d\S*", page.text):
                    doubtful = any(
                        start < word.end() and word.start() < end for start, end in page.uncertain
                    )
                    stands = left[word[0]] > 0
                    left[word[0]] -= int(stands)
                    counts["marked" if doubtful else "sure", stands] += 1
    for kind in ("sure", "marked"):
        right, wrong = counts[kind, True], counts[kind, False]
        print(f"{kind}: {right} of {right + wrong} figures right")


async def ours(picture: Image.Image) -> tuple[str, float]:
    """The text of the page as the parser reads it, and processor seconds."""
    spent: list[float] = []
    for data in (b"A start and nothing else.", scan(picture)):
        before = children_cpu()
        pool = ParserPool(replace(ParseLimits(), recycle_after=1))
        name = "start.txt" if not spent else "scan.pdf"
        document = await pool.parse(data, file_name=name, ocr=True)
        await pool.close()
        spent.append(children_cpu() - before)
    return document.text, spent[1] - spent[0]


def rapid() -> Callable[[Image.Image], tuple[str, float]] | None:
    """rapidocr on one thread."""
    with suppress(ModuleNotFoundError):
        engine = importlib.import_module("rapidocr_onnxruntime").RapidOCR(
            intra_op_num_threads=1, inter_op_num_threads=1
        )

        def read(picture: Image.Image) -> tuple[str, float]:
            start = time.process_time()
            lines, _ = engine(np.array(picture.convert("RGB")))
            return " ".join(line[1] for line in lines or ()), time.process_time() - start

        return read
    return None


def words(text: str) -> list[str]:
    """What stands between blanks and has a letter or digit; dots that lead to a page number are apart."""
    parts = re.split(r"\s+|\.{3,}", text)
    return [part for part in parts if any(map(str.isalnum, part))]


def recall(truth: str, read: str) -> float:
    """Of the page's words, as often as they stand there, the share that was read letter for letter."""
    wanted, found = Counter(words(truth)), Counter(words(read))
    return sum((wanted & found).values()) / max(1, wanted.total())


async def main() -> None:
    if sys.argv[2:] == ["--degraded"]:
        await figures(paths(Path(sys.argv[1])))
        return
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = paths(Path(sys.argv[1]))
    peer = rapid()
    print("| file | page | words | ours, recall | CPU s | rapidocr, recall | CPU s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, numbers in PAGES.items():
        document = pdfium.PdfDocument(found[name])
        for number in numbers:
            truth = document[number].get_textpage().get_text_range()
            picture = drawn(document[number])
            text, cpu_s = await ours(picture)
            cells = [f"{recall(truth, text):.3f}", f"{cpu_s:.2f}", "", ""]
            if peer is not None:
                text, cpu_s = peer(picture)
                cells[2:] = [f"{recall(truth, text):.3f}", f"{cpu_s:.2f}"]
            print(
                f"| {name} | {number + 1} | {len(words(truth))} | {' | '.join(cells)} |",
                flush=True,
            )


if __name__ == "__main__":
    asyncio.run(main())
