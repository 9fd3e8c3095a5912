"""colbert under load: `python -m bench.service [--quick]`.

A real server process on a real PostgreSQL, with 100 chunks of 180 tokens indexed through its own RPC.
Beside each other: an empty gRPC call, MaxSim alone in this process, and Rerank by id, by text and by
vector; then requests/s at 1, 8 and 32 clients. The clients share the machine with the server. Writes
build/bench.json ("service") and prints one table.
"""

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import psycopg
from grpc_health.v1 import health_pb2, health_pb2_grpc

from folio.rerank.v1 import (
    late_interaction_pb2,
    late_interaction_pb2_grpc,
    rerank_pb2,
    rerank_pb2_grpc,
)
from native import maxsim
from services.colbert.compression import Projection
from services.postgres import admin
from services.postgres.embedded import EmbeddedPostgres
from services.rpc.channels import channel_options
from services.rpc.identity import Principal
from services.rpc.matrices import pack
from services.rpc.ports import reserved_address
from services.rpc.testing import SECRET, signing

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "bench.json"
CHUNKS, TOKENS, QUERY_TOKENS = 100, 180, 32
CLIENTS = (1, 8, 32)
# "word" is one token; [CLS] and [SEP] make two more. The last word keeps the bodies apart.
BODIES = [" ".join(["word"] * (TOKENS - 3) + [chr(0x4E00 + n)]) for n in range(CHUNKS)]

Call = Callable[[], Awaitable[Any]]


@dataclass(frozen=True)
class Row:
    name: str
    dim: int
    clients: int
    requests: int
    p50_ms: float
    p99_ms: float
    requests_per_s: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one second a measurement, not four")
    seconds = 1.0 if parser.parse_args().quick else 4.0
    rows: list[Row] = []
    with (
        tempfile.TemporaryDirectory(prefix="folio-bench-") as folder,
        EmbeddedPostgres(Path(folder) / "postgres") as postgres,
    ):
        url = admin.prepare(postgres.admin_url, "bench")
        for dim in (384, 128):
            organization = admin.create_organization(postgres.admin_url, f"bench {dim}")
            document, chunks = _insert(postgres.admin_url, organization)
            changes = {"DATABASE_URL": url}
            if dim < 384:
                random = np.random.default_rng(0).standard_normal((384, dim))
                path = Path(folder) / "projection.npy"
                Projection(np.linalg.qr(random)[0].T.astype(np.float32)).save(path)
                changes["FOLIO_COLBERT_PROJECTION"] = str(path)
            with _server(changes) as address:
                rows += asyncio.run(
                    _measure(address, Principal(organization), document, chunks, dim, seconds)
                )
    _report(rows)


@contextlib.contextmanager
def _server(changes: dict[str, str]) -> Iterator[str]:
    with reserved_address() as address:
        process = subprocess.Popen(
            [sys.executable, "-m", "services.colbert"],
            cwd=ROOT,
            env={
                **os.environ,
                "FOLIO_LISTEN": address,
                "FOLIO_INTERNAL_SECRET": SECRET,
                "FOLIO_LOG_LEVEL": "WARNING",
                "FOLIO_MAX_QUEUE": "1000",
                **changes,
            },
        )
        try:
            yield address
        finally:
            process.terminate()
            process.wait(30)


async def _measure(
    address: str, principal: Principal, document: int, chunks: list[int], dim: int, seconds: float
) -> list[Row]:
    async with grpc.aio.insecure_channel(
        address,
        options=channel_options(64 * 2**20),
        interceptors=signing(principal, "colbert"),
    ) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        await _until_serving(health)
        stub = rerank_pb2_grpc.RerankServiceStub(channel)
        index = late_interaction_pb2_grpc.LateInteractionServiceStub(channel).IndexDocument(
            late_interaction_pb2.IndexDocumentRequest(document_id=document, version=1), timeout=300
        )
        async for _ in index:
            pass
        random = np.random.default_rng(1)
        query = _unit(random.standard_normal((QUERY_TOKENS, dim)))
        matrices = [_unit(random.standard_normal((TOKENS, dim))) for _ in range(CHUNKS)]
        forms = {
            "by id, query vectors": rerank_pb2.RerankRequest(
                vectors=pack(query), chunk_ids=rerank_pb2.ChunkIds(ids=chunks)
            ),
            "by id, query text (remembered)": rerank_pb2.RerankRequest(
                text="how many words are there", chunk_ids=rerank_pb2.ChunkIds(ids=chunks)
            ),
            "by vectors, fp32": rerank_pb2.RerankRequest(
                vectors=pack(query),
                document_vectors=rerank_pb2.DocumentVectors(
                    tokens=pack(np.concatenate(matrices)), lengths=[TOKENS] * CHUNKS
                ),
            ),
        }
        rows = [_kernel(query, matrices, dim, seconds)]
        check = health_pb2.HealthCheckRequest()
        capabilities = rerank_pb2.GetCapabilitiesRequest()
        calls: dict[str, Call] = {
            "empty call (health)": lambda: health.Check(check, timeout=10),
            "GetCapabilities": lambda: stub.GetCapabilities(capabilities, timeout=10),
        } | {
            name: lambda request=request: stub.Rerank(request, timeout=60)
            for name, request in forms.items()
        }
        for name, call in calls.items():
            # 32 clients with 28 MB each would measure the machine's memory.
            for clients in CLIENTS[:2] if name.startswith("by vectors") else CLIENTS:
                rows.append(await _load(name, dim, clients, call, seconds))
        if dim == 384:
            number = iter(range(10**9))

            def by_text() -> Awaitable[Any]:
                # New words each time: nothing is remembered.
                texts = [f"{body} {next(number)}" for body in BODIES[:10]]
                return stub.Rerank(
                    rerank_pb2.RerankRequest(
                        text=f"question {next(number)}", texts=rerank_pb2.Texts(texts=texts)
                    ),
                    timeout=120,
                )

            for clients in CLIENTS[:2]:
                rows.append(await _load("by text, 10 new texts", dim, clients, by_text, seconds))
        return rows


