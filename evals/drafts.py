"""Proposes cases from chunks, for a person to read, correct and approve. Nothing that is drafted counts before that.

With a language model behind the generator, it writes a question for a chunk and quotes what answers it. The extractive
generator writes nothing of its own, so its drafts take a sentence with a number or a code, name the section that it
stands in and ask what that section says: the page and the needed text are right, the question is for a person to word.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import yaml

from evals.connection import Connection, service
from folio.client import OPTIONS, AsyncFolio
from folio.common.v1 import document_pb2, service_pb2
from folio.failure import read
from folio.generator.v1 import generator_pb2, generator_pb2_grpc
from folio.messages import make_filter
from services.rpc.errors import FailedPrecondition

PROMPT = (
    "Write one question that a reader of this source could ask and that the source alone answers, on a line that starts"
    " with 'Q:'. On the next line, after 'A:', copy the shortest passage of the source that answers it, word for word."
)
# A fact worth asking for: a number, an amount, a code.
FACT = re.compile(r"\b(?:[A-Z]{1,4}-?\d[\w-]*|\d+(?:[.,]\d+)*(?:\s+[a-z]{2,12}\b)?)")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
SENTENCE_CHARACTERS = range(30, 301)
MAX_TOKENS = 200
# A search gives at most this many.
MOST_CHUNKS = 200


@dataclass(frozen=True)
class Draft:
    """One proposed case."""

    id: str
    organization: str
    question: str
    document: str
    page: int
    quote: str
    must_include: str


async def chunks_of(
    client: AsyncFolio, document: document_pb2.Document, limit: int
) -> list[document_pb2.Chunk]:
    """Up to `limit` chunks of a document, in its order."""
    reply = await client.search(
        document.title or document.file_name,
        limit=limit,
        filter=make_filter(documents=[document.id]),
        steps={"colbert": False, "crossencoder": False, "scope": False},
    )
    return sorted((result.chunk for result in reply.results), key=lambda chunk: chunk.ordinal)


def rule_draft(organization: str, chunk: document_pb2.Chunk) -> Draft | None:
    """A draft from the first sentence of the chunk that holds a fact; None where there is none."""
    for sentence in SENTENCE_END.split(" ".join(chunk.body.split())):
        fact = FACT.search(sentence)
        if fact and len(sentence) in SENTENCE_CHARACTERS:
            about = " / ".join(chunk.section_path) or chunk.title
            question = f"What does {chunk.title} say about {about}?"
            return _draft(organization, chunk, question, sentence, fact[0])
    return None


async def model_draft(
    stub: Any,
    metadata: tuple[tuple[str, str], ...],
    organization: str,
    chunk: document_pb2.Chunk,
) -> Draft | None:
    """A draft that the generator's model wrote; None where its quote is not in the chunk. CallFailed if it fails."""
    request = generator_pb2.AnswerRequest(
        question=PROMPT,
        sources=[generator_pb2.Source(index=0, title=chunk.title, text=chunk.body, relevance=1.0)],
        max_output_tokens=MAX_TOKENS,
    )
    text = ""
    try:
        async for event in stub.Answer(request, timeout=120, metadata=metadata):
            if event.HasField("result"):
                text = "\n".join(sentence.text for sentence in event.result.sentences)
    except grpc.RpcError as error:
        raise read(error) from None
    question = re.search(r"Q:\s*(.+?)\s*(?=A:|$)", text, re.DOTALL)
    answer = re.search(r"A:\s*(.+)", text, re.DOTALL)
    if not question or not answer:
        return None
    quote = " ".join(answer[1].split()).strip("\"'")
    if not quote or quote not in " ".join(chunk.body.split()):
        return None
    fact = FACT.search(quote)
    return _draft(
        organization, chunk, " ".join(question[1].split()), quote, fact[0] if fact else quote
    )


def require_model(provider: str) -> None:
    """FailedPrecondition where the generator behind the gateway writes no text of its own."""
    if provider in ("", "extractive"):
        raise FailedPrecondition(
            "the generator is extractive and writes no questions: set RAG_MODEL and its key, or draft with --by-rule"
        )


async def drafts(
    there: Connection, organization: str, count: int, *, by_rule: bool, secret: Path
) -> list[Draft]:
    """`count` drafts of each document, by the generator's model or by rule."""
    found: list[Draft | None] = []
    async with AsyncFolio(there.address, there.keys[organization]) as client:
        # A file may be in two collections; the same drafts twice would have the same ids.
        documents = {document.sha256: document async for document in client.documents()}
        chosen = [
            chunk
            for document in documents.values()
            for chunk in spread(await chunks_of(client, document, MOST_CHUNKS), count)
        ]
        if by_rule:
            return [draft for chunk in chosen if (draft := rule_draft(organization, chunk))]
        status = await client.status()
        require_model(
            next(
                (
                    provider.provider
                    for state in status.services
                    for provider in state.capabilities.providers
                    if provider.purpose == service_pb2.PURPOSE_ANSWER
                ),
                "",
            )
        )
    address, metadata = await service(there, organization, "generator", secret)
    async with grpc.aio.insecure_channel(address, options=OPTIONS) as channel:
        stub = generator_pb2_grpc.GeneratorServiceStub(channel)
        for chunk in chosen:
            found.append(await model_draft(stub, metadata, organization, chunk))
    return [draft for draft in found if draft]


def to_yaml(drafts: Iterable[Draft], corpus: str) -> str:
    """A golden set whose cases are tagged `draft`; the loader refuses them until a person takes the tag away."""
    cases = [
        {
            "id": draft.id,
            "organization": draft.organization,
            "question": draft.question,
            "relevant": [
                {"document": draft.document, "page": draft.page, "grade": 3, "quote": draft.quote}
            ],
            "answer_must_include": [draft.must_include],
            "expect": "answer",
            "tags": ["draft"],
        }
        for draft in drafts
    ]
    return yaml.safe_dump(
        {"corpus": corpus, "cases": cases}, sort_keys=False, allow_unicode=True, width=100
    )


def spread(chunks: Sequence[document_pb2.Chunk], count: int) -> list[document_pb2.Chunk]:
    """`count` of the chunks, evenly over the whole."""
    if count >= len(chunks):
        return list(chunks)
    return [chunks[number * len(chunks) // count] for number in range(count)]


def _draft(
    organization: str, chunk: document_pb2.Chunk, question: str, quote: str, must_include: str
) -> Draft:
    stem = re.sub(r"[^a-z0-9]+", "-", chunk.file_name.rsplit(".", 1)[0].lower()).strip("-")
    return Draft(
        f"draft-{stem}-{chunk.ordinal}",
        organization,
        question,
        chunk.file_name,
        chunk.page_start,
        quote,
        must_include,
    )
