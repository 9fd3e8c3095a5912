"""What happens when a part of the suite dies: what is under way, and how it comes back."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from folio import CallFailed, Folio
from folio.common.v1 import document_pb2, step_pb2
from folio.gateway.v1 import gateway_pb2
from services.colbert.settings import ColbertSettings
from services.generator.assembly import GENERATORS
from services.generator.judges import JUDGES
from services.generator.settings import GeneratorSettings
from services.restarts import Restarts
from services.retriever.settings import RetrieverSettings
from services.rpc.errors import Unavailable
from services.suite import ENCODER_USERS, Service, Suite, _uses_encoder
from tests.processes import processes_in

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

HANDBOOK = Path(__file__).parents[2] / "evals/corpus/brackwater/people/staff-handbook-2025.pdf"
QUESTION = "How many days of paid leave do full-time staff have?"
PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def suite(data_folders: Callable[[], Path]) -> Iterator[Suite]:
    # Read when the generator starts: without it the generator ends at once.
    folder = data_folders()
    folder.mkdir()
    (folder / "prices.yaml").write_text("{}\n")
    environment = {"FOLIO_PRICES": str(folder / "prices.yaml")}
    with Suite(folder, ["acme"], port=0, environment=environment) as running:
        with Folio(running.client.address, running.client.keys["acme"]) as client:
            list(client.ingest(HANDBOOK))
        yield running


@pytest.fixture
def acme(suite: Suite) -> Iterator[Folio]:
    with Folio(suite.client.address, suite.client.keys["acme"]) as client:
        yield client


def service(suite: Suite, name: str) -> Service:
    return next(each for each in suite.services if each.name == name)


def kill(suite: Suite, name: str) -> Service:
    killed = service(suite, name)
    killed.process.kill()
    killed.process.wait()
    return killed


def revived(suite: Suite, until: str) -> list[str]:
    """What the suite says until it says this."""
    said: list[str] = []
    end = time.monotonic() + PATIENCE_S
    while until not in said:
        assert time.monotonic() < end, said
        said += suite.revive()
        time.sleep(0.05)
    return said


def degraded(acme: Folio) -> set[int]:
    found = acme.search(f"{QUESTION} {time.monotonic()}")
    assert found.results
    return {step.step for step in found.steps if step.status == step_pb2.STEP_STATUS_DEGRADED}


def await_whole(acme: Folio) -> None:
    """Until a search needs nobody who is away: callers try again to reach a service after a while."""
    until = time.monotonic() + PATIENCE_S
    while True:
        with contextlib.suppress(CallFailed):
            if not degraded(acme):
                return
        assert time.monotonic() < until
        time.sleep(0.2)


def test_without_the_encoder_words_are_searched_and_vectors_again_when_it_is_back(
    suite: Suite, acme: Folio
) -> None:
    kill(suite, "encoder")
    assert degraded(acme) == {step_pb2.STEP_SEARCH, step_pb2.STEP_COLBERT}
    states = {state.service: state.reachable for state in acme.status().services}
    assert states == {"retriever": True, "colbert": True, "generator": True, "encoder": False}
    stopped, _ = revived(suite, "encoder is up again")
    assert re.match(r"encoder has stopped \(SIGKILL\); starting it again in 0.5 s; see /", stopped)
    await_whole(acme)
    until = time.monotonic() + PATIENCE_S
    while not all(state.reachable for state in acme.status().services):
        assert time.monotonic() < until
        time.sleep(0.2)


def test_an_ingest_goes_on_when_the_encoder_is_back(suite: Suite, acme: Folio) -> None:
    text = "\n\n".join(f"The kettle of room {n} holds {n} litres. " * 12 for n in range(120))
    begun, ended = threading.Event(), threading.Event()
    last: list[gateway_pb2.IngestResponse] = []

    def ingest() -> None:
        try:
            for event in acme.ingest(text.encode(), "kettles.txt"):
                if event.progress.step == step_pb2.STEP_EMBED and event.progress.done:
                    begun.set()
                last[:] = [event]
        finally:
            begun.set()
            ended.set()

    thread = threading.Thread(target=ingest)
    thread.start()
    assert begun.wait(PATIENCE_S)
    assert not ended.is_set()
    kill(suite, "encoder")
    revived(suite, "encoder is up again")
    thread.join(PATIENCE_S)
    document = last[0].result.document
    assert document.status == document_pb2.DOCUMENT_STATUS_READY
    assert document.warnings == []


def test_an_ingest_whose_retriever_dies_says_try_again_and_nothing_of_it_is_seen(
    suite: Suite, acme: Folio
) -> None:
    text = "\n\n".join(f"The lamp of room {n} has {n} watts. " * 12 for n in range(120))
    ready = document_pb2.DOCUMENT_STATUS_READY
    before = {document.file_name for document in acme.documents() if document.status == ready}

    def kill_it(event: gateway_pb2.IngestResponse) -> None:
        if event.progress.step == step_pb2.STEP_EMBED and event.progress.done:
            kill(suite, "retriever")

    with pytest.raises(CallFailed) as caught:
        list(map(kill_it, acme.ingest(text.encode(), "lamps.txt")))
    assert caught.value.code == "UNAVAILABLE"
    assert caught.value.retry_after_s
    revived(suite, "retriever is up again")
    await_whole(acme)
    assert {each.file_name for each in acme.documents() if each.status == ready} == before
    seen = {found.chunk.file_name for found in acme.search("lamp watts").results}
    assert "lamps.txt" not in seen
    *_, again = acme.ingest(text.encode(), "lamps.txt")
    assert again.result.document.status == ready


def test_postgresql_is_started_again_and_callers_find_it(suite: Suite, acme: Folio) -> None:
    assert suite._postgres is not None
    process = suite._postgres._process
    assert process is not None
    process.kill()
    process.wait()
    said = revived(suite, "PostgreSQL is up again")
    assert said[0] == "PostgreSQL has stopped; starting it again in 0.5 s"
    await_whole(acme)


def test_a_service_that_dies_at_its_start_three_times_lives_the_fourth(
    suite: Suite, acme: Folio
) -> None:
    prices = suite.folder / "prices.yaml"
    prices.rename(prices.with_suffix(".away"))
    kill(suite, "generator")
    said: list[str] = []
    while len(said) < 4:
        said += suite.revive()
        time.sleep(0.05)
    assert "SIGKILL" in said[0]
    assert all("exit status 1" in line for line in said[1:])
    waits = [re.findall(r"in ([\d.]+) s;", line)[0] for line in said]
    assert waits == ["0.5", "1", "2", "4"]
    # While it is away a question is answered by its sources.
    assert acme.ask(QUESTION).WhichOneof("outcome") == "unavailable"
    prices.with_suffix(".away").rename(prices)
    assert revived(suite, "generator is up again") == ["generator is up again"]


def test_a_service_that_keeps_dying_ends_it_with_the_reason(suite: Suite) -> None:
    prices = suite.folder / "prices.yaml"
    prices.rename(prices.with_suffix(".away"))
    generator = kill(suite, "generator")
    generator.restarts = Restarts((0.0, 0.0))
    with pytest.raises(Unavailable, match=r"generator keeps stopping:(.|\n)*prices\.yaml"):
        revived(suite, "generator is up again")
    prices.with_suffix(".away").rename(prices)
    generator.restarts = Restarts((0.0,))
    revived(suite, "generator is up again")


@contextmanager
def up(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "folio.cli", "--folder", str(folder), "up", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as it:
        try:
            assert it.stdout is not None
            assert any("is up on" in line for line in it.stdout)
            yield it
        finally:
            it.kill()


def process_of(folder: Path, name: str) -> int:
    """Of `folio up`'s service."""
    (found,) = (
        number
        for number in processes_in(folder)
        if f"services.{name}\0".encode() in Path(f"/proc/{number}/cmdline").read_bytes()
    )
    return found


