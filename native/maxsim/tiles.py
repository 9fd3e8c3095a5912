"""One document's token vectors in the layout that the kernels read."""

import struct
import zlib
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from native.maxsim._maxsim import ffi, lib
from native.maxsim.kernels import CODES, Dtype, address_of, as_matrix, check_dim, code_of

# The stored form, little-endian: magic, version, element type, dim, tokens, CRC-32 of the tiles
# (zlib's polynomial), then the tiles as maxsim.h draws them.
HEADER: Final = struct.Struct("<4sBBHII")
MAGIC: Final = b"MXTL"
VERSION: Final = 1
DTYPES: Final[dict[int, Dtype]] = {
    CODES["fp32"]: "fp32",
    CODES["fp16"]: "fp16",
    CODES["bf16"]: "bf16",
    CODES["int8"]: "int8",
}


class Tiles:
    """An immutable document of `tokens` vectors of `dim` values, interleaved in tiles of 8.

    Attributes: dtype ("fp32", "fp16", "bf16", "int8"), tokens, dim, nbytes, data (the tiles) and
    address, where they lie in memory while this object lives.
    """

    __slots__ = ("address", "data", "dim", "dtype", "tokens")

    def __init__(self, data: memoryview, dtype: Dtype, tokens: int, dim: int) -> None:
        """Wrap tiles laid out as maxsim.h says. Use from_matrix or from_bytes."""
        check_dim(dim, "the document")
        expected = lib.maxsim_tiles_bytes(code_of(dtype), tokens, dim) if tokens >= 0 else -1
        if data.nbytes != expected:
            raise ValueError(
                f"{tokens} tokens of {dim} {dtype} values take {expected} bytes of tiles, "
                f"not {data.nbytes}"
            )
        address = address_of(data)
        if address % 4:  # the kernels read 4-byte words
            data = memoryview(bytes(data))
            address = address_of(data)
        self.data = data
        self.address = address
        self.dtype = dtype
        self.tokens = tokens
        self.dim = dim

    @classmethod
    def from_matrix(cls, vectors: NDArray[Any], dtype: Dtype = "fp32") -> Self:
        """Tile (tokens, dim) float32 or float16 vectors.

        "int8" scales each token by its largest magnitude / 127. Raises TypeError on another
        dtype, ValueError on another shape, a dim that is not a multiple of 4 up to 4096, or a
        token with a value that is NaN, infinite or above 2**52 (fp16: above 65504).
        """
        rows = as_matrix(vectors, "the document")
        tokens, dim = rows.shape
        data = bytearray(lib.maxsim_tiles_bytes(code_of(dtype), tokens, dim))
        source = ffi.from_buffer("float[]", rows)
        done = lib.maxsim_tile(code_of(dtype), source, tokens, dim, ffi.from_buffer(data))
        if done < 0:
            raise ValueError(
                f"token {-1 - done} of the document holds a value that is NaN, infinite or too "
                f"large for {dtype}"
            )
        return cls(memoryview(data).toreadonly(), dtype, tokens, dim)

    @classmethod
    def from_bytes(cls, buffer: bytes | bytearray | memoryview, *, verify: bool = True) -> Self:
        """Read what to_bytes wrote, without copying where the buffer is aligned to 4 bytes.

        The buffer must not change afterwards. verify checks the CRC-32 (about 1 ms for 1 MB).
        Raises ValueError if the bytes are not a whole document of a known version.
        """
        view = memoryview(buffer).cast("B")
        if view.nbytes < HEADER.size:
            raise ValueError(f"stored tiles have at least {HEADER.size} bytes, not {view.nbytes}")
        magic, version, code, dim, tokens, crc = HEADER.unpack_from(view)
        if magic != MAGIC or version != VERSION or code not in DTYPES:
            raise ValueError(
                f"these bytes are not stored tiles of version {VERSION} "
                f"(magic {magic!r}, version {version}, type {code})"
            )
        data = view[HEADER.size :]
        if verify and zlib.crc32(data) != crc:
            raise ValueError("stored tiles are damaged: the CRC-32 does not match")
        return cls(data, DTYPES[code], tokens, dim)

    def to_bytes(self) -> bytes:
        """The stored form: a header of 16 bytes, then the tiles. Stable; from_bytes reads it."""
        header = HEADER.pack(
            MAGIC, VERSION, code_of(self.dtype), self.dim, self.tokens, zlib.crc32(self.data)
        )
        return header + self.data

    def to_matrix(self) -> NDArray[np.float32]:
        """The (tokens, dim) vectors, up to the rounding of the dtype."""
        rows = np.empty((self.tokens, self.dim), dtype=np.float32)
        lib.maxsim_untile(
            code_of(self.dtype),
            ffi.from_buffer(self.data),
            self.tokens,
            self.dim,
            ffi.from_buffer("float[]", rows),
        )
        return rows

    @property
    def nbytes(self) -> int:
        """Bytes of the tiles, without the stored form's header."""
        return self.data.nbytes

    def __repr__(self) -> str:
        return f"Tiles({self.tokens} x {self.dim}, {self.dtype})"
