"""The sparse leg's scores against BM25 written out in Python."""

import math
import random
import re
from collections import Counter

import pytest

from services.postgres.filters import Filter
from services.postgres.pool import TenantPool, tenant
from services.retriever.search import legs
from services.rpc.identity import Principal
from tests.retriever.conftest import Retriever

pytestmark = pytest.mark.integration

WORDS = [f"w{letter}x" for letter in "abcdefghijklmnopqrst"]


def bm25(
    documents: list[list[str]], query: list[str], k1: float = 1.2, b: float = 0.75
) -> list[float]:
    """Robertson and Zaragoza (2009), equation 3.15, with the idf that is never negative."""
    average = sum(map(len, documents)) / len(documents)
    scores = []
    for words in documents:
        counts = Counter(words)
        score = 0.0
        for word in sorted(set(query)):
            containing = sum(word in other for other in documents)
            idf = math.log(1 + (len(documents) - containing + 0.5) / (containing + 0.5))
            tf = counts[word]
            score += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(words) / average))
        scores.append(score)
    return scores


async def test_scores_equal_the_formula(
    retriever: Retriever, pool: TenantPool, tenant_id: int
) -> None:
    caller = await retriever.as_(Principal(tenant_id))
    generator = random.Random(1)
    for number in range(12):
        body = " ".join(generator.choices(WORDS, weights=range(1, 21), k=generator.randint(8, 40)))
        await caller.ingest(body, f"d{number}.txt", title="qqtitle")
    async with tenant(pool, Principal(tenant_id)) as connection:
        rows = await (
            await connection.execute(
                "select id, heading || ' ' || body from chunks where organization_id = %s",
                [tenant_id],
            )
        ).fetchall()
        documents = [re.findall(r"\w+", text) for _, text in rows]
        within = await legs.visible(connection, tenant_id, Filter())
        for query in (["wax"], ["wax", "wtx"], WORDS, ["wax", "absentword"]):
            expected = {
                row[0]: score
                for row, score in zip(rows, bm25(documents, query), strict=True)
                if score > 0
            }
            ranked = await legs.sparse(connection, within, " ".join(query), 100)
            found = {entry.id: entry.score for entry in ranked}
            assert found == pytest.approx(expected, rel=1e-9)
