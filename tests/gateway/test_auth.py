"""Who may call: keys, tokens, scopes. Refused before any work."""

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import jwt
import pytest
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from pydantic import SecretStr

from folio import failure
from folio.cli import admin
from folio.gateway.v1 import gateway_pb2
from services.gateway import keys
from services.gateway.auth import Authenticator
from services.gateway.settings import GatewaySettings
from services.rpc import identity
from services.rpc.errors import FailedPrecondition, Unauthenticated
from services.rpc.testing import SECRET
from tests.gateway.suite import Suite, running_suite

HMAC_KEY = "a secret of the identity provider, long enough"


def settings(**changes: Any) -> GatewaySettings:
    return GatewaySettings(**{"internal_secret": SecretStr(SECRET), **changes})


def jwt_settings(**changes: Any) -> GatewaySettings:
    return settings(
        **{
            "jwt_algorithm": "HS256",
            "jwt_key": SecretStr(HMAC_KEY),
            "jwt_issuer": "https://login.example.org",
            "jwt_audience": "folio",
            **changes,
        }
    )


def claims(**changes: Any) -> dict[str, Any]:
    made = {
        "iss": "https://login.example.org",
        "aud": "folio",
        "sub": "ann",
        "exp": time.time() + 60,
        "organization_id": 5,
        "scope": "read write nonsense",
        **changes,
    }
    return {name: value for name, value in made.items() if value is not None}


def bearer(token: str) -> dict[str, list[str]]:
    return {"authorization": [f"Bearer {token}"]}


async def status(suite: Suite, metadata: list[tuple[str, str]]) -> failure.CallFailed:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await suite.stub.GetStatus(
            gateway_pb2.GetStatusRequest(), timeout=10, metadata=tuple(metadata)
        )
    return failure.read(raised.value)


async def test_a_call_without_one_good_key_is_refused_before_any_work(suite: Suite) -> None:
    good = ("authorization", f"Bearer {suite.key}")
    for metadata in (
        [],
        [("authorization", suite.key)],
        [("authorization", "Bearer folio_wrong")],
        [("authorization", "Bearer ")],
        [("authorization", "Bearer " + "x" * 7000)],
        [good, good],
        [good, ("authorization", "Bearer folio_other")],
        [("x-tenant", "1"), ("x-organization-id", "1")],
    ):
        assert (await status(suite, metadata)).code == "UNAUTHENTICATED"
    assert not suite.script.calls


async def test_an_internal_token_opens_nothing(suite: Suite) -> None:
    everything = identity.Principal(1, scopes=frozenset({"read", "write", "admin"}))
    for audience in ("gateway", "retriever"):
        token = identity.sign(everything, audience, SECRET)
        assert (
            await status(suite, [("authorization", f"Bearer {token}")])
        ).code == "UNAUTHENTICATED"


async def test_a_tenant_named_by_the_client_is_not_read(suite: Suite) -> None:
    metadata = (*suite.metadata(), ("x-tenant", "2"), ("x-organization-id", "2"))
    reply = await suite.stub.GetStatus(
        gateway_pb2.GetStatusRequest(), timeout=10, metadata=metadata
    )
    assert reply.organization_id == 1
    assert {caller.organization_id for caller in suite.script.callers} == {1}


async def test_writing_needs_the_scope(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "CHECK_S", 0.0)
    reader = keys.create(suite.keys_file, organization_id=1, scopes=["read"])
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await suite.stub.DeleteDocument(
            gateway_pb2.DeleteDocumentRequest(document_id=1),
            timeout=10,
            metadata=(("authorization", f"Bearer {reader}"),),
        )
    assert raised.value.code() is grpc.StatusCode.PERMISSION_DENIED


def test_the_file_keeps_the_hash_alone_and_nobody_else_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "keys.yaml"
    key = keys.create(path, organization_id=1, organization="acme", label="ci")
    assert key not in path.read_text()
    assert keys.digest(key) in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["keys.yaml"]
    # 256 random bits.
    assert len(key.removeprefix(keys.PREFIX)) == 43


def test_the_command_prints_the_key_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "keys.yaml"
    admin.main(
        ["keys", "create", "--organization-id", "3", "--name", "acme", "--keys-file", str(path),
         "--scopes", "read", "--expires-at", "2999-01-01T00:00:00Z"]
    )  # fmt: skip
    key = capsys.readouterr().out.strip()
    principal = keys.KeyFile(path).principal(key)
    assert (principal.organization_id, principal.scopes) == (3, frozenset({"read"}))


def test_keys_are_listed_and_revoked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "keys.yaml"
    first = keys.create(path, organization_id=1, organization="acme", label="ci")
    second = keys.create(path, organization_id=2, scopes=["read"])
    assert admin.main(["keys", "list", "--keys-file", str(path)]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[1:] for line in lines] == [
        ["1", "acme", "read,write", "-", "ci"],
        ["2", "-", "read", "-", ""],
    ]
    assert admin.main(["keys", "revoke", "--keys-file", str(path), lines[0][0]]) == 0
    known = keys.KeyFile(path)
    assert known.principal(second).organization_id == 2
    with pytest.raises(Unauthenticated):
        known.principal(first)


