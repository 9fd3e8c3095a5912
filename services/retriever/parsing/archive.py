"""ZIP archives from strangers: what of one is unpacked is bounded before it is unpacked, and nothing touches a disk."""

import io
import zipfile
import zlib
from collections.abc import Sequence

from services.rpc.errors import FailedPrecondition, InvalidArgument, ResourceExhausted

MAX_ENTRIES = 50_000
MAX_PART_BYTES = 128 * 2**20
MAX_TOTAL_BYTES = 384 * 2**20
"""All that is unpacked of one file: pictures and other parts that hold no text never are."""
# What zipfile and zlib raise; NotImplementedError: a method of packing, or a version, that zipfile lacks.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    ValueError,
    OverflowError,
    OSError,
)


def broken(called: str) -> InvalidArgument:
    """What is raised for every damaged file of a format that is an archive, whatever part of it is damaged."""
    return InvalidArgument(
        f"the {called} file is damaged: open it in its own program and save it again",
        reason="BROKEN_FILE",
    )


class Archive:
    """The entries of an archive by name, with "/" between folders. `called` names the format in errors.

    Raises InvalidArgument (BROKEN_FILE) for one that is damaged, FailedPrecondition (UNSUPPORTED_ENCRYPTION) for one
    with a password, ResourceExhausted (TOO_LARGE) for one that would fill the memory.
    """

    def __init__(self, data: bytes, called: str) -> None:
        self._called = called
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except _BROKEN:
            raise broken(called) from None
        infos = self._zip.infolist()
        if len(infos) > MAX_ENTRIES:
            raise ResourceExhausted(
                f"the {called} file holds more than {MAX_ENTRIES:,} parts: split it",
                reason="TOO_LARGE",
            )
        # Some programs write the folders of Windows.
        self._infos = {info.filename.replace("\\", "/").lstrip("/"): info for info in infos}
        self._unpacked = 0

    @property
    def names(self) -> Sequence[str]:
        return tuple(self._infos)

    def __contains__(self, name: str) -> bool:
        return name in self._infos

    def read(self, name: str) -> bytes:
        """One entry, unpacked. What an entry says of its size holds: zipfile reads no more than that."""
        info = self._infos.get(name)
        if info is None:
            raise broken(self._called)
        if info.flag_bits & 1:
            raise FailedPrecondition(
                f"the {self._called} file is encrypted: save it without a password",
                reason="UNSUPPORTED_ENCRYPTION",
            )
        self._unpacked += info.file_size
        if info.file_size > MAX_PART_BYTES or self._unpacked > MAX_TOTAL_BYTES:
            raise ResourceExhausted(
                f"the {self._called} file unpacks to more than {MAX_TOTAL_BYTES // 2**20} MiB, or a part of it to more"
                f" than {MAX_PART_BYTES // 2**20} MiB: split it",
                reason="TOO_LARGE",
            )
        try:
            return self._zip.read(info)
        except _BROKEN:
            raise broken(self._called) from None
