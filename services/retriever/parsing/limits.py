"""What reading one file may cost."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ParseLimits:
    """Bounds for one file and one worker process. A file past a bound is refused; the service lives on."""

    workers: int = 1
    queue: int = 64
    """Callers that may wait for a worker; the next one is refused."""
    recycle_after: int = 50
    """Files that one process reads before a fresh one takes over: memory that a library lost comes back."""
    max_bytes: int = 100 * 2**20
    max_pages: int = 5_000
    max_chars: int = 20_000_000
    memory_bytes: int = 2**30
    """Address space of the process (RLIMIT_AS)."""
    cpu_s: int = 120
    """Processor time for one file (RLIMIT_CPU)."""
    wall_s: float = 300.0
    page_s: float = 10.0
    """Wall-clock time in which a worker must be done with one more page."""
    file_bytes: int = 256 * 2**20
    """Largest file that the process may write (RLIMIT_FSIZE)."""
    render_pixels: int = 40_000_000
    ocr_wall_s: float = 1_800.0
    """Wall-clock time for the OCR of one file; the pages behind that stay unread."""
    ocr_page_s: float = 30.0
    """Processor time of the OCR program for one page, or for one try at it."""

    def with_ocr(self) -> "ParseLimits":
        """The limits of a call that runs OCR: it takes minutes."""
        return replace(self, cpu_s=int(self.ocr_wall_s), wall_s=self.ocr_wall_s + self.wall_s)
