"""Token vectors in memory: bounded by bytes, the least recently used go first.

The organization is part of every key. What is here says nothing about who may see it: that is
visibility.py's, asked on every call.
"""

from collections import OrderedDict
from collections.abc import Hashable

from native.maxsim import Tiles

# What an entry takes besides its tiles: the key, the Tiles object, the dictionary's node.
_OVERHEAD = 400

# (organization id, chunk id) or (organization id, digest of a text).
Key = tuple[int, Hashable]


class TileCache:
    """Belongs to one event loop; holds tiles of one model."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[Key, Tiles] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> Tiles | None:
        tiles = self._entries.get(key)
        if tiles is not None:
            self._entries.move_to_end(key)
        return tiles

    def put(self, key: Key, tiles: Tiles) -> None:
        self.remove(key)
        self._entries[key] = tiles
        self.bytes += tiles.nbytes + _OVERHEAD
        while self.bytes > self._max_bytes and self._entries:
            _, dropped = self._entries.popitem(last=False)
            self.bytes -= dropped.nbytes + _OVERHEAD

    def remove(self, key: Key) -> None:
        tiles = self._entries.pop(key, None)
        if tiles is not None:
            self.bytes -= tiles.nbytes + _OVERHEAD
