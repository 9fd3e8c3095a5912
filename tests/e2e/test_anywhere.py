"""`folio` from any working folder, from a checkout and from a wheel: it reads and writes where it was told, only."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
HANDBOOK = ROOT / "evals" / "corpus" / "brackwater" / "people" / "staff-handbook-2025.pdf"
PACKAGED = (*("buf", "evals", "folio", "native", "services"), "pyproject.toml", "setup.py")
BESIDE = ("MANIFEST.in", "README.md", "LICENSE")


class Installed:
    """A `folio` that runs in the folder `here` with an empty home."""

    def __init__(self, command: list[str], here: Path, **environment: str) -> None:
        self.here, self.home = here / "here", here / "home"
        self.here.mkdir()
        self.home.mkdir()
        self._command = command
        known = ("PATH", "TMPDIR", "LANG")
        self._environment = {
            **{name: os.environ[name] for name in known if name in os.environ},
            "HOME": str(self.home),
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        }

    def run(self, *arguments: str) -> str:
        """What it prints. It must succeed."""
        done = subprocess.run(
            [*self._command, *arguments],
            cwd=self.here,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def up(self, *arguments: str) -> Iterator[None]:
        """`folio up`, until the block ends."""
        process = subprocess.Popen(
            [*self._command, *arguments, "up", "--port", "0"],
            cwd=self.here,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert process.stdout is not None
        try:
            said = ""
            for line in process.stdout:
                said += line
                if "is up on" in line:
                    break
            else:
                raise AssertionError(said)
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)


def from_checkout(here: Path) -> Installed:
    # -P: what lies in the working folder is not ours.
    return Installed([sys.executable, "-P", "-m", "folio.cli"], here, PYTHONPATH=str(ROOT))


def from_wheel(here: Path) -> Installed:
    """A wheel of this checkout in an environment of its own, with the other packages of ours."""
    if int(metadata.version("setuptools").split(".")[0]) < 77:
        pytest.skip("setuptools is too old to build Folio; run `make setup`")
    source = here / "source"
    source.mkdir()
    for name in PACKAGED + BESIDE:
        if (ROOT / name).is_dir():
            built = shutil.ignore_patterns("__pycache__", "*.so", "*.o", "_maxsim.c")
            shutil.copytree(ROOT / name, source / name, ignore=built)
        else:
            shutil.copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    wheels, environment = here / "wheels", here / "environment"
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), "."],
        cwd=source,
        check=True,
    )
    shutil.rmtree(source)
    venv.create(environment, with_pip=False, symlinks=True)
    python = str(environment / "bin" / "python")
    paths = {"base": str(environment), "platbase": str(environment)}
    packages = Path(sysconfig.get_path("purelib", "venv", vars=paths))
    install = ["install", "--no-deps", "--no-index", "--ignore-installed"]
    subprocess.run(
        [*pip, "--python", python, *install, *map(str, wheels.iterdir())], cwd=here, check=True
    )
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Installed([str(environment / "bin" / "folio")], here)


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def place(data_folder: Path) -> Path:
    data_folder.mkdir(0o711)
    return data_folder


@pytest.mark.parametrize("install", [from_checkout, from_wheel])
def test_it_works_in_a_folder_that_is_no_checkout(install: object, place: Path) -> None:
    assert callable(install)
    folio = install(place)
    # What a user may well have beside the documents.
    for name in ("services", "folio", "evals"):
        (folio.here / name).mkdir()
        (folio.here / name / "__init__.py").write_text("raise SystemExit('not mine')")
    shutil.copy(HANDBOOK, folio.here)
    before, installed = files_in(folio.here), files_in(place) - files_in(folio.here)
    with folio.up("--folder", "data"):
        options = ("--folder", "data")
        assert "retriever" in folio.run(*options, "status")
        assert "ingested" in folio.run(*options, "ingest", HANDBOOK.name)
        answer = folio.run(*options, "ask", "How many days of paid annual leave do staff have?")
        assert "27 days" in answer
        data = files_in(folio.here / "data")
        assert any(name.startswith("cache/") for name in data)
        assert {"keys.yaml", "client.json"} <= data
    written = {f for f in files_in(folio.here) - before if not f.startswith("data/")}
    assert not written
    elsewhere = {f for f in files_in(place) - installed if not f.startswith("here/")}
    assert not elsewhere


def test_the_demo_is_in_the_wheel(place: Path) -> None:
    folio = from_wheel(place)
    assert "5 of 5 questions" in folio.run("demo")
    assert {path.name for path in folio.here.iterdir()} == {".folio"}
