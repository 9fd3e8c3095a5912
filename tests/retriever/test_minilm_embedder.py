"""The embedded model as the retriever's embedder."""

import numpy as np
import pytest
from pydantic import SecretStr

from services.retriever.embedders.minilm import MiniLMEmbedder
from services.retriever.settings import RetrieverSettings
from services.rpc.testing import SECRET

pytestmark = pytest.mark.integration


async def test_a_query_without_a_known_word_has_no_vector() -> None:
    """Every unknown word is the same token: a question in an unknown script was near to all other such texts."""
    embedder = MiniLMEmbedder.create(
        RetrieverSettings(internal_secret=SecretStr(SECRET), database_url=SecretStr("unused"))
    )
    texts = ["\u1781\u17d2\u1798\u17c2\u179a", "x" * 3999, "leave for parents"]
    asked = await embedder.embed(texts, query=True)
    assert np.isnan(asked[:2]).all()
    assert np.linalg.norm(asked[2]) == pytest.approx(1.0, abs=1e-5)
    assert np.isfinite(await embedder.embed(texts)).all(), "documents keep theirs"
    await embedder.close()
