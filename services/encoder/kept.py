"""Vectors that were made for one service and that another will ask for, bounded and for one organization each.

The organization is part of every key: nobody learns, not even from the time that a call takes, what another
organization has encoded.
"""

import hashlib
import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# (organization, digest of a text's tokens): the same tokens have the same vectors, wherever the text was cut.
Key = tuple[int, bytes]

# What an entry takes besides its vectors.
_OVERHEAD = 400


def key(organization_id: int, ids: Sequence[int]) -> Key:
    """The key of a text's tokens."""
    return organization_id, hashlib.sha256(np.asarray(ids, "<u2").tobytes()).digest()


@dataclass(frozen=True)
class Encoded:
    """One text: `sentence` (384,), and `tokens` (n, 384), all of length 1."""

    sentence: NDArray[np.float32]
    tokens: NDArray[np.float16]

    @property
    def nbytes(self) -> int:
        return self.sentence.nbytes + self.tokens.nbytes


class Memory:
    """The texts encoded last. The least recently used go first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[Key, Encoded] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> Encoded | None:
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: Key, encoded: Encoded) -> None:
        former = self._entries.pop(key, None)
        if former is not None:
            self.bytes -= former.nbytes + _OVERHEAD
        self._entries[key] = encoded
        self.bytes += encoded.nbytes + _OVERHEAD
        while self.bytes > self._max_bytes:
            _, dropped = self._entries.popitem(last=False)
            self.bytes -= dropped.nbytes + _OVERHEAD


@dataclass(frozen=True)
class _Place:
    """Where an entry is: `start` counts all bytes ever written, and the file is read in a ring."""

    start: int
    shape: tuple[int, int]

    @property
    def end(self) -> int:
        return self.start + 2 * self.shape[0] * self.shape[1]


class Spool:
    """Token vectors of ingests, each given out once, in a file that nobody else can open and that ends with us.

    A ring: what is written last overwrites what was written first. Its methods block (run them in a thread) and may
    run in parallel.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._places: OrderedDict[Key, _Place] = OrderedDict()
        self._next = 0
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        # Without a name from its beginning, where the system can; readable by us alone.
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115

    def __len__(self) -> int:
        return len(self._places)

    def put(self, key: Key, tokens: NDArray[np.float16]) -> None:
        data = np.ascontiguousarray(tokens, "<f2").tobytes()
        if len(data) > self._max_bytes:
            return
        with self._lock:
            self._places.pop(key, None)
            start = self._next
            if start % self._max_bytes + len(data) > self._max_bytes:
                # In one piece: what is left at the end of the file stays empty this time.
                start += self._max_bytes - start % self._max_bytes
            place = _Place(start, (tokens.shape[0], tokens.shape[1]))
            while self._places:
                oldest, first = next(iter(self._places.items()))
                if first.start >= place.end - self._max_bytes:
                    break
                del self._places[oldest]
            try:
                os.pwrite(self._file.fileno(), data, start % self._max_bytes)
            except OSError:
                # A full disk costs a second reading, not the ingest.
                return
            self._places[key] = place
            self._next = place.end

    def take(self, key: Key) -> NDArray[np.float16] | None:
        """The vectors, and forgets them; None where there are none."""
        with self._lock:
            place = self._places.pop(key, None)
            if place is None:
                return None
            length = place.end - place.start
            data = os.pread(self._file.fileno(), length, place.start % self._max_bytes)
            if not self._places:
                # Nothing is wanted any more: the space goes back to the disk.
                self._file.truncate(0)
                self._next = 0
        if len(data) != length:
            return None
        return np.frombuffer(data, "<f2").reshape(place.shape)

    def close(self) -> None:
        self._file.close()
