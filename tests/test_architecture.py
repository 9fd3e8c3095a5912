"""Who may import whom, and what a file may be called."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SERVICES = {"gateway", "retriever", "colbert", "crossencoder", "generator", "encoder"}
# What services may share. The suite starts the services, so it alone knows them all; nothing imports it but the CLI.
ROOMS = {"rpc", "minilm", "outbound", "postgres", "rerank", "text"}
NAMELESS = {"utils", "util", "common", "helpers", "helper", "misc", "shared"}
# Told apart by what they work on: plain values in, plain values out.
PURE = [
    "services/text",
    "services/gateway/grounding",
    "folio/formats.py",
    "services/retriever/parsing/text.py",
    "services/retriever/ingest/chunking.py",
    "services/retriever/search/fusion.py",
    "services/retriever/documents.py",
    "evals/scoring",
    "evals/report",
    "native",
]


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        path = ROOT / folder
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def generated(path: Path) -> bool:
    return path.stem.endswith(("_pb2", "_pb2_grpc"))


def imports(path: Path) -> set[str]:
    """Full names of all that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def reaches(source: str) -> set[str]:
    """Services that a file's strings lead to: by a name of a module or file in them, or by a part of a path."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
        for name in re.findall(r"\bservices[./](\w+)", node.value)
    }
    for node in ast.walk(tree):
        parts: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            parts = [node.left, node.right]
        elif isinstance(node, ast.Call) and _joins_a_path(node.func):
            parts = node.args
        for part in parts:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                found |= set(Path(part.value).parts)
    return found & SERVICES


def _joins_a_path(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("Path", "PurePath", "joinpath", "join", "open", "files", "import_module")


@pytest.mark.parametrize(
    "line",
    [
        'MIGRATIONS = Path(__file__).parents[1] / "retriever" / "migrations"',
        'sql = (ROOT / "retriever/search/sparse.sql").read_text()',
        'sql = open("services/retriever/search/sparse.sql")',
        'sql = os.path.join(here, "..", "retriever", "migrations")',
        'sql = Path(__file__).parent.joinpath("../retriever/migrations")',
        'PROVIDERS = {"minilm": "services.retriever.embedders.minilm:MiniLMEmbedder"}',
        'command = [sys.executable, "-m", "services.retriever.admin"]',
        'print(f"{root}/services/retriever")',
    ],
)
def test_a_path_into_a_service_is_seen(line: str) -> None:
    assert reaches(line) == {"retriever"}


@pytest.mark.parametrize(
    "line",
    [
        '"""As services/retriever does."""',
        'service = "retriever"',
        'Path(__file__).parent / "a.sql"',
    ],
)
def test_a_name_alone_is_no_path(line: str) -> None:
    assert not reaches(line)


def test_no_service_reaches_into_another_by_path() -> None:
    for path in sources(*(f"services/{name}" for name in SERVICES | ROOMS)):
        others = reaches(path.read_text()) - {path.relative_to(ROOT / "services").parts[0]}
        assert not others, f"{path.relative_to(ROOT)} reaches into {sorted(others)}"


def test_no_service_imports_another() -> None:
    for path in sources(*(f"services/{service}" for service in SERVICES)):
        own = path.relative_to(ROOT / "services").parts[0]
        others = {
            name
            for name in imports(path)
            if name.startswith("services.") and name.split(".")[1] not in ROOMS | {own}
        }
        assert not others, f"{path.relative_to(ROOT)} imports {sorted(others)}"


def test_the_rooms_stand_on_no_service() -> None:
    for path in sources(*(f"services/{room}" for room in ROOMS)):
        assert not [
            name
            for name in imports(path)
            if name.split(".")[:2][-1] in SERVICES | {"suite"} and name.startswith("services.")
        ], path.relative_to(ROOT)


def test_text_is_the_lowest_room() -> None:
    for path in sources("services/text"):
        ours = [
            name for name in imports(path) if name.split(".")[0] in ("services", "folio", "native")
        ]
        assert all(name.startswith("services.text.") for name in ours), path.relative_to(ROOT)


def test_the_client_imports_no_service() -> None:
    runs_services = {"folio/cli/up.py", "folio/cli/demo.py", "folio/cli/admin.py"}
    for path in sources("folio"):
        if str(path.relative_to(ROOT)) not in runs_services and not generated(path):
            assert not [
                name for name in imports(path) if name.split(".")[0] in ("services", "native")
            ], path


def test_the_evaluation_is_a_client() -> None:
    """It asks over gRPC. What it shares with the services is a list; only what trains and studies parts loads them."""
    shared = {
        "services.rpc.errors",
        "services.rpc.identity",
        "services.rpc.providers",
        "services.suite",
        "services.gateway.calibration",
    }
    inside = {"training", "studies"}
    for path in sources("evals"):
        if inside & set(path.relative_to(ROOT).parts) and path.stem != "platt":
            continue
        loaded = {
            name
            for name in imports(path)
            if name.startswith(("services", "native"))
            and not {name, name.rpartition(".")[0]} & shared
        }
        assert not loaded, f"{path.relative_to(ROOT)} imports {sorted(loaded)}"


@pytest.mark.parametrize("where", PURE)
def test_pure_modules_see_neither_grpc_nor_protos(where: str) -> None:
    assert list(sources(where)), f"{where} is gone; correct this list"
    for path in sources(where):
        seen = [
            name
            for name in imports(path)
            if name.startswith(("grpc", "google.protobuf")) or "_pb2" in name
        ]
        assert not seen, f"{path.relative_to(ROOT)} imports {seen}"


def test_the_environment_is_read_in_settings_only() -> None:
    # The last one sets what other libraries read.
    allowed = {"settings.py", "suite.py", "services/__init__.py"}
    for path in sources("services", "folio", "native"):
        named = {path.name, str(path.relative_to(ROOT))}
        if not named & allowed and not generated(path):
            assert "os.environ" not in path.read_text(), (
                f"{path.relative_to(ROOT)} reads the environment"
            )


def test_libraries_that_report_to_their_makers_are_imported_where_that_is_off() -> None:
    reporting = {"onnxruntime", "openvino", "huggingface_hub", "sentence_transformers", "pylate"}
    for path in sources("folio", "native", "evals", "bench", "deploy"):
        loaded = {name.partition(".")[0] for name in imports(path)} & reporting
        assert not loaded, f"{path.relative_to(ROOT)} imports {sorted(loaded)} without services"


def test_no_drawers() -> None:
    for path in sources("services", "folio", "native", "evals", "tests", "bench"):
        if not generated(path):
            parts = {part.removesuffix(".py") for part in path.relative_to(ROOT).parts}
            # folio.common.v1 names what is common: the messages that several contracts share.
            assert not parts & (NAMELESS - {"common"}), path.relative_to(ROOT)


def test_servicers_have_async_methods_only() -> None:
    """A plain `def` in an asyncio server runs in a thread pool, without a word."""
    for path in sources("services"):
        if path.name != "servicer.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                plain = [
                    method.name
                    for method in node.body
                    if isinstance(method, ast.FunctionDef) and method.name[0].isupper()
                ]
                assert not plain, f"{path.relative_to(ROOT)}: {plain}"


def test_the_c_library_is_built_without_fast_math() -> None:
    for path in [*ROOT.glob("native/**/*.py"), *ROOT.glob("native/**/*.sh"), ROOT / "setup.py"]:
        text = path.read_text()
        assert "-ffast-math" not in text, path
        assert "-march=native" not in text, path
