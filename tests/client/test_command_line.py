"""What a person sees when something is wrong: one line that says what, an exit status, never a stack."""

import os
import signal
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from folio import Folio
from folio.cli.commands import app

# A port that nobody listens on.
NOWHERE = ["--address", "127.0.0.1:9", "--api-key", "k"]


def run(*arguments: str, stdin: bytes | None = None) -> tuple[int, str]:
    result = CliRunner().invoke(app, arguments, input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, " ".join(result.output.split())


def test_without_a_gateway_it_says_how_to_start_one() -> None:
    code, said = run(*NOWHERE, "status")
    assert code == 1
    assert "UNAVAILABLE" in said
    assert "`folio up` starts one" in said


@pytest.mark.parametrize(
    ("absent", "arguments", "extra"),
    [
        ("typer", ["status"], "cli"),
        ("yaml", ["up"], "all"),
        ("psycopg", ["admin", "migrate"], "all"),
        ("numpy", ["eval", "run"], "all"),
    ],
)
def test_a_package_that_is_not_installed_is_named(
    absent: str, arguments: list[str], extra: str, tmp_path: Path
) -> None:
    code = f"import sys; sys.modules[{absent!r}] = None; from folio.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert f"needs '{absent}': pip install 'folio[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_image_without_typer_or_a_database_driver_makes_keys(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['typer', 'rich', 'psycopg', 'numpy']));"
        "from folio.cli import main; main()"
    )
    options = ["--organization-id", "1", "--keys-file", str(tmp_path / "keys.yaml")]
    done = subprocess.run(
        [sys.executable, "-c", code, "admin", "keys", "create", *options],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("folio_")


def test_the_version_is_that_of_the_package() -> None:
    assert run("--version") == (0, f"folio {metadata.version('folio')}")


@pytest.mark.parametrize(
    ("module", "arguments", "says"),
    [
        ("services.gateway.keys", ["list", "--keys-file", "none"], "there is no keys file none"),
        ("services.retriever.admin", ["models"], "DATABASE_ADMIN_URL"),
        ("services.retriever.admin", ["migrate"], "DATABASE_ADMIN_URL"),
    ],
)
def test_a_former_command_works_and_says_the_new_one(
    module: str, arguments: list[str], says: str
) -> None:
    environment = {name: v for name, v in os.environ.items() if not name.startswith("DATABASE")}
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "this is now `folio admin" in done.stderr
    assert says in done.stderr


def test_a_gateway_on_this_machine_is_not_sought_through_a_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:3")
    for name in ("no_proxy", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert "127.0.0.1:9:" in run(*NOWHERE, "status")[1]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "run `folio up` in another terminal"),
        (["--address", "127.0.0.1:9"], "no API key: add --api-key"),
        (["--api-key", "k"], "no server: add --address"),
    ],
)
def test_what_is_missing_to_call_a_gateway_is_named(
    given: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FOLIO_ADDRESS", "FOLIO_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    code, said = run("--folder", str(tmp_path), *given, "status")
    assert code == 2
    assert says in said


@pytest.mark.parametrize("written", ["yesterday", "1.2.2025", "20250131", "2025-02-30"])
def test_a_date_is_checked_before_any_call(written: str) -> None:
    for arguments in (["ask", "q", "--from"], ["search", "q", "--until"]):
        code, said = run(*NOWHERE, *arguments, written)
        assert code == 2
        assert "a date as 2025-01-31" in said


def test_what_cannot_be_a_key_is_refused_before_any_call() -> None:
    code, said = run("--address", "127.0.0.1:9", "--api-key", "schl\u00fcssel", "status")
    assert code == 2
    assert "keys do not have" in said
    with pytest.raises(ValueError, match="keys do not have"):
        Folio("127.0.0.1:9", "two\nlines")


def test_a_text_that_is_no_utf8_is_named() -> None:
    assert run(*NOWHERE, "ask", "\udcff hello") == (
        2,
        "an argument or the input of this command is not UTF-8",
    )
    assert run(*NOWHERE, "ask", "-", stdin=b"\xff\xfe") == (
        2,
        "an argument or the input of this command is not UTF-8",
    )


@pytest.mark.parametrize("text", ["{", "[]", '{"address": "x"}'])
def test_a_broken_profile_is_named(tmp_path: Path, text: str) -> None:
    profile = tmp_path / "client.json"
    profile.write_text(text)
    code, said = run("--folder", str(tmp_path), "status")
    assert code == 2
    assert f"{profile} is not a file that `folio up` wrote; run `folio up` again" in said


def test_without_a_server_it_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, said = run("status")
    assert code == 2
    assert f"(it is not in {tmp_path / '.folio'})" in said


@pytest.mark.parametrize("columns", ["20", "300"])
def test_what_a_pipe_gets_is_not_folded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    long = " ".join(["a very long folder"] * 12)
    usage = CliRunner().invoke(app, ["--folder", str(tmp_path), "status", "--no-such-option"])
    assert "Error: No such option: --no-such-option" in usage.output.splitlines()
    failed = CliRunner().invoke(app, [*NOWHERE, "ingest", str(tmp_path)])
    assert failed.output == "nothing to ingest: no file there has a supported type\n"
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / long
    refused = CliRunner().invoke(app, ["--folder", str(folder), "up", "--port", "0"])
    said = f"the folder {folder} is not writable: Not a directory"
    assert said in refused.output.splitlines()


def test_up_that_fails_leaves_the_signals_as_they_were(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    (tmp_path / "file").touch()
    assert run("--folder", str(tmp_path / "file" / "in"), "up", "--port", "0")[0] == 1
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_terminal_without_a_letter_shows_a_question_mark(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "folio.cli", "--folder", str(tmp_path / "\u0142\u0142"), "up"]
    (tmp_path / "\u0142\u0142").touch()
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert b"/?? is not writable" in done.stderr


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, said = run("--folder", str(tmp_path / "file" / "in"), "up", "--port", "0")
    assert code == 1
    assert "is not writable" in said


def test_ctrl_c_ends_a_question_with_130_and_no_stack() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process = subprocess.Popen(
            [sys.executable, "-m", "folio.cli", "--api-key", "k", "ask", "Is anybody there?"],
            env={**os.environ, "FOLIO_ADDRESS": f"127.0.0.1:{silent.getsockname()[1]}"},
            stderr=subprocess.PIPE,
        )
        # It has connected, so it is in its call; nobody will answer.
        connection, _ = silent.accept()
        with connection:
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in said
