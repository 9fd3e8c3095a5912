"""The embedded model against BERT's definition, and what its callers rely on."""

import asyncio
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from services.minilm import weights
from services.minilm.engines import multiplies_bfloat16
from services.minilm.model import MiniLM
from services.minilm.settings import MiniLMSettings
from services.rpc.errors import DataLoss, FailedPrecondition
from tests.minilm.reference import last_hidden_state

pytestmark = pytest.mark.integration

TEXTS = [
    "The warranty of the P-2041 pump lasts 24 months.",
    "",
    "Staff are entitled to 16 weeks of paid parental leave. " * 20,
    "Überraschung: naïve café, 東京 and \ufb01ve.",
    "a",
]


ENGINES = [
    "onnxruntime",
    pytest.param(
        "openvino",
        marks=pytest.mark.skipif(find_spec("openvino") is None, reason="no OpenVINO"),
    ),
]


@pytest.fixture(scope="session", params=ENGINES)
def model(request: pytest.FixtureRequest) -> MiniLM:
    return MiniLM.load(MiniLMSettings(minilm_engine=request.param))


@pytest.fixture(scope="session")
def exact() -> MiniLM:
    """In fp32."""
    return MiniLM.load(MiniLMSettings(minilm_engine="onnxruntime"))


@pytest.fixture(scope="session")
def tensors() -> dict[str, np.ndarray]:
    return weights.read_tensors(weights.checked(weights.model_dir(), "model.safetensors"))


def test_token_vectors_are_those_of_the_definition(
    exact: MiniLM, tensors: dict[str, np.ndarray]
) -> None:
    for text, item in zip(TEXTS, exact.encode(TEXTS, special=True), strict=True):
        ids = exact.reader.tokenizer.encode(text).ids[: exact.max_tokens]
        if item.truncated:
            separator = exact.reader.tokenizer.token_to_id("[SEP]")
            assert separator is not None
            ids[-1] = separator
        expected = last_hidden_state(tensors, ids, layers=6, heads=12)
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(item.vectors, expected, atol=2e-5)


def test_a_sentence_vector_is_the_normalised_mean_of_all_tokens(
    exact: MiniLM, tensors: dict[str, np.ndarray]
) -> None:
    (vector,) = exact.embed(TEXTS[:1])
    ids = exact.reader.tokenizer.encode(TEXTS[0]).ids
    mean = last_hidden_state(tensors, ids, layers=6, heads=12).mean(axis=0)
    np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=2e-5)


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_give_the_same_vectors(exact: MiniLM, engine: str) -> None:
    """bfloat16 keeps 8 bits: far from what could change an order of results."""
    other = MiniLM.load(MiniLMSettings(minilm_engine=engine))
    assert (exact.embed(TEXTS) * other.embed(TEXTS)).sum(axis=1).min() >= 0.9999
    for one, same in zip(exact.encode(TEXTS), other.encode(TEXTS), strict=True):
        assert (one.tokens, one.offsets) == (same.tokens, same.offsets)
        assert (one.vectors * same.vectors).sum(axis=1).min(initial=1) >= 0.999


@pytest.mark.parametrize(
    ("flags", "multiplies"),
    [("fpu avx512_bf16 avx2", True), ("fpu amx_bf16", True), ("fpu avx512f avx512_vnni", False)],
)
def test_bfloat16_is_told_by_the_processors_flags(
    tmp_path: Path, flags: str, multiplies: bool
) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor : 0\nflags : {flags}\n")
    assert multiplies_bfloat16(tmp_path / "cpuinfo") is multiplies
    assert not multiplies_bfloat16(tmp_path / "none")


def test_a_result_does_not_depend_on_the_batch(model: MiniLM) -> None:
    texts = [f"{'word ' * (n % 90)} {n}" for n in range(150)]
    together = model.embed(texts)
    for index in (0, 1, 89, 90, 149):
        alone = model.embed([texts[index]])[0]
        assert float(alone @ together[index]) >= 0.99999
    tokens = model.token_vectors(texts)
    for index in (0, 1, 89, 149):
        alone = model.token_vectors([texts[index]])[0]
        assert ((alone * tokens[index]).sum(axis=1) >= 0.9999).all()


def test_texts_keep_their_order(model: MiniLM) -> None:
    texts = ["short", "a much longer text about pumps and their valves", "mid length text"]
    forwards, backwards = model.embed(texts), model.embed(texts[::-1])[::-1]
    np.testing.assert_allclose(forwards, backwards, atol=1e-5)


def test_special_tokens_are_encoded_but_not_returned(model: MiniLM) -> None:
    (item,) = model.encode(["The cat sat."])
    assert item.tokens == ("the", "cat", "sat", ".")
    assert item.offsets == ((0, 3), (4, 7), (8, 11), (11, 12))
    assert item.vectors.shape == (4, 384)
    assert item.vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(item.vectors, axis=1), 1, atol=1e-6)


def test_a_text_without_words_has_no_token_vectors(model: MiniLM) -> None:
    assert [v.shape for v in model.token_vectors(["", " \n\t"])] == [(0, 384), (0, 384)]
    assert model.token_vectors([]) == []
    assert model.embed([]).shape == (0, 384)


@pytest.mark.parametrize("words", [253, 254, 255, 256, 509, 510, 511, 2000])
def test_texts_at_the_limits_of_the_positions(model: MiniLM, words: int) -> None:
    text = "word " * words
    (short,) = model.encode([text])
    (long,) = model.encode([text], 512)
    assert (len(short.tokens), short.truncated) == (min(words, 254), words > 254)
    assert (len(long.tokens), long.truncated) == (min(words, 510), words > 510)


def test_odd_characters_are_encoded(model: MiniLM) -> None:
    texts = ["lone \ud800 surrogate", "NUL \x00 byte", "w" * 100_000]
    vectors = model.embed(texts)
    assert np.isfinite(vectors).all()
    (item,) = model.encode([texts[0]])
    assert [item.offsets[0], item.offsets[-1][1]] == [(0, 4), 16]


async def test_concurrent_calls_give_what_single_calls_give(model: MiniLM) -> None:
    texts = [f"text number {n}" for n in range(12)]
    alone = np.concatenate([model.embed([text]) for text in texts])
    together = await asyncio.gather(*(asyncio.to_thread(model.embed, [text]) for text in texts))
    np.testing.assert_array_equal(np.concatenate(together), alone)


def test_an_altered_byte_is_refused(tmp_path: Path) -> None:
    for name in weights.SHA256:
        (tmp_path / name).write_bytes((weights.model_dir() / name).read_bytes())
    data = bytearray((tmp_path / "model.safetensors").read_bytes())
    data[50_000_000] ^= 1
    (tmp_path / "model.safetensors").write_bytes(data)
    with pytest.raises(DataLoss, match=r"SHA-256.*expected 53aa51172d14"):
        MiniLM.load(directory=tmp_path)


def test_a_damaged_graph_in_the_cache_is_made_again(tmp_path: Path) -> None:
    made = weights.graph_file(weights.model_dir(), tmp_path)
    good = made.read_bytes()
    made.write_bytes(good[:1_000_000])
    assert weights.graph_file(weights.model_dir(), tmp_path) == made
    assert made.read_bytes() == good
    assert [path.name for path in tmp_path.iterdir()] == [made.name]


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(FailedPrecondition, match="FOLIO_CACHE_DIR"):
        MiniLM.load(MiniLMSettings(cache_dir=tmp_path / "file"))
