"""Scores candidates for a query: stored chunks, texts, or vectors of the caller's own."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from folio.common.v1 import step_pb2
from native.maxsim import Tiles
from services.colbert.cache import TileCache
from services.colbert.chunks import Chunks, in_steps
from services.colbert.encoding import Document, Encoding, Query
from services.colbert.scoring import Scorer
from services.rerank.ranking import CandidateScore
from services.rpc.errors import FailedPrecondition, InvalidArgument
from services.rpc.identity import Principal
from services.rpc.report import Report

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Options:
    """What the caller asked for."""

    alignments: bool = False
    refuse_truncation: bool = False


@dataclass(frozen=True)
class Scored:
    """Scores in the caller's order, the query they are for, and what each part took."""

    scores: list[CandidateScore]
    query: Query
    steps: list[step_pb2.StepReport]


class Reranker:
    """Late interaction over texts, vectors and stored chunks."""

    def __init__(
        self, encoding: Encoding, chunks: Chunks, cache: TileCache, scorer: Scorer
    ) -> None:
        self.encoding = encoding
        self._chunks = chunks
        self._cache = cache
        self._scorer = scorer

    async def rerank_chunks(
        self, principal: Principal, query: Query, ids: Sequence[int], options: Options
    ) -> Scored:
        """By chunk id. NotFound for an id that the principal may not see."""
        self._require_dim(query)
        if options.alignments and self.encoding.pool_factor > 1:
            raise FailedPrecondition(
                "the index pools its tokens, so a stored row is not one token; ask for alignments"
                " with texts",
                reason="POOLED",
            )
        scores: list[CandidateScore] = []
        report = Report()
        for group in in_steps(ids):
            with report.step(step_pb2.STEP_FETCH, needed=True):
                tiles = await self._chunks.tiles(principal, group)
            with report.step(step_pb2.STEP_SCORE, needed=True):
                scores += await self._scorer.tiles(query, tiles, alignments=options.alignments)
        return Scored(scores, query, report.steps)

    async def rerank_texts(
        self, principal: Principal, query: Query, texts: Sequence[str], options: Options
    ) -> Scored:
        """By text. InvalidArgument where one is too long and none may be cut."""
        self._require_dim(query)
        report = Report()
        with report.step(step_pb2.STEP_ENCODE, needed=True):
            documents = await self._documents(principal, texts, options)
        if options.refuse_truncation:
            for index, document in enumerate(documents):
                if document.truncated:
                    raise InvalidArgument.field(
                        f"texts.texts[{index}]",
                        f"has more than the {self.encoding.encoder.document_length} tokens"
                        " that are read",
                    )
        with report.step(step_pb2.STEP_SCORE, needed=True):
            scores = await self._scorer.tiles(
                query, [document.tiles for document in documents], alignments=options.alignments
            )
        flagged = [
            scored._replace(truncated=True) if document.truncated else scored
            for scored, document in zip(scores, documents, strict=True)
        ]
        return Scored(flagged, query, report.steps)

    async def rerank_vectors(
        self, query: Query, documents: Sequence[Matrix], options: Options
    ) -> Scored:
        """By the caller's own vectors, of any model, in fp32."""
        if documents and documents[0].shape[1] != query.vectors.shape[1]:
            raise InvalidArgument.field(
                "document_vectors.tokens.dim",
                f"is {documents[0].shape[1]}; the query's is {query.vectors.shape[1]}",
            )
        report = Report()
        with report.step(step_pb2.STEP_SCORE, needed=True):
            scores = await self._scorer.matrices(query, documents, alignments=options.alignments)
        return Scored(scores, query, report.steps)

    async def _documents(
        self, principal: Principal, texts: Sequence[str], options: Options
    ) -> list[Document]:
        """Texts' tiles, remembered by digest where nothing was cut."""
        organization = principal.organization_id
        unpooled = options.alignments and self.encoding.pool_factor > 1
        keys = [
            (organization, (hashlib.sha256(text.encode("utf-8", "replace")).digest(), unpooled))
            for text in texts
        ]
        known: dict[int, Tiles] = {}
        for index, key in enumerate(keys):
            tiles = self._cache.get(key)
            if tiles is not None:
                known[index] = tiles
        # Each distinct text once; duplicates share its result.
        missing = {keys[index]: text for index, text in enumerate(texts) if index not in known}
        encoded = dict(
            zip(
                missing,
                await self.encoding.documents(list(missing.values()), lossless=unpooled),
                strict=True,
            )
        )
        for key, document in encoded.items():
            if document.tiles is not None and not document.truncated:
                self._cache.put(key, document.tiles)
        return [
            Document(known[index]) if index in known else encoded[key]
            for index, key in enumerate(keys)
        ]

    def _require_dim(self, query: Query) -> None:
        dim = query.vectors.shape[1]
        if dim != self.encoding.dim:
            raise InvalidArgument.field(
                "vectors.dim", f"is {dim}; this model's vectors have {self.encoding.dim}"
            )
