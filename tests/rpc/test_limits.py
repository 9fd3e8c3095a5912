"""Admission and deadlines."""

import asyncio
import time
import tomllib
from pathlib import Path

import jwt
import pytest

from services.colbert.encoders import ENCODERS
from services.crossencoder.models import SCORERS
from services.generator.providers import PROVIDERS
from services.rpc import identity
from services.rpc.deadline import Deadline
from services.rpc.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    ResourceExhausted,
    Unauthenticated,
)
from services.rpc.identity import Principal, Signer, Verifier
from services.rpc.limits import Gate
from services.rpc.providers import load
from services.rpc.testing import SECRET


async def test_of_six_calls_two_run_two_wait_and_two_are_refused() -> None:
    gate, release = Gate(concurrency=2, queue=2), asyncio.Event()

    async def work() -> str:
        async with gate:
            await release.wait()
            return "done"

    tasks = [asyncio.create_task(work()) for _ in range(6)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    release.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert results.count("done") == 4
    assert sum(isinstance(result, ResourceExhausted) for result in results) == 2


async def test_a_waiter_that_is_cancelled_gives_its_place_back() -> None:
    gate = Gate(concurrency=1, queue=1)
    async with gate:
        waiter = asyncio.create_task(gate.__aenter__())
        await asyncio.sleep(0)
        assert gate.waiting == 1
        waiter.cancel()
        await asyncio.gather(waiter, return_exceptions=True)
        assert gate.waiting == 0
    async with asyncio.timeout(5), gate:
        pass


def test_shares_of_a_deadline_leave_a_margin_and_end() -> None:
    deadline = Deadline.after(1000)
    assert 100 < deadline.share(0.2) < 200
    assert deadline.rest() < 1000
    with pytest.raises(DeadlineExceeded):
        Deadline.after(0.01).share(0.5)


def test_an_unknown_provider_lists_what_there_is() -> None:
    with pytest.raises(FailedPrecondition, match=r"^FOLIO_C: there is no .* choose one of: a, b"):
        load({"a": "x:y", "b": "x:z"}, "c", "FOLIO_C")


def test_a_provider_without_its_package_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "probe_provider.py").write_text("import an_sdk_that_is_not_here\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(FailedPrecondition, match=r"an_sdk_that_is_not_here.*folio\[probe-sdk\]"):
        load({"probe_sdk": "probe_provider:Provider"}, "probe_sdk")
    assert load({"queue": "queue:Queue"}, "queue").__name__ == "Queue"


def test_every_provider_with_an_sdk_has_the_extra_that_its_absence_names() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    with_sdk = {
        name for name in [*PROVIDERS, *SCORERS, *ENCODERS] if name not in ("minilm", "onnx", "tei")
    }
    assert with_sdk > {"anthropic", "openai_compatible", "cohere", "pylate"}
    assert {name.replace("_", "-") for name in with_sdk} <= project["optional-dependencies"].keys()


def test_tokens_are_used_again_and_still_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    signer, verifier = Signer("colbert", SECRET), Verifier("colbert", SECRET)
    acme, other = Principal(1, scopes=frozenset({"read"})), Principal(2)
    token = signer.token(acme)
    assert signer.token(acme) == token
    assert signer.token(other) != token
    assert verifier.principal(token) == verifier.principal(token) == acme
    with pytest.raises(Unauthenticated):
        Verifier("retriever", SECRET).principal(token)

    def expired(*_: object, **__: object) -> None:
        raise jwt.ExpiredSignatureError

    monkeypatch.setattr(jwt, "decode", expired)
    assert verifier.principal(token) == acme, "known, so not read again"
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    with pytest.raises(Unauthenticated):
        verifier.principal(token)


@pytest.mark.parametrize(
    "claims",
    [{"org": 2**63}, {"org": 0}, {"org": "1"}, {"roof": 2**63}, {"roof": -1}, {"scopes": 5}],
)
def test_a_signed_token_that_names_nobody_is_refused(claims: dict[str, object]) -> None:
    now = time.time()
    whole = {"iss": "folio-gateway", "aud": "probe", "org": 1, "iat": now, "exp": now + 60}
    assert identity.verify(jwt.encode(whole, SECRET), "probe", SECRET).organization_id == 1
    with pytest.raises(Unauthenticated):
        identity.verify(jwt.encode({**whole, **claims}, SECRET), "probe", SECRET)
