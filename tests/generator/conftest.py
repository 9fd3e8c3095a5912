"""The generator as it is deployed: a real gRPC server around real parts."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from folio.generator.v1 import generator_pb2_grpc
from services.generator.answers import Generator
from services.generator.expand import Expander
from services.generator.expand.synonyms import SynonymExpander, SynonymFolder
from services.generator.extractive.generator import ExtractiveGenerator
from services.generator.judges import Judge
from services.generator.rewrite import Rewriter
from services.generator.rewrite.rules import RulesRewriter
from services.generator.servicer import GeneratorServicer, Parts
from services.generator.websearch import WebSearch
from services.minilm.model import MiniLM
from services.rpc.identity import Principal
from services.rpc.limits import Gate
from services.rpc.testing import running

ACME = Principal(organization_id=7, subject="tests")
# Exists for type checkers only.
if TYPE_CHECKING:
    Stub = generator_pb2_grpc.GeneratorServiceAsyncStub
else:
    Stub = Any


@pytest.fixture(scope="session")
def minilm() -> MiniLM:
    return MiniLM.load()


@pytest.fixture(scope="session")
def extractive(minilm: MiniLM) -> ExtractiveGenerator:
    return ExtractiveGenerator(minilm)


@asynccontextmanager
async def serving(
    generator: Generator,
    *,
    fallback: Generator | None = None,
    rewriter: Rewriter | None = None,
    expander: Expander | None = None,
    judge: Judge | None = None,
    web: WebSearch | None = None,
    gate: Gate | None = None,
) -> AsyncIterator[Stub]:
    """A server with these parts and a stub that acts for ACME."""
    parts = Parts(
        generator=generator,
        fallback=fallback,
        rewriter=rewriter or RulesRewriter(),
        expander=expander or SynonymExpander(SynonymFolder(None)),
        judge=judge,
        web=web,
        rewrites_with_model=False,
        max_output_tokens=512,
    )
    servicer = GeneratorServicer(parts, gate or Gate(8, 8))
    async with running("generator", servicer.register, ACME) as channel:
        yield generator_pb2_grpc.GeneratorServiceStub(channel)


class Serve(Protocol):
    def __call__(
        self, generator: Generator, **parts: object
    ) -> AbstractAsyncContextManager[Stub]: ...


@pytest.fixture
def serve() -> Serve:
    return serving  # type: ignore[return-value]
