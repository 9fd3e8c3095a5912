"""What every provider says of itself, and that none can leave it out."""

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

from folio.common.v1 import service_pb2
from services.colbert.encoders import ENCODERS
from services.crossencoder.models import SCORERS
from services.generator.assembly import GENERATORS
from services.generator.judges import JUDGES
from services.generator.providers import PROVIDERS
from services.generator.websearch import WEB_SEARCHES
from services.retriever.embedders import EMBEDDERS
from services.rpc.providers import entry

ROOT = Path(__file__).resolve().parent.parent
REGISTRIES: dict[str, Mapping[str, str]] = {
    "Embedder": EMBEDDERS,
    "Encoder": ENCODERS,
    "PairScorer": SCORERS,
    "Generator": {"extractive": GENERATORS["extractive"]},
    "Provider": PROVIDERS,
    "Judge": JUDGES,
    "WebSearch": WEB_SEARCHES,
}


def promised(target: str) -> str:
    """What the `create` of "module:class" says it returns; of a class that has none, what its parent's says."""
    module, _, name = target.partition(":")
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text())
    (found,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)
    for node in found.body:
        if isinstance(node, ast.FunctionDef) and node.name == "create":
            assert isinstance(node.returns, ast.Name), f"{target}.create"
            return node.returns.id
    (parent,) = (base.id for base in found.bases if isinstance(base, ast.Name))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and parent in [alias.name for alias in node.names]:
            return promised(f"{node.module}:{parent}")
    raise AssertionError(f"{target} has no create")


@pytest.mark.parametrize(
    ("protocol", "target"),
    [(name, target) for name, registry in REGISTRIES.items() for target in registry.values()],
)
def test_create_returns_the_protocol(protocol: str, target: str) -> None:
    """So mypy compares the class with the Protocol, and one that does not say `local` does not pass."""
    assert promised(target) == protocol


def test_an_entry_says_who_does_what_and_where() -> None:
    class Somebody:
        provider, model, local = "somebody", "a-model", False

    told = entry(service_pb2.PURPOSE_RERANK, Somebody(), "r1")
    assert (told.provider, told.model, told.revision) == ("somebody", "a-model", "r1")
    assert (told.purpose, told.local) == (service_pb2.PURPOSE_RERANK, False)
