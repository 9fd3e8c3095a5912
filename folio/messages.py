"""Builds the requests of the public API from plain Python values; shared by the sync and the asyncio client."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, cast

from folio.common.v1 import document_pb2
from folio.gateway.v1 import gateway_pb2

# A message may carry 2 MiB; half of it keeps progress lively.
DATA_BYTES = 2**20

_SPEAKERS = {
    "user": gateway_pb2.SPEAKER_USER,
    "assistant": gateway_pb2.SPEAKER_ASSISTANT,
}


def make_filter(
    *,
    documents: Sequence[int] = (),
    collections: Sequence[str] = (),
    kinds: Sequence[str] = (),
    published_from: str = "",
    published_until: str = "",
) -> document_pb2.Filter:
    """A filter; its parts are ANDed, the values of a part ORed; dates are ISO 8601, inclusive."""
    return document_pb2.Filter(
        document_ids=documents,
        collections=collections,
        kinds=kinds,
        published_from=published_from,
        published_until=published_until,
    )


class Steps(TypedDict, total=False):
    """Steps of a question: True for on, False for off; those left out are as configured. See StepToggles."""

    dense: bool
    sparse: bool
    colbert: bool
    crossencoder: bool
    rewrite: bool
    synonyms: bool
    multi_query: bool
    hyde: bool
    scope: bool
    passages: bool
    judge: bool
    web: bool
    exact: bool
    typos: bool


def named_steps(toggles: Mapping[str, bool]) -> Steps:
    """Steps whose names are known at run time only. ValueError for what is no step, or neither True nor False."""
    known = Steps.__optional_keys__
    unknown = sorted(set(toggles) - known)
    if unknown:
        raise ValueError(f"no step {', '.join(unknown)}; there are: {', '.join(sorted(known))}")
    for name, on in toggles.items():
        # "off" is true to Python.
        if on not in (True, False):
            raise ValueError(f"step {name} is {on!r}; expected True or False")
    return cast(Steps, dict(toggles))


def make_steps(toggles: Steps) -> gateway_pb2.StepToggles:
    """The message. ValueError as named_steps raises it."""
    choice = {True: gateway_pb2.TOGGLE_ON, False: gateway_pb2.TOGGLE_OFF}
    known = named_steps(cast(Mapping[str, bool], toggles))
    values: dict[str, Any] = {name: choice[bool(on)] for name, on in known.items()}
    return gateway_pb2.StepToggles(**values)


class AskOptions(TypedDict, total=False):
    """The keywords of ask_request."""

    history: Sequence[tuple[str, str]]
    filter: document_pb2.Filter | None
    steps: Steps | None
    answer_threshold: float | None
    trace: bool
    request_id: str
    table_rows: bool


def ask_request(
    question: str,
    *,
    history: Sequence[tuple[str, str]] = (),
    filter: document_pb2.Filter | None = None,
    steps: Steps | None = None,
    answer_threshold: float | None = None,
    trace: bool = False,
    request_id: str = "",
    table_rows: bool = False,
) -> gateway_pb2.AskRequest:
    """`history` holds (speaker, text) pairs, oldest first; a speaker is "user" or "assistant".

    `answer_threshold` is as configured where it is None; 0 answers whatever the probability. `table_rows` adds to
    every value that is read from a table the row that it stands in.
    """
    return gateway_pb2.AskRequest(
        question=question,
        history=[gateway_pb2.Message(speaker=_SPEAKERS[who], text=text) for who, text in history],
        filter=filter,
        steps=make_steps(steps or {}),
        answer_threshold=answer_threshold,
        trace=trace,
        request_id=request_id,
        table_rows=table_rows,
    )


class SearchOptions(TypedDict, total=False):
    """The keywords of search_request."""

    limit: int
    filter: document_pb2.Filter | None
    steps: Steps | None
    trace: bool
    search_candidates: int
    rerank_candidates: int


def search_request(
    query: str,
    *,
    limit: int = 10,
    filter: document_pb2.Filter | None = None,
    steps: Steps | None = None,
    trace: bool = False,
    search_candidates: int = 0,
    rerank_candidates: int = 0,
) -> gateway_pb2.SearchRequest:
    """How many hits the search and each reranker hand on: as configured where it is 0, and `limit` at least."""
    return gateway_pb2.SearchRequest(
        query=query,
        limit=limit,
        filter=filter,
        steps=make_steps(steps or {}),
        trace=trace,
        search_candidates=search_candidates,
        rerank_candidates=rerank_candidates,
    )


class IngestOptions(TypedDict, total=False):
    """The keywords of ingest_requests."""

    collection: str
    kind: str
    title: str
    published_on: str
    media_type: str
    password: str
    rooftop_id: int
    ocr: bool


def ingest_requests(
    data: bytes,
    file_name: str,
    *,
    collection: str = "",
    kind: str = "",
    title: str = "",
    published_on: str = "",
    media_type: str = "",
    password: str = "",
    rooftop_id: int = 0,
    ocr: bool = False,
) -> Iterator[gateway_pb2.IngestRequest]:
    """The messages that send one file: a header with its SHA-256, then the bytes in order.

    `media_type` may name a text's encoding: "text/plain; charset=koi8-r".

    ValueError for a text that no message can hold (a lone surrogate).
    """
    header = gateway_pb2.IngestRequest(
        header=gateway_pb2.DocumentHeader(
            file_name=file_name,
            media_type=media_type,
            collection=collection,
            kind=kind,
            title=title,
            published_on=published_on,
            sha256=hashlib.sha256(data).hexdigest(),
            size_bytes=len(data),
            password=password,
            rooftop_id=rooftop_id,
            ocr=ocr,
        )
    )
    # Made here and not on the way: an error inside gRPC's own thread would reach nobody.
    return _messages(header, data)


def _messages(
    header: gateway_pb2.IngestRequest, data: bytes
) -> Iterator[gateway_pb2.IngestRequest]:
    yield header
    for start in range(0, len(data), DATA_BYTES):
        yield gateway_pb2.IngestRequest(data=data[start : start + DATA_BYTES])


def read_file(file: Path | bytes, file_name: str) -> tuple[bytes, str]:
    """The bytes of a file and the name to store it under. ValueError for bytes without a name."""
    if isinstance(file, bytes):
        if not file_name:
            raise ValueError("bytes need a file_name")
        return file, file_name
    # A name on disk may be any bytes; those that are no UTF-8 become "?".
    return file.read_bytes(), file_name or file.name.encode("utf-8", "replace").decode()