@pytest.mark.parametrize(
    ("start", "says"),
    [("z" * 8, "no keys have a hash that"), ("", "at least"), ("0" * 8, "2 keys have a hash that")],
)
@pytest.mark.parametrize("count", [1, 2])
def test_a_key_that_is_not_told_apart_is_not_revoked(
    start: str, says: str, count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty shell variable names no key, also where there is only one."""
    path = tmp_path / "keys.yaml"
    for organization in range(1, count + 1):
        keys.create(path, organization_id=organization)
    if start.startswith("0"):
        alike = [{"hash": f"{'0' * 63}{end}", "organization_id": 1} for end in "12"]
        path.write_text(yaml.safe_dump({"keys": alike}))
    before = path.read_text()
    assert admin.main(["keys", "revoke", "--keys-file", str(path), start]) == 1
    assert says in capsys.readouterr().err
    assert path.read_text() == before


@pytest.mark.parametrize("command", [["create", "--organization-id", "1"], ["list"]])
def test_a_keys_file_that_cannot_be_opened_is_one_line(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert admin.main(["keys", *command, "--keys-file", str(tmp_path)]) == 1
    assert str(tmp_path) in capsys.readouterr().err


def test_a_second_key_leaves_the_first(tmp_path: Path) -> None:
    path = tmp_path / "keys.yaml"
    first = keys.create(path, organization_id=1)
    second = keys.create(path, organization_id=2, rooftop_id=7)
    known = keys.KeyFile(path)
    assert known.principal(first).organization_id == 1
    assert (known.principal(second).organization_id, known.principal(second).rooftop_id) == (2, 7)


def test_an_expired_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys.yaml"
    past = keys.create(path, organization_id=1, expires_at=datetime.now(UTC) - timedelta(days=1))
    with pytest.raises(Unauthenticated, match="expired"):
        keys.KeyFile(path).principal(past)


def test_a_revoked_key_is_refused_and_a_broken_file_keeps_the_good_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "CHECK_S", 0.0)
    path = tmp_path / "keys.yaml"
    key = keys.create(path, organization_id=1)
    known = keys.KeyFile(path)
    path.write_text("keys: [{hash: short}]")
    assert known.principal(key).organization_id == 1
    path.write_text("keys: []")
    with pytest.raises(Unauthenticated):
        known.principal(key)


def test_a_file_that_becomes_readable_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`keys create` as root, then chown: between the two the service cannot read the file."""
    monkeypatch.setattr(keys, "CHECK_S", 0.0)
    path = tmp_path / "keys.yaml"
    keys.create(path, organization_id=1)
    known = keys.KeyFile(path)
    second = keys.create(path, organization_id=2)

    def refused(*_: object, **__: object) -> str:
        raise PermissionError

    with monkeypatch.context() as unreadable:
        unreadable.setattr(Path, "read_text", refused)
        with pytest.raises(Unauthenticated):
            known.principal(second)
    path.chmod(0o640)
    assert known.principal(second).organization_id == 2


def test_a_file_that_is_removed_has_no_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "CHECK_S", 0.0)
    path = tmp_path / "keys.yaml"
    key = keys.create(path, organization_id=1)
    known = keys.KeyFile(path)
    path.unlink()
    with pytest.raises(Unauthenticated):
        known.principal(key)
    path.touch()
    again = keys.create(path, organization_id=2)
    assert known.principal(again).organization_id == 2


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(FailedPrecondition, match="FOLIO_KEYS_FILE names"):
        keys.KeyFile(tmp_path / "keys.yaml")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file away")
def test_another_key_leaves_the_file_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "keys.yaml"
    keys.create(path, organization_id=1)
    os.chown(path, 65534, 65534)
    keys.create(path, organization_id=2)
    assert (path.stat().st_uid, path.stat().st_mode & 0o777) == (65534, 0o600)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("{hash: abc, organization_id: 1}", "hash"),
        (f"{{hash: {'a' * 64}, organization_id: 0}}", "organization_id"),
        (f"{{hash: {'a' * 64}, organization_id: true}}", "organization_id"),
        (f"{{hash: {'a' * 64}, organization_id: 1, scopes: [root]}}", "scopes"),
        (f"{{hash: {'a' * 64}, organization_id: 1, tenant: 2}}", "tenant"),
        (f"{{hash: {'a' * 64}, organization_id: 1, expires_at: soon}}", "expires_at"),
    ],
)
def test_a_wrong_entry_is_named(entry: str, says: str) -> None:
    with pytest.raises(FailedPrecondition, match=f"entry 1: {says}"):
        keys.parse(f"keys: [{entry}]")


