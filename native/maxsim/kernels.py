"""Which kernel runs, and what the C library's numbers mean."""

import sys
from typing import Any, Final, Literal

import numpy as np

from native.maxsim._maxsim import ffi, lib

Dtype = Literal["fp32", "fp16", "bf16", "int8"]

CODES: Final[dict[str, int]] = {
    "fp32": lib.MAXSIM_F32,
    "fp16": lib.MAXSIM_F16,
    "bf16": lib.MAXSIM_BF16,
    "int8": lib.MAXSIM_I8,
}
MAX_DIM: Final[int] = lib.MAXSIM_MAX_DIM
MAX_QUERY_TOKENS: Final[int] = lib.MAXSIM_MAX_QUERY_TOKENS
MAX_THREADS: Final[int] = lib.MAXSIM_MAX_THREADS


def kernels() -> list[str]:
    """The kernels that run on this processor and operating system, fastest first."""
    names = []
    i = 0
    while (name := lib.maxsim_kernel_name(i)) != ffi.NULL:
        if lib.maxsim_kernel_supported(i):
            names.append(ffi.string(name).decode())
        i += 1
    return names


def kernel() -> str:
    """The active kernel: the fastest supported, or the one MAXSIM_KERNEL named at import."""
    return str(ffi.string(lib.maxsim_kernel()).decode())


def select_kernel(name: str | None = None) -> None:
    """Make `name` the active kernel of this process; None chooses as at import.

    Raises ValueError if the name is unknown or not supported here.
    """
    chosen = ffi.NULL if name is None else name.encode()
    if lib.maxsim_select(chosen) != lib.MAXSIM_OK:
        what = "MAXSIM_KERNEL names a kernel" if name is None else f"{name!r} is a kernel"
        raise ValueError(
            f"{what} that is unknown or does not run here; choose one of {', '.join(kernels())}"
        )


def address_of(buffer: Any) -> int:
    """Where a buffer's bytes lie. The caller keeps the buffer alive while C reads it."""
    return int(ffi.cast("uintptr_t", ffi.from_buffer(buffer)))


def code_of(dtype: str) -> int:
    """The C library's number of an element type; ValueError if there is none."""
    try:
        return CODES[dtype]
    except KeyError:
        raise ValueError(f"dtype must be one of {', '.join(CODES)}, not {dtype!r}") from None


def as_matrix(array: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A C-contiguous, aligned float32 view or copy of a (tokens, dim) array, checked.

    float16 is widened, strided and unaligned arrays are copied; every other dtype is refused,
    since a silent cast would hide a mistake.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{what} must be a numpy array, not {type(array).__name__}")
    if array.dtype not in (np.float32, np.float16):
        raise TypeError(
            f"{what} must be float32 or float16, not {array.dtype}; convert it with .astype"
        )
    if array.ndim != 2:
        raise ValueError(f"{what} must have shape (tokens, dim), not {array.shape}")
    check_dim(array.shape[1], what)
    rows = np.ascontiguousarray(array, dtype=np.float32)
    return rows if rows.flags.aligned else rows.copy()


def check_dim(dim: int, what: str) -> None:
    if not 4 <= dim <= MAX_DIM or dim % 4:
        raise ValueError(f"{what} has dimension {dim}; it must be a multiple of 4 up to {MAX_DIM}")


if sys.byteorder != "little":
    raise ImportError("native.maxsim stores little-endian tiles and needs a little-endian machine")
select_kernel()
