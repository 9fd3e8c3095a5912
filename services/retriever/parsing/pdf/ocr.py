"""A scanned PDF to one with a text layer, by OCRmyPDF (extra `ocr`, and the programs tesseract and ghostscript)."""

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from services.rpc.errors import FailedPrecondition, InvalidArgument, ResourceExhausted

_PROGRAMS = ("tesseract", "gs")
_ENCRYPTED = 8  # Exit code, see the documentation of OCRmyPDF.


def missing() -> list[str]:
    """What OCR needs and this machine lacks."""
    found = [name for name in _PROGRAMS if shutil.which(name) is None]
    return found if importlib.util.find_spec("ocrmypdf") else ["ocrmypdf", *found]


def add_text_layer(data: bytes, wall_s: float) -> bytes:
    """The same pages with an invisible text layer where they had no text.

    Raises FailedPrecondition (not installed, encrypted), InvalidArgument (it cannot be read) and ResourceExhausted
    (out of time).
    """
    lacking = missing()
    if lacking:
        raise FailedPrecondition(
            f"reading scanned pages needs {', '.join(lacking)}, not installed here: install the extra `ocr` and the"
            " packages tesseract-ocr and ghostscript, or ask without OCR",
            reason="OCR_UNAVAILABLE",
        )
    with tempfile.TemporaryDirectory(prefix="folio-ocr-") as folder:
        source, target = Path(folder, "scan.pdf"), Path(folder, "text.pdf")
        source.write_bytes(data)
        command = [sys.executable, "-P", "-m", "ocrmypdf", "--skip-text", "--output-type", "pdf"]
        command += ["--jobs", "1", "--quiet", str(source), str(target)]
        try:
            done = subprocess.run(command, timeout=wall_s, capture_output=True, check=False)
        except subprocess.TimeoutExpired:
            raise ResourceExhausted(
                f"OCR took longer than {wall_s:.0f} s: split the file", reason="PARSE_TIMEOUT"
            ) from None
        if done.returncode == _ENCRYPTED:
            raise FailedPrecondition(
                "an encrypted PDF cannot be read by OCR: store it without encryption",
                reason="PASSWORD_REQUIRED",
            )
        if done.returncode != 0 or not target.exists():
            raise InvalidArgument(
                f"OCR could not read the file (OCRmyPDF exit code {done.returncode})",
                reason="OCR_FAILED",
            )
        return target.read_bytes()