def test_a_good_token_is_who_it_says() -> None:
    token = jwt.encode(claims(rooftop_id=9), HMAC_KEY, algorithm="HS256")
    principal = Authenticator(jwt_settings())(bearer(token))
    assert (principal.organization_id, principal.rooftop_id) == (5, 9)
    assert principal.scopes == {"read", "write"}


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://evil.example.org"},
        {"iss": None},
        {"aud": "another"},
        {"aud": None},
        {"exp": time.time() - 3600},
        {"exp": None},
        {"organization_id": None},
        {"organization_id": "5"},
        {"organization_id": True},
        {"organization_id": -5},
        {"organization_id": 2**63},
        {"rooftop_id": 2**63},
        {"rooftop_id": "9"},
        {"nbf": time.time() + 3600},
    ],
)
def test_a_token_with_a_wrong_claim_is_refused(changes: dict[str, Any]) -> None:
    token = jwt.encode(claims(**changes), HMAC_KEY, algorithm="HS256")
    with pytest.raises(Unauthenticated):
        Authenticator(jwt_settings())(bearer(token))


def test_the_token_does_not_choose_its_algorithm() -> None:
    """RFC 8725, 3.1: neither `none` nor the public key used as an HMAC secret."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    authenticate = Authenticator(
        jwt_settings(jwt_algorithm="RS256", jwt_key=SecretStr(public.decode()))
    )
    assert (
        authenticate(bearer(jwt.encode(claims(), private, algorithm="RS256"))).organization_id == 5
    )
    unsigned = jwt.encode(claims(), "", algorithm="none")
    # PyJWT refuses to sign so; an attacker does not use PyJWT.
    import base64
    import hashlib
    import hmac

    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    body = part(b'{"alg":"HS256","typ":"JWT"}') + "." + part(json.dumps(claims()).encode())
    confused = body + "." + part(hmac.new(public, body.encode(), hashlib.sha256).digest())
    for token in (unsigned, confused):
        with pytest.raises(Unauthenticated):
            authenticate(bearer(token))


def test_keys_of_a_set_are_found_by_id_and_type(tmp_path: Path) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    jwk = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(private.public_key()))
    path = tmp_path / "jwks.json"
    path.write_text(
        json.dumps({"keys": [{**jwk, "kid": "one"}, {"kty": "oct", "k": "AAAA", "kid": "two"}]})
    )
    authenticate = Authenticator(
        jwt_settings(jwt_algorithm="ES256", jwt_key=SecretStr(""), jwt_jwks_file=path)
    )
    good = jwt.encode(claims(), private, algorithm="ES256", headers={"kid": "one"})
    assert authenticate(bearer(good)).organization_id == 5
    for kid in ("two", "three"):
        token = jwt.encode(claims(), private, algorithm="ES256", headers={"kid": kid})
        with pytest.raises(Unauthenticated):
            authenticate(bearer(token))


@pytest.mark.parametrize(
    "changes",
    [
        {"jwt_key": SecretStr("")},
        {"jwt_issuer": ""},
        {"jwt_audience": ""},
        {"jwt_key": SecretStr(SECRET)},
    ],
)
def test_half_a_configuration_does_not_start(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"FOLIO_JWT|JWTs need"):
        jwt_settings(**changes)


def test_a_short_hmac_secret_does_not_start() -> None:
    with pytest.raises(FailedPrecondition, match="32 bytes"):
        Authenticator(jwt_settings(jwt_key=SecretStr("short")))


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_a_key_that_is_none_does_not_start(algorithm: str) -> None:
    with pytest.raises(FailedPrecondition, match="not a public key in PEM"):
        Authenticator(jwt_settings(jwt_algorithm=algorithm, jwt_key=SecretStr("not a key" * 9)))


def test_a_broken_change_of_a_key_set_keeps_the_good_keys_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.gateway.auth.CHECK_S", 0.0)
    private = ec.generate_private_key(ec.SECP256R1())
    jwk = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(private.public_key()))
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [jwk]}))
    authenticate = Authenticator(
        jwt_settings(jwt_algorithm="ES256", jwt_key=SecretStr(""), jwt_jwks_file=path)
    )
    path.write_text("{")
    good = jwt.encode(claims(), private, algorithm="ES256")
    assert authenticate(bearer(good)).organization_id == 5
    assert "key set is broken" in caplog.text


async def test_one_organization_cannot_take_every_place(tmp_path: Path) -> None:
    import asyncio

    from tests.gateway.script import forever

    async with running_suite(tmp_path, max_calls_per_organization=1) as suite:
        entered, cancelled = asyncio.Event(), asyncio.Event()
        suite.script.on["retriever.Search"] = forever(entered, cancelled)
        first = suite.stub.Ask(
            gateway_pb2.AskRequest(question="Who?"), timeout=30, metadata=suite.metadata()
        )
        await entered.wait()
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await suite.call("Ask", gateway_pb2.AskRequest(question="Who?"))
        assert failure.read(raised.value).reason == "ORGANIZATION_BUSY"
        assert failure.read(raised.value).retry_after_s == 1.0
        first.cancel()
        await cancelled.wait()
