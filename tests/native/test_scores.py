"""What a score is: by hand, against double precision, and the same bits in any company."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from native import maxsim
from tests.native.reference import DTYPES, exact_scores, unit_vectors

# The kernel fixture stays for all of a test's examples, as it should.
thousands = settings(
    max_examples=4 * settings().max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
    dim = 4 * draw(st.integers(1, 34))
    seed = draw(st.integers(0, 2**32 - 1))
    size = draw(st.sampled_from([1.0, 1e-3, 3e4]))
    lengths = draw(st.lists(st.integers(0, 40), min_size=1, max_size=8))
    random = np.random.default_rng(seed)
    query = unit_vectors(random, draw(st.integers(1, 70)), dim)
    documents = [unit_vectors(random, n, dim) * np.float32(size) for n in lengths]
    return query, documents


def test_the_example_worked_by_hand(kernel: str) -> None:
    query = np.array([[1, 0, 0, 0], [0, 2, 0, 0]], dtype=np.float32)
    first = np.array([[3, 1, 0, 0], [1, 4, 0, 0], [0, 0, 9, 9]], dtype=np.float32)
    second = np.array([[-1, -1, 0, 0]], dtype=np.float32)
    # first: max(3, 1, 0) + max(2, 8, 0); second: -1 - 2, which a maximum from 0 would clamp to 0.
    assert maxsim.scores(query, [first, second]).tolist() == [11.0, -3.0]


@pytest.mark.parametrize("dtype", DTYPES)
@thousands
@given(case=cases())
def test_scores_stay_within_the_stated_bound(
    kernel: str, dtype: maxsim.Dtype, case: tuple[NDArray[np.float32], list[NDArray[np.float32]]]
) -> None:
    query, documents = case
    tiles = [maxsim.Tiles.from_matrix(one, dtype) for one in documents]
    scores = maxsim.scores(query, tiles)
    exact, bound = exact_scores(query, documents, dtype)
    empty = np.array([len(one) == 0 for one in documents])
    assert (scores[empty] == -np.inf).all()
    assert (np.abs(scores[~empty] - exact[~empty]) <= bound[~empty]).all()

    # The same bits: from rows, with threads, in another order, alone.
    assert (maxsim.scores(query, documents, dtype=dtype) == scores).all()
    assert (maxsim.scores(query, tiles, threads=3) == scores).all()
    assert (maxsim.scores(query, tiles[::-1])[::-1] == scores).all()
    assert maxsim.scores(query, tiles[-1:])[0] == scores[-1]


def test_int8_kernels_agree_bit_for_bit() -> None:
    random = np.random.default_rng(2)
    query = unit_vectors(random, 33, 96)
    tiles = [maxsim.Tiles.from_matrix(unit_vectors(random, n, 96), "int8") for n in range(50)]
    found = []
    for name in maxsim.kernels():
        maxsim.select_kernel(name)
        found.append(maxsim.scores(query, tiles).tobytes())
    maxsim.select_kernel()
    assert len(set(found)) == 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_document_longer_than_a_thread_s_piece_is_split_without_a_trace(
    kernel: str, dtype: maxsim.Dtype
) -> None:
    random = np.random.default_rng(3)
    query = unit_vectors(random, 5, 32)
    tiles = [maxsim.Tiles.from_matrix(unit_vectors(random, n, 32), dtype) for n in (5000, 3, 0)]
    alone = maxsim.alignments(query, tiles)
    for threads in (2, 7, 64):
        together = maxsim.alignments(query, tiles, threads=threads)
        assert (together.scores == alone.scores).all()
        assert (together.similarities == alone.similarities).all()
        assert (together.tokens == alone.tokens).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [4, 4096])
def test_the_smallest_and_the_largest_dimension(kernel: str, dtype: maxsim.Dtype, dim: int) -> None:
    random = np.random.default_rng(4)
    query = unit_vectors(random, 3, dim)
    documents = [unit_vectors(random, n, dim) for n in (1, 8, 9)]
    scores = maxsim.scores(query, documents, dtype=dtype)
    exact, bound = exact_scores(query, documents, dtype)
    assert (np.abs(scores - exact) <= bound).all()


@pytest.mark.parametrize("tokens", [1, 15, 16, 17, 32, 33, 1024])
def test_query_lengths(kernel: str, tokens: int) -> None:
    random = np.random.default_rng(tokens)
    query = unit_vectors(random, tokens, 16)
    documents = [unit_vectors(random, n, 16) for n in (7, 8, 20)]
    exact, bound = exact_scores(query, documents, "fp32")
    assert (np.abs(maxsim.scores(query, documents) - exact) <= bound).all()


def test_several_queries_score_as_each_alone(kernel: str) -> None:
    random = np.random.default_rng(5)
    queries = [unit_vectors(random, n, 64) for n in (1, 20, 40)]
    documents = [unit_vectors(random, n, 64) for n in (3, 0, 30)]
    together = maxsim.scores(queries, documents)
    assert together.shape == (3, 3)
    for query, row in zip(queries, together, strict=True):
        assert (maxsim.scores(query, documents) == row).all()


def test_a_masked_token_does_not_count() -> None:
    random = np.random.default_rng(6)
    query = unit_vectors(random, 6, 16)
    documents = [unit_vectors(random, 9, 16)]
    mask = np.array([True, False, True, True, False, True])
    assert maxsim.scores(query, documents, mask=mask) == maxsim.scores(query[mask], documents)
    aligned = maxsim.alignments(query, documents, mask=mask)
    assert (aligned.tokens[0, ~mask] == -1).all()
    assert (aligned.similarities[0, ~mask] == 0).all()
    assert aligned.similarities.sum() == pytest.approx(float(aligned.scores[0]), rel=1e-6)


def test_the_largest_values_give_finite_scores(kernel: str) -> None:
    limit = np.full((1024, 4096), 2.0**52, dtype=np.float32)
    assert np.isfinite(maxsim.scores(limit, [limit[:1], -limit[:1]])).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_alignments_name_the_first_best_token(kernel: str, dtype: maxsim.Dtype) -> None:
    query = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [-1, -1, -1, -1]], dtype=np.float32)
    document = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]] * 5, dtype=np.float32)
    tiles = [
        maxsim.Tiles.from_matrix(document, dtype),
        maxsim.Tiles.from_matrix(document[:0], dtype),
    ]
    found = maxsim.alignments(query, tiles, threads=2)
    assert found.tokens.tolist() == [[1, 0, 0], [-1, -1, -1]]
    assert found.similarities[0].tolist() == pytest.approx([1, 1, -1], rel=0.01)
    assert found.scores[1] == -np.inf
    assert (maxsim.scores(query, tiles) == found.scores).all()


def test_topk_breaks_ties_by_the_lower_place() -> None:
    query = np.ones((1, 4), dtype=np.float32)
    documents = [np.full((2, 4), value, dtype=np.float32) for value in (1, 3, 2, 3, 1)]
    places, scores = maxsim.topk(query, documents, 4)
    assert places.tolist() == [1, 3, 2, 0]
    assert scores.tolist() == [12, 12, 8, 4]
    assert maxsim.topk(query, documents, 99)[0].tolist() == [1, 3, 2, 0, 4]
    assert maxsim.topk(query, documents, 0)[0].tolist() == []


@given(st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 1.0, 2.0]), max_size=60), st.integers(0, 70))
def test_best_is_a_stable_sort(values: list[float], k: int) -> None:
    scores = np.array(values, dtype=np.float32)
    assert maxsim.best(scores, k).tolist() == np.argsort(-scores, kind="stable")[:k].tolist()


def test_no_documents() -> None:
    query = np.ones((2, 8), dtype=np.float32)
    assert maxsim.scores(query, []).shape == (0,)
    assert maxsim.topk(query, [], 5)[0].shape == (0,)
