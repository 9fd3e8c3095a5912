"""Builds the C library as native.maxsim._maxsim; maxsim.h is both its header and its cdef.

setup.py calls it. After an edit: `make install`, or `python setup.py build_ext --inplace`.
"""

from pathlib import Path

from cffi import FFI  # type: ignore[import-untyped]

FOLDER = Path(__file__).parent
# setuptools wants paths relative to the project's root, where it runs.
SOURCES = sorted(
    f"native/maxsim/{path.name}" for path in FOLDER.glob("*.c") if path.name != "_maxsim.c"
)
HEADERS = sorted(f"native/maxsim/{path.name}" for path in FOLDER.glob("*.h"))

ffibuilder = FFI()
ffibuilder.cdef((FOLDER / "maxsim.h").read_text(encoding="utf-8"))
ffibuilder.set_source(
    "native.maxsim._maxsim",
    '#include <stddef.h>\n#include <stdint.h>\n#include "native/maxsim/maxsim.h"\n',
    sources=SOURCES,
    depends=HEADERS,
    include_dirs=["."],
    extra_compile_args=["-std=c11", "-O3", "-Wall", "-Wextra", "-fvisibility=hidden", "-pthread"],
    extra_link_args=["-pthread"],
)
