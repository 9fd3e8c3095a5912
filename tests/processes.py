"""What runs on this machine (Linux: /proc)."""

import os
from pathlib import Path


def processes_in(folder: Path) -> list[int]:
    """Processes whose command line or environment names the folder, our own aside."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in text:
            found.append(int(entry.name))
    return found
