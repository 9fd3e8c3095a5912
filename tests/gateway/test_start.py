"""How the gateway starts: on wrong settings not at all, without the other services all the same."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from folio import Folio
from services.gateway import keys
from services.gateway.settings import parse_rerankers
from services.gateway.web_rules import WebRules
from services.rpc.errors import FailedPrecondition
from services.rpc.ports import reserved_address

# A file without a key.
KEYS = {"FOLIO_KEYS_FILE": os.devnull}
ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def gateway(**settings: str) -> Iterator["subprocess.Popen[bytes]"]:
    """The real process; only these settings in its environment."""
    process = subprocess.Popen(
        [sys.executable, "-m", "services.gateway"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "FOLIO_INTERNAL_SECRET": "x" * 32, **settings},
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.integration
def test_it_serves_and_is_healthy_while_every_other_service_is_down(tmp_path: Path) -> None:
    key = keys.create(tmp_path / "keys.yaml", organization_id=1)
    with (
        reserved_address() as address,
        reserved_address() as nowhere,
        gateway(
            FOLIO_LISTEN=address,
            FOLIO_KEYS_FILE=str(tmp_path / "keys.yaml"),
            FOLIO_RETRIEVER_ADDRESS=nowhere,
            FOLIO_RERANKERS=f"colbert={nowhere},crossencoder={nowhere}",
            FOLIO_GENERATOR_ADDRESS=nowhere,
        ),
        grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel,
    ):
        stub: Any = health_pb2_grpc.HealthStub(channel)
        health = stub.Check(
            health_pb2.HealthCheckRequest(service="folio.gateway.v1.GatewayService"),
            timeout=30,
            wait_for_ready=True,
        )
        assert health.status == health_pb2.HealthCheckResponse.SERVING
        with Folio(address, key) as client:
            status = client.status()
    assert [state.service for state in status.services] == [
        "retriever",
        "colbert",
        "crossencoder",
        "generator",
    ]
    assert not any(state.reachable for state in status.services)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"FOLIO_RERANKERS": "bm25=localhost:1"}, b"FOLIO_RERANKERS"),
        ({"FOLIO_JWT_ALGORITHM": "RS256"}, b"FOLIO_JWT_KEY"),
        ({}, b"FOLIO_KEYS_FILE"),
        ({"FOLIO_KEYS_FILE": "/no/keys"}, b"FOLIO_KEYS_FILE names /no/keys, which does not exist"),
        ({"RAG_ANSWER_THRESHOLD": "7"}, b"RAG_ANSWER_THRESHOLD"),
        ({**KEYS, "FOLIO_CALIBRATION": "/nowhere"}, b"FOLIO_CALIBRATION"),
        ({**KEYS, "FOLIO_WEB_RULES": "/nowhere"}, b"FOLIO_WEB_RULES"),
        ({"FOLIO_INTERNAL_SECRET": ""}, b"FOLIO_INTERNAL_SECRET"),
    ],
)
def test_wrong_settings_are_named_and_it_does_not_start(
    settings: dict[str, str], says: bytes
) -> None:
    with gateway(**settings) as process:
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 1
        assert says in stderr
        assert b"Traceback" not in stderr


def test_rerankers_are_read_in_order() -> None:
    assert parse_rerankers("crossencoder=dns:///a:1, colbert=b:2") == (
        ("crossencoder", "dns:///a:1"),
        ("colbert", "b:2"),
    )
    assert parse_rerankers("none") == ()
    for wrong in ("colbert", "colbert=", "colbert=a:1,colbert=b:2", "other=a:1"):
        with pytest.raises(ValueError, match=r"must be written|named twice"):
            parse_rerankers(wrong)


def test_web_rules_are_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text("rules: [{organization_id: 1}, {organization_id: 2, collections: [public]}]")
    rules = WebRules.load(path)
    assert rules.allow(1, [])
    assert not rules.allow(2, [])
    assert rules.allow(2, ["public"])
    assert not rules.allow(2, ["public", "hr"])
    assert not rules.allow(3, ["public"])
    for wrong in ("rules: [{organization: 1}]", "rules: 1", ": ["):
        path.write_text(wrong)
        with pytest.raises(FailedPrecondition, match="FOLIO_WEB_RULES"):
            WebRules.load(path)