async def _load(name: str, dim: int, clients: int, call: Call, seconds: float) -> Row:
    """`clients` callers in a closed loop, after a moment of warming up."""
    await call()
    times: list[float] = []
    started = time.perf_counter()

    async def client() -> None:
        while time.perf_counter() - started < seconds:
            before = time.perf_counter()
            await call()
            times.append(time.perf_counter() - before)

    await asyncio.gather(*(client() for _ in range(clients)))
    return _row(name, dim, clients, times, time.perf_counter() - started)


def _kernel(query: Any, matrices: list[Any], dim: int, seconds: float) -> Row:
    """MaxSim on int8 tiles in this process, packing of the query included: what no call can undercut."""
    tiles = [maxsim.Tiles.from_matrix(matrix, "int8") for matrix in matrices]
    times: list[float] = []
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        before = time.perf_counter()
        maxsim.scores(query, tiles)
        times.append(time.perf_counter() - before)
    return _row("kernel alone, int8", dim, 1, times, time.perf_counter() - started)


def _row(name: str, dim: int, clients: int, times: list[float], elapsed: float) -> Row:
    milliseconds = sorted(value * 1000 for value in times)
    return Row(
        name,
        dim,
        clients,
        len(times),
        round(statistics.median(milliseconds), 3),
        round(milliseconds[min(len(times) - 1, int(len(times) * 0.99))], 3),
        round(len(times) / elapsed, 1),
    )


async def _until_serving(health: Any) -> None:
    request = health_pb2.HealthCheckRequest(service="folio.rerank.v1.RerankService")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with contextlib.suppress(grpc.aio.AioRpcError):
            reply = await health.Check(request, timeout=5, wait_for_ready=True)
            if reply.status == health_pb2.HealthCheckResponse.SERVING:
                return
        await asyncio.sleep(0.1)
    raise SystemExit("the server did not get ready within 60 s; its log is above")


def _insert(admin_url: str, organization: int) -> tuple[int, list[int]]:
    """A published document of the bench's bodies, straight into the tables."""
    with psycopg.connect(admin_url) as connection:
        connection.execute("set search_path = folio, public")

        def one(query: str, **values: object) -> int:
            row = connection.execute(query.encode(), {"org": organization, **values}).fetchone()
            assert row is not None
            return int(row[0])

        document = one(
            "insert into documents (organization_id, file_name, current_version)"
            " values (%(org)s, 'bench.txt', 1) returning id"
        )
        connection.execute(
            "insert into document_versions (organization_id, document_id, version, sha256, title,"
            " media_type, size_bytes, status)"
            " values (%s, %s, 1, repeat('0', 64), 'bench', 'text/plain', 1, 'READY')",
            [organization, document],
        )
        section = one(
            "insert into sections (organization_id, document_id, version, ordinal, path, char_start,"
            " char_end, page_start, page_end, token_count)"
            " values (%(org)s, %(document)s, 1, 0, '{}', 0, 1, 0, 0, 1) returning id",
            document=document,
        )
        chunks = [
            one(
                "insert into chunks (organization_id, document_id, version, section_id, ordinal,"
                " page_start, page_end, page_label, heading, body, char_start, char_end, token_count,"
                " text_sha256, live) values (%(org)s, %(document)s, 1, %(section)s, %(ordinal)s, 0, 0,"
                " '1', '', %(body)s, 0, 1, 180, sha256(convert_to(%(body)s, 'UTF8')), true)"
                " returning id",
                document=document,
                section=section,
                ordinal=ordinal,
                body=body,
            )
            for ordinal, body in enumerate(BODIES)
        ]
    return document, chunks


def _unit(rows: Any) -> Any:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def _report(rows: list[Row]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"peaks": {}, "kernel": []}
    known["service"] = [vars(row) for row in rows]
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    print(f"{'call':32} {'dim':>4} {'clients':>7} {'p50 ms':>8} {'p99 ms':>8} {'calls/s':>8}")
    for row in rows:
        print(
            f"{row.name:32} {row.dim:4} {row.clients:7} {row.p50_ms:8.2f} {row.p99_ms:8.2f}"
            f" {row.requests_per_s:8.0f}"
        )
    for dim in (384, 128):
        p50 = {row.name: row.p50_ms for row in rows if row.dim == dim and row.clients == 1}
        over = p50["by id, query vectors"] - p50["empty call (health)"] - p50["kernel alone, int8"]
        print(f"by id, {dim} dimensions: an empty call + the kernel + {over:.2f} ms (target: 1 ms)")


if __name__ == "__main__":
    main()
