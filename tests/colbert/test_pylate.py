"""A ColBERT checkpoint through PyLate: our scores are PyLate's own.

The checkpoint is built here: the embedded model's weights and a random projection to 64 dimensions,
which is enough for equality. Needs the extra `pylate`.
"""

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest

from native import maxsim
from services.colbert.encoders.batched import BlockingEncoder
from services.colbert.settings import ColbertSettings
from services.minilm import weights

pylate = pytest.importorskip("pylate", reason="the extra `pylate` is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.integration]

QUERIES = ["How long is the parental leave?", "pump"]
DOCUMENTS = [
    "Full-time staff are entitled to 16 weeks of paid parental leave.",
    "The pump P-2041, as delivered, is served every 24 months!",
    "Travel is booked through the office. " * 60,
    "a",
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from pylate.models import ColBERT

    # The encoder alone: modules.json would add the mean pooling of a sentence model.
    bert = tmp_path_factory.mktemp("bert")
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(weights.model_dir() / name, bert)
    torch.manual_seed(1)
    model = ColBERT(
        str(bert),
        embedding_size=64,
        query_length=24,
        document_length=100,
        query_prefix="[Q] ",
        document_prefix="[D] ",
        device="cpu",
    )
    path = tmp_path_factory.mktemp("checkpoint") / "colbert-random"
    model.save(str(path))
    return path


@pytest.fixture(scope="module")
def encoder(checkpoint: Path) -> BlockingEncoder:
    from services.colbert.encoders.pylate import PyLateEncoder

    settings = ColbertSettings.model_validate(
        {
            "internal_secret": "x" * 32,
            "database_url": "postgresql://",
            "encoder": "pylate",
            "model": str(checkpoint),
        }
    )
    return PyLateEncoder.load(settings)


def test_the_checkpoints_configuration_is_followed(encoder: BlockingEncoder) -> None:
    assert (encoder.dim, encoder.query_length, encoder.document_length) == (64, 24, 100)
    (query,) = encoder.encode_queries([QUERIES[1]])
    # Expanded with [MASK] to the query's length.
    assert query.vectors.shape == (24, 64)
    assert query.tokens[-1] == "[MASK]"
    with_commas, without = encoder.encode_documents(["one, two, three!", "one two three"])
    # Punctuation is skipped.
    assert len(with_commas.vectors) == len(without.vectors)
    assert [item.truncated for item in encoder.encode_documents(DOCUMENTS)] == [
        False,
        False,
        True,
        False,
    ]


def test_scores_are_pylates_own(encoder: BlockingEncoder, checkpoint: Path) -> None:
    """Each document alone: in a batch PyLate pads with zero vectors, and a query token that is unlike
    every token of a short document then scores 0 in place of its negative similarity.
    """
    from pylate.models import ColBERT
    from pylate.scores import colbert_scores

    model = ColBERT(str(checkpoint), device="cpu")
    queries = model.encode(QUERIES, is_query=True, show_progress_bar=False)
    documents = model.encode(DOCUMENTS, is_query=False, show_progress_bar=False)
    theirs = [
        [float(colbert_scores(query[None], document[None])[0, 0]) for document in documents]
        for query in queries
    ]
    matrices = [item.vectors for item in encoder.encode_documents(DOCUMENTS)]
    ours = [maxsim.scores(query.vectors, matrices) for query in encoder.encode_queries(QUERIES)]
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_the_revision_names_the_weights(encoder: BlockingEncoder, checkpoint: Path) -> None:
    assert len(encoder.revision) == 12
    assert encoder.revision != hashlib.sha256(b"").hexdigest()[:12]
    assert encoder.model == "colbert-random"


def test_a_blank_document_has_no_token(encoder: BlockingEncoder) -> None:
    assert [len(item.vectors) for item in encoder.encode_documents(["", " \n"])] == [0, 0]
