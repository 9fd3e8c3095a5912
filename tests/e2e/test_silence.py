"""The suite tells nobody that it runs: no service looks up a name, or turns to a machine, that no setting names."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from folio import Folio
from services.suite import Suite
from tests.minilm import tiny_bert

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="preloads a library (ld.so)"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"),
]

HANDBOOK = (
    Path(__file__)
    .resolve()
    .parents[2]
    .joinpath("evals", "corpus", "brackwater", "people", "staff-handbook-2025.pdf")
)
# ONNX Runtime, which has telemetry, first looked its makers up after some ten seconds.
LISTEN_S = 25.0


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """lookups.c as a library."""
    library = tmp_path_factory.mktemp("recorder") / "lookups.so"
    source = Path(__file__).with_name("lookups.c")
    command = ["cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", str(library)]
    subprocess.run([*command, str(source), "-ldl"], check=True)
    return library


def test_the_recorder_sees_what_a_process_looks_up(recorder: Path, tmp_path: Path) -> None:
    program = (
        "import contextlib, socket\n"
        "with contextlib.suppress(OSError): socket.getaddrinfo('telemetry.invalid', 443)\n"
        "with contextlib.suppress(OSError): socket.create_connection(('localhost', 9))\n"
        "sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "with contextlib.suppress(OSError): sender.sendto(b'?', ('192.0.2.1', 53))\n"
    )
    environment = {"LD_PRELOAD": str(recorder), "LOOKUPS": str(tmp_path / "lookups")}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    seen = (tmp_path / "lookups").read_text().splitlines()
    assert seen == ["name telemetry.invalid", "name localhost", "address 192.0.2.1"]


def test_no_service_tells_anybody_that_it_runs(
    recorder: Path, tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What this process was told by importing our services, each service must find by itself.
    for name in ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK"):
        monkeypatch.delenv(name, raising=False)
    for name in ("home", "model", "judge"):
        (tmp_path / name).mkdir()
    tiny_bert.save(tmp_path / "model")
    labels = {"0": "contradiction", "1": "entailment", "2": "neutral"}
    tiny_bert.save(tmp_path / "judge", classes=3, positions=512, id2label=labels)
    environment = {
        "HOME": str(tmp_path / "home"),
        "LD_PRELOAD": str(recorder),
        "LOOKUPS": str(tmp_path / "lookups"),
        "FOLIO_CROSSENCODER_PROVIDER": "onnx",
        "FOLIO_CROSSENCODER_MODEL": str(tmp_path / "model"),
        "FOLIO_JUDGE": "onnx",
        "FOLIO_JUDGE_DIR": str(tmp_path / "judge"),
        "FOLIO_JUDGE_ANSWERS": "true",
    }
    with (
        Suite(data_folder, ["acme"], port=0, environment=environment) as suite,
        Folio(suite.client.address, suite.client.keys["acme"]) as acme,
    ):
        list(acme.ingest(HANDBOOK))
        status = acme.status()
        assert all(service.reachable for service in status.services)
        assert len(status.services) == 5
        acme.ask("How many days of paid annual leave do full-time staff have in 2025?")
        time.sleep(LISTEN_S)
    lookups = tmp_path / "lookups"
    assert not lookups.exists(), lookups.read_text()
    assert not [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
