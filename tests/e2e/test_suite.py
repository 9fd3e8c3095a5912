"""The whole suite as a user meets it: `folio up`, the clients, the command line, a restart, a kill."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from folio import AsyncFolio, CallFailed, Folio
from folio.cli.commands import app
from folio.common.v1 import document_pb2
from folio.gateway.v1 import gateway_pb2
from folio.messages import Steps
from services.rpc.errors import FailedPrecondition
from services.suite import Suite
from tests.processes import processes_in

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CORPUS = Path(__file__).resolve().parent.parent.parent / "evals" / "corpus"
HANDBOOK = CORPUS / "brackwater" / "people" / "staff-handbook-2025.pdf"
QUESTION = "How many days of paid leave do full-time staff have?"


@pytest.fixture(scope="module")
def folder(data_folders: Callable[[], Path]) -> Path:
    return data_folders()


@pytest.fixture(scope="module")
def suite(folder: Path) -> Iterator[Suite]:
    # The default, by its former name.
    former = {"FOLIO_PARENTS": "true"}
    with Suite(folder, ["acme", "globex"], port=0, environment=former) as running:
        with Folio(running.client.address, running.client.keys["acme"]) as acme:
            *_, last = acme.ingest(HANDBOOK, collection="people", kind="handbook")
            assert last.result.document.status == document_pb2.DOCUMENT_STATUS_READY
        yield running


@pytest.fixture
def acme(suite: Suite) -> Iterator[Folio]:
    with Folio(suite.client.address, suite.client.keys["acme"]) as client:
        yield client


def ranking(response: gateway_pb2.SearchResponse) -> list[int]:
    return [result.chunk.id for result in response.results]


def test_a_former_name_of_a_setting_is_told(suite: Suite) -> None:
    (remark,) = suite.remarks()
    assert remark.startswith("FOLIO_PARENTS is now called FOLIO_PASSAGES;")


def test_an_answer_can_be_checked_on_the_page(acme: Folio) -> None:
    reply = acme.ask(QUESTION)
    assert reply.WhichOneof("outcome") == "answered"
    citation = reply.answered.sentences[0].citations[0]
    assert "27 days" in citation.quote
    assert (citation.file_name, citation.page_label) == (HANDBOOK.name, "4")
    assert citation.link == f"{HANDBOOK.name}#page={citation.page + 1}"
    assert citation.located
    image = acme.page_image(
        citation.document_id, citation.page, highlight=(citation.char_start, citation.char_end)
    )
    assert image.png.startswith(b"\x89PNG")
    assert [region.page for region in image.regions] == [citation.page]


def test_streamed_and_unary_answers_are_equal(acme: Folio) -> None:
    events = list(acme.stream_ask(QUESTION))
    assert events[0].HasField("started")
    final, unary = events[-1].final, acme.ask(QUESTION)
    assert final.answered == unary.answered
    assert [event.sentence for event in events if event.HasField("sentence")] == list(
        final.answered.sentences
    )


def test_sending_a_file_again_changes_nothing(acme: Folio) -> None:
    *_, last = acme.ingest(HANDBOOK, collection="people", kind="handbook")
    assert last.result.unchanged
    assert len(list(acme.documents())) == 1


def test_another_organization_sees_nothing(suite: Suite, acme: Folio) -> None:
    document = next(acme.documents())
    with Folio(suite.client.address, suite.client.keys["globex"]) as globex:
        assert list(globex.documents()) == []
        assert globex.search(QUESTION).results == []
        assert globex.ask(QUESTION).WhichOneof("outcome") == "abstained"
        for forbidden in (globex.document, globex.delete, lambda one: globex.page_image(one, 0)):
            with pytest.raises(CallFailed) as caught:
                forbidden(document.id)
            assert caught.value.code == "NOT_FOUND"


async def test_the_asyncio_client_says_the_same(suite: Suite, acme: Folio) -> None:
    async with AsyncFolio(suite.client.address, suite.client.keys["acme"]) as client:
        assert ranking(await client.search(QUESTION)) == ranking(acme.search(QUESTION))
        assert [document.file_name async for document in client.documents()] == [HANDBOOK.name]
        with pytest.raises(CallFailed) as caught:
            await client.ask("")
        assert caught.value.code == "INVALID_ARGUMENT"
        assert caught.value.violations[0].field == "question"


def test_the_command_line(suite: Suite, folder: Path, acme: Folio) -> None:
    def run(*arguments: str) -> str:
        options = ["--folder", str(folder), "--organization", "acme"]
        result = CliRunner().invoke(app, [*options, *arguments])
        assert result.exit_code == 0, result.output
        return result.output

    assert "27 days" in run("ask", QUESTION)
    assert json.loads(run("ask", "--json", QUESTION))["answered"]["sentences"]
    assert "Staff Handbook" in run("search", QUESTION, "--without", "colbert")
    assert "retriever" in run("status")
    assert "Brackwater" in run("documents", "list")
    assert (
        json.loads(run("documents", "show", str(next(acme.documents()).id)))["file_name"]
        == HANDBOOK.name
    )
    refused = CliRunner().invoke(
        app, ["--folder", str(folder), "-o", "acme", "search", "x", "--with", "nonsense"]
    )
    assert refused.exit_code == 2
    assert "no step nonsense" in refused.output


def test_a_batch_goes_on_after_a_file_that_fails(
    suite: Suite, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "a-empty.txt").write_bytes(b"")
    (tmp_path / "b-broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    (tmp_path / "c-good.md").write_text("# Kettle\n\nThe kettle is descaled every second Monday.\n")
    arguments = ["--folder", str(folder), "-o", "globex", "ingest", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert result.output.count("failed") == 2
    assert "c-good.md" in result.output
    with Folio(suite.client.address, suite.client.keys["globex"]) as globex:
        ready = [
            document.file_name
            for document in globex.documents()
            if document.status == document_pb2.DOCUMENT_STATUS_READY
        ]
        assert ready == ["c-good.md"]
        for document in globex.documents():
            globex.delete(document.id)


def test_a_port_that_another_program_has_is_not_taken_for_ours(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(FailedPrecondition, match=f"port {port} is in use"):
            Suite(tmp_path, ["acme"], port=port).__enter__()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_running_and_a_restart_finds_the_same(
    data_folder: Path, number: signal.Signals
) -> None:
    @contextmanager
    def up(*options: str) -> Iterator["subprocess.Popen[bytes]"]:
        command = [sys.executable, "-m", "folio.cli", "--folder", str(data_folder)]
        process = subprocess.Popen(
            [*command, "up", *options, "--port", "0"], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        try:
            assert any(b"is up on" in line for line in process.stdout)
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)

    def search() -> list[int]:
        client = json.loads((data_folder / "client.json").read_text())
        with Folio(client["address"], client["keys"]["acme"]) as acme:
            *_, last = acme.ingest(b"# Tea\n\nThe kettle holds two litres.\n", "tea.md")
            assert last.HasField("result")
            return [
                identifier
                for steps in (Steps(sparse=False), Steps(dense=False), Steps())
                for identifier in ranking(acme.search("kettle", steps=steps))
            ]

    with up("--create", "acme") as process:
        before = search()
        assert len(before) == 3
        process.send_signal(number)
        process.wait(timeout=60)
    until = time.monotonic() + 60
    while (left := processes_in(data_folder)) and time.monotonic() < until:
        time.sleep(0.2)
    assert not left
    with up():
        assert search() == before


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "until", ["postgres/data.new", "postgres/log", "logs/retriever.log", "logs/gateway.log"]
)
def test_ctrl_c_while_it_starts_ends_it_and_leaves_nothing(data_folder: Path, until: str) -> None:
    command = [sys.executable, "-m", "folio.cli", "--folder", str(data_folder), "up"]
    process = subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE)
    while process.poll() is None and not (data_folder / until).exists():
        time.sleep(0.01)
    # The further ones of an impatient person cut nothing short, up to the very end of the process.
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    # At once: what it started has ended before it.
    left = processes_in(data_folder)
    _, said = process.communicate()
    assert not left, said
    assert process.returncode == 130
    assert b"commands.py" not in said, said
    assert not (data_folder / "client.json").exists()
