"""The documents name only what there is."""

import contextlib
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer

from bench.cli import app as benchmarks
from evals.cli import app as evaluation
from folio.cli import admin
from folio.cli.commands import app

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHUNKING.md"),
    *("deploy/README.md", "evals/README.md", "evals/golden/README.md", "evals/corpus/README.md"),
    *("native/README.md", "bench/README.md", "docs/demo.md", "SECURITY.md", "CHANGELOG.md"),
]
# A folder has a slash; a file has one of the endings that this repository has.
PATH = re.compile(
    r"(?:[\w.-]+/)+(?:[\w.-]+)?|[\w-][\w.-]*\.(?:c|h|py|sh|md|sql|toml|txt|ya?ml|json)"
)
# In an environment that is made, or in a package.
ELSEWHERE = {"validate.proto"}


def tracked() -> set[str]:
    """Every file of the repository, and every folder that holds one."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\n")
    if listed == [""]:
        pytest.skip("not a checkout")
    return {str(p) for name in listed if name for p in (Path(name), *Path(name).parents)} - {"."}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_that_a_document_names_exist(document: str) -> None:
    known, text = tracked(), (ROOT / document).read_text()
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    named = {word for word in re.findall(r"`([^`\n]+)`", text) if PATH.fullmatch(word)} - ELSEWHERE
    # Below a table or a heading that says where one is, a path is given from there.
    tails = {
        "/".join(path.split("/")[start:]) for path in known for start in range(path.count("/") + 1)
    }
    assert not {word for word in named if word.rstrip("/") not in tails}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_lines_of_a_document_fit(document: str) -> None:
    """Tables and code excepted."""
    text = re.sub(
        r"^```.*?^```|^(?:\||    )[^\n]*$", "", (ROOT / document).read_text(), flags=re.M | re.S
    )
    assert not [line for line in text.splitlines() if len(line) > 120]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_of_a_document_resolve(document: str) -> None:
    path = ROOT / document
    links = re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", path.read_text())
    assert not [link for link in links if not (path.parent / link).exists()]


def test_targets_that_documents_name_are_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for document in DOCUMENTS:
        for words in re.findall(r"(?:`|^ {4})make ([a-z -]+)", (ROOT / document).read_text(), re.M):
            assert set(words.split()) <= targets, document


@pytest.mark.parametrize("document", DOCUMENTS)
def test_modules_that_a_document_runs_exist(document: str) -> None:
    ours = r"python -m ((?:folio|services|native|evals|bench|deploy)[\w.]*)"
    for module in re.findall(ours, (ROOT / document).read_text()):
        path = ROOT.joinpath(*module.removesuffix(".NAME").split("."))
        assert path.with_suffix(".py").exists() or path.is_dir(), module


def misspelt(command: Any, words: list[str]) -> str:
    """The first word of a command line that is no command or option of `command`; "" if there is none."""
    words = list(words)
    while words:
        word = words.pop(0)
        if word.startswith("-"):
            known = {name: each for each in command.params for name in each.opts}
            if word not in known:
                return word
            if not known[word].is_flag:
                del words[:1]
        elif hasattr(command, "commands"):
            if word not in command.commands:
                return word
            command = command.commands[word]
    return ""


def misspelt_admin(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is wrong with the arguments of `folio admin`; "" if nothing, or if some are left out."""
    with contextlib.suppress(SystemExit):
        admin.parser().parse_args(words)
    said = capsys.readouterr().err
    return "" if "are required" in said else said


def test_commands_that_documents_name_exist(capsys: pytest.CaptureFixture[str]) -> None:
    root: Any = typer.main.get_command(app)
    # The two that hand their words on.
    root.commands |= {
        "eval": typer.main.get_command(evaluation),
        "bench": typer.main.get_command(benchmarks),
    }
    results = [str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "results").glob("*.md")]
    for document in [*DOCUMENTS, *results]:
        text = (ROOT / document).read_text()
        for line in re.findall(r"(?:^ {4}|`|\.venv/bin/)folio ([^`\n#]*)", text, re.M):
            words = shlex.split(line)
            wrong = (
                misspelt_admin(words[1:], capsys)
                if words[:1] == ["admin"]
                else misspelt(root, words)
            )
            assert not wrong, f"{document}: folio {line}: {wrong}"
    assert misspelt(root, ["eval", "gait"]) == "gait"
    assert "invalid choice" in misspelt_admin(["migrat"], capsys)
    assert misspelt(root, ["eval", "gate", "--keys", "x"]) == "--keys"
