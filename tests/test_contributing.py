"""What the recipes of CONTRIBUTING.md say is all there is to touch; tests/test_docs.py checks that the paths exist."""

import re
from pathlib import Path

import pytest

from folio.gateway.v1 import gateway_pb2
from services.colbert.encoders import ENCODERS
from services.colbert.settings import ColbertSettings
from services.crossencoder.models import SCORERS
from services.crossencoder.settings import CrossEncoderSettings
from services.generator.judges import JUDGES
from services.generator.settings import GeneratorSettings
from services.generator.websearch import WEB_SEARCHES
from services.retriever.embedders import EMBEDDERS
from services.retriever.settings import RetrieverSettings
from tests.test_architecture import ROOMS

ROOT = Path(__file__).resolve().parent.parent
RECIPES = (ROOT / "CONTRIBUTING.md").read_text()
# Where providers live, their registry, and the setting that chooses one.
KINDS = {
    "services/retriever/embedders": (EMBEDDERS, RetrieverSettings.model_fields["embedder"]),
    "services/colbert/encoders": (ENCODERS, ColbertSettings.model_fields["encoder"]),
    "services/crossencoder/models": (SCORERS, CrossEncoderSettings.model_fields["provider"]),
    "services/generator/judges": (JUDGES, GeneratorSettings.model_fields["judge"]),
    "services/generator/websearch": (WEB_SEARCHES, GeneratorSettings.model_fields["web_search"]),
}
C = ROOT / "native" / "maxsim"


def recipe(wish: str) -> str:
    """What one touches to fulfil a wish."""
    (row,) = re.findall(rf"^\| {re.escape(wish)} \| (.*) \|$", RECIPES, re.M)
    return str(row)


@pytest.mark.parametrize("folder", KINDS)
def test_every_provider_has_its_line_and_its_name_in_the_setting(folder: str) -> None:
    listed, setting = KINDS[folder]
    assert f"`{folder}/" in recipe("add a model provider")
    package = folder.replace("/", ".")
    modules = {f"{package}.{path.stem}" for path in (ROOT / folder).glob("*.py")} - {
        f"{package}.__init__"
    }
    # A folder may also hold what several of its providers share: they import it.
    used = {
        found
        for path in (ROOT / folder).glob("*.py")
        for found in re.findall(
            rf"^from ({re.escape(package)}\.\w+) import", path.read_text(), re.M
        )
    }
    assert modules <= used | {target.partition(":")[0] for target in listed.values()}
    for name in listed:
        assert name in str(setting.description), f"say {name} in the setting's description"


def test_a_simd_target_is_in_all_the_places_of_its_recipe() -> None:
    told = recipe("add a SIMD target")
    for file in ("kernel.h", "dispatch.c", "x86.h", "x86.c", "native/README.md", "native/check.sh"):
        assert f"`{file}`" in told, file
    header, table = (C / "kernel.h").read_text(), (C / "dispatch.c").read_text()
    read_me = (ROOT / "native" / "README.md").read_text()
    written = {
        name: path
        for path in C.glob("*.c")
        for name in re.findall(
            r"^(?:[A-Z0-9]+ )?int (\w+)_supported\(void\)", path.read_text(), re.M
        )
    }
    targets = re.findall(r'^ +\{"(\w+)", (\w+)_supported', table, re.M)
    assert {first for first, _ in targets} == set(written), "a row of dispatch.c, or its file"
    for name, function in targets:
        assert name == function
        assert re.search(rf"\b{name}_supported\(void\)", header), f"declare it in kernel.h: {name}"
        assert re.search(rf"^\| {name} \|", read_me, re.M), f"a row of native/README.md: {name}"
    flags = set(re.findall(r"\bX86_\w+", (C / "x86.h").read_text()))
    for path in written.values():
        used = set(re.findall(r"\bX86_\w+", path.read_text()))
        assert used <= flags, path.name
    detected = set(re.findall(r"\bX86_\w+", (C / "x86.c").read_text()))
    assert detected == flags, "detect() in x86.c"


def test_a_method_of_the_public_api_is_in_all_the_places_of_its_recipe() -> None:
    told = recipe("add a method to the public API")
    client = (ROOT / "folio" / "client.py").read_text()
    servicer = (ROOT / "services" / "gateway" / "servicer.py").read_text()
    page = (ROOT / "docs" / "api.md").read_text()
    for file in ("folio/client.py", "folio/messages.py", "services/gateway/servicer.py"):
        assert f"`{file}`" in told, file
    for method in gateway_pb2.DESCRIPTOR.services_by_name["GatewayService"].methods:
        assert client.count(f"self._stub.{method.name}") == 2, f"in both clients: {method.name}"
        assert f"async def {method.name}(" in servicer
        assert f"| `{method.name}` |" in page, "make protos"


def test_the_rooms_are_named() -> None:
    for room in ROOMS:
        assert f"`services/{room}`" in RECIPES