def test_folio_up_says_so_and_ctrl_c_while_it_waits_leaves_nothing(data_folder: Path) -> None:
    with up(data_folder) as process:
        assert process.stderr is not None
        os.kill(process_of(data_folder, "encoder"), signal.SIGKILL)
        assert "encoder has stopped (SIGKILL)" in process.stderr.readline()
        assert "encoder is up again" in process.stderr.readline()
        (data_folder / "keys.yaml").rename(data_folder / "keys.away")
        os.kill(process_of(data_folder, "gateway"), signal.SIGKILL)
        while "in 4 s" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
        assert not processes_in(data_folder)


def test_the_encoder_starts_only_for_who_uses_it() -> None:
    defaults = {
        "FOLIO_EMBEDDER": RetrieverSettings.model_fields["embedder"].default,
        "FOLIO_COLBERT_ENCODER": ColbertSettings.model_fields["encoder"].default,
        "FOLIO_GENERATOR": GeneratorSettings.model_fields["generator"].default,
        "FOLIO_GENERATOR_FALLBACK": GeneratorSettings.model_fields["generator_fallback"].default,
        "FOLIO_JUDGE": GeneratorSettings.model_fields["judge"].default,
    }
    assert {name: users[0] for name, users in ENCODER_USERS.items()} == defaults
    assert {"extractive"} <= set(GENERATORS)
    assert {"alignment"} <= set(JUDGES)
    assert _uses_encoder({})
    others = {
        "FOLIO_EMBEDDER": "tei",
        "FOLIO_COLBERT_ENCODER": "pylate",
        "FOLIO_GENERATOR": "anthropic",
    }
    assert not _uses_encoder(others)
    assert not _uses_encoder({**others, "FOLIO_JUDGE": "llm", "FOLIO_GENERATOR_FALLBACK": "ollama"})
    for name, users in ENCODER_USERS.items():
        assert _uses_encoder({**others, name: users[-1]}), name
