"""A query's vectors: made once for each text and remembered, or given by the caller and checked."""

from collections import OrderedDict
from typing import Final

import numpy as np
from numpy.typing import NDArray

from services.colbert.encoding import Encoding, Query
from services.rpc.errors import InvalidArgument
from services.rpc.identity import Principal

MAX_QUERY_TOKENS: Final = 1024
# Queries' vectors that are remembered: one question is scored several times on its way.
MAX_BYTES = 64 * 2**20


class Queries:
    """Texts to vectors. The organization is part of every key, so nothing passes from one to another."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._known: OrderedDict[tuple[int, str], Query] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._known)

    async def of(
        self, principal: Principal, text: str, *, refuse_truncation: bool = False
    ) -> Query:
        """InvalidArgument where the text has no token, or too many and none may be cut."""
        key = (principal.organization_id, text)
        query = self._known.get(key)
        if query is None:
            query = await self._encoding.query(text)
            if not len(query.vectors):
                raise InvalidArgument.field("text", "contains no token that can be scored")
            self._remember(key, query)
        if query.truncated and refuse_truncation:
            raise InvalidArgument.field(
                "text",
                f"has more than the {self._encoding.encoder.query_length} tokens that are read",
            )
        return query

    def _remember(self, key: tuple[int, str], query: Query) -> None:
        if key in self._known:  # asked twice at once
            return
        self._known[key] = query
        self.bytes += query.vectors.nbytes
        while self.bytes > MAX_BYTES:
            _, oldest = self._known.popitem(last=False)
            self.bytes -= oldest.vectors.nbytes


def given(vectors: NDArray[np.float32]) -> Query:
    """A caller's own query vectors. InvalidArgument where they cannot be scored."""
    if not 1 <= len(vectors) <= MAX_QUERY_TOKENS:
        raise InvalidArgument.field(
            "vectors.rows", f"is {len(vectors)}; expected 1 to {MAX_QUERY_TOKENS}"
        )
    if not np.isfinite(vectors).all() or float(np.abs(vectors).max()) > 2.0**52:
        raise InvalidArgument.field("vectors.data", "holds a value that is not finite")
    return Query(vectors)
