"""Compiles peaks.c and runs it: what the machine can do at most, with one thread."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("peaks.c")
NAMES = ("fp32", "bf16", "int8")


class Peaks:
    """The largest rates seen so far; measure() again whenever the machine may be quieter."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "peaks.so"
            command = ["cc", "-O3", "-std=c11", "-shared", "-fPIC", str(SOURCE), "-o", str(library)]
            subprocess.run(command, check=True, timeout=120)
            self._library = ctypes.CDLL(str(library))
        self._library.read_bandwidth.argtypes = [ctypes.c_int64]
        self._rates = dict.fromkeys(NAMES, 0.0)
        self._bandwidth = 0.0

    def measure(self, *, memory: bool = False) -> None:
        for name in NAMES:
            function = self._library[f"peak_{name}"]
            function.restype = ctypes.c_double
            self._rates[name] = max(self._rates[name], function())
        if memory:
            function = self._library.read_bandwidth
            function.restype = ctypes.c_double
            self._bandwidth = max(self._bandwidth, function(1 << 28))

    def gflops(self, kind: str) -> float:
        """Billions of operations per second; an FMA counts as two. 0: no such instruction."""
        return self._rates[kind] / 1e9

    def as_json(self) -> dict[str, float]:
        named = {f"{name}_gflops": round(self.gflops(name), 1) for name in NAMES}
        return {**named, "read_gb_per_s": round(self._bandwidth / 1e9, 1)}
