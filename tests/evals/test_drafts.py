"""Drafts of cases, and the table of chunk sizes."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from evals.connection import Connection
from evals.drafts import drafts, model_draft, require_model, rule_draft, spread, to_yaml
from evals.files import BadFile
from evals.golden import load_golden
from evals.studies.chunk_sweep import BEGIN, END, Sized, fill, table
from folio.client import OPTIONS
from folio.common.v1 import document_pb2
from folio.generator.v1 import generator_pb2, generator_pb2_grpc
from services.rpc.errors import FailedPrecondition
from tests.evals.gateway import SmallGateway, serving

CHUNK = document_pb2.Chunk(
    id=7,
    ordinal=3,
    page_start=12,
    title="Pump Manual",
    file_name="Pump Manual.pdf",
    section_path=["5 Faults", "5.2 Codes"],
    body="Read this first, it is short.\nA fault of the seal shows as E-47\nand stops the pump. Then call us.",
)


class Writer(generator_pb2_grpc.GeneratorServiceServicer):
    """A generator that answers every request with one text, and does nothing else."""

    Expand = generator_pb2_grpc.GeneratorServiceServicer.Expand
    GetCapabilities = generator_pb2_grpc.GeneratorServiceServicer.GetCapabilities
    Judge = generator_pb2_grpc.GeneratorServiceServicer.Judge
    Rewrite = generator_pb2_grpc.GeneratorServiceServicer.Rewrite
    SearchWeb = generator_pb2_grpc.GeneratorServiceServicer.SearchWeb

    def __init__(self, text: str) -> None:
        self.text = text

    async def Answer(
        self, request: generator_pb2.AnswerRequest, context: Any
    ) -> AsyncIterator[generator_pb2.AnswerResponse]:
        sentence = generator_pb2.AnswerSentence(text=self.text)
        yield generator_pb2.AnswerResponse(sentence=sentence)
        yield generator_pb2.AnswerResponse(result=generator_pb2.AnswerResult(sentences=[sentence]))


def test_a_draft_by_rule_takes_a_fact_and_its_section() -> None:
    draft = rule_draft("mill", CHUNK)
    assert draft is not None
    assert draft.id == "draft-pump-manual-3"
    assert draft.page == 12
    assert draft.must_include == "E-47"
    assert draft.question == "What does Pump Manual say about 5 Faults / 5.2 Codes?"
    assert (
        rule_draft("mill", document_pb2.Chunk(body="Nothing here to be asked for at all.")) is None
    )


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        (
            "Q: What shows as E-47?\nA: A fault of the seal shows as E-47",
            "A fault of the seal shows as E-47",
        ),
        ("Q: What shows as E-47?\nA: Something the source does not say", None),
        ("I would rather not.", None),
    ],
)
async def test_a_draft_by_model_must_quote_the_chunk(text: str, quote: str | None) -> None:
    server = grpc.aio.server()
    generator_pb2_grpc.add_GeneratorServiceServicer_to_server(Writer(text), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=OPTIONS) as channel:
        stub = generator_pb2_grpc.GeneratorServiceStub(channel)
        draft = await model_draft(stub, (), "mill", CHUNK)
    await server.stop(None)
    assert (draft and draft.quote) == quote


def test_an_extractive_generator_writes_no_questions() -> None:
    with pytest.raises(FailedPrecondition, match="--by-rule"):
        require_model("extractive")
    require_model("anthropic")


async def test_drafts_are_refused_until_a_person_takes_the_tag_away(tmp_path: Path) -> None:
    line = "The seal of the pump fails with code E-47 when it leaks."
    document = document_pb2.Document(id=1, file_name="codes.txt", sha256="00")
    twice = document_pb2.Document(id=2, file_name="codes.txt", sha256="00")
    gateway = SmallGateway([("key", document, [line]), ("key", twice, [line])])
    async with serving(gateway) as address:
        there = Connection(address, {"mill": "key"})
        found = await drafts(there, "mill", 2, by_rule=True, secret=tmp_path / "none")
    (tmp_path / "codes.txt").write_text(line)
    (tmp_path / "manifest.yaml").write_text(
        "documents:\n- {path: codes.txt, organization: mill, pages: 1}\n"
    )
    path = tmp_path / "drafts.yaml"
    path.write_text(to_yaml(found, "manifest.yaml"))
    with pytest.raises(Exception, match="a draft is not a case yet"):
        load_golden([path])
    path.write_text(path.read_text().replace("- draft\n", "- code\n"))
    (case,) = load_golden([path]).cases
    assert case.must_include == (("E-47",),)


def test_chunks_are_taken_evenly() -> None:
    chunks = [document_pb2.Chunk(id=n) for n in range(10)]
    assert [chunk.id for chunk in spread(chunks, 3)] == [0, 3, 6]
    assert len(spread(chunks, 20)) == 10


def test_the_table_goes_between_its_marks(tmp_path: Path) -> None:
    text = table([Sized(1000, 100, None, "the embedder reads 256 tokens")])
    assert "| 1000 | 100 | refused: the embedder reads 256 tokens |" in text
    path = tmp_path / "CHUNKING.md"
    path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    fill(path, text)
    assert path.read_text() == f"before\n{BEGIN}\n{text}{END}\nafter\n"
    path.write_text("nothing")
    with pytest.raises(BadFile, match="no place for the table"):
        fill(path, text)
