"""Stored tiles: what comes back, the bytes themselves, and bytes that are damaged."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from native import maxsim
from tests.native.reference import DTYPES, exact_scores, unit_vectors


@pytest.mark.parametrize(
    ("dtype", "relative"), [("fp32", 0.0), ("fp16", 2.0**-11), ("bf16", 2.0**-8), ("int8", 1 / 250)]
)
def test_vectors_come_back_up_to_the_rounding(dtype: maxsim.Dtype, relative: float) -> None:
    vectors = unit_vectors(np.random.default_rng(1), 29, 132)
    back = maxsim.Tiles.from_matrix(vectors, dtype).to_matrix()
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    assert (np.abs(back - vectors) <= relative * largest + 1e-8 * (relative > 0)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tokens", [0, 1, 7, 8, 9, 180])
def test_bytes_round_trip(dtype: maxsim.Dtype, tokens: int) -> None:
    vectors = unit_vectors(np.random.default_rng(tokens), tokens, 64)
    tiles = maxsim.Tiles.from_matrix(vectors, dtype)
    back = maxsim.Tiles.from_bytes(tiles.to_bytes())
    assert (back.dtype, back.tokens, back.dim) == (dtype, tokens, 64)
    assert (back.to_matrix() == tiles.to_matrix()).all()
    query = unit_vectors(np.random.default_rng(9), 5, 64)
    assert (maxsim.scores(query, [back]) == maxsim.scores(query, [tiles])).all()


def test_the_stored_form_is_as_documented() -> None:
    """Written by hand from maxsim.h: a change here breaks every store there is."""
    vectors = np.array([[127, -127, 0, 1], [2, 0, 0, 0]], dtype=np.float32)
    tile = bytearray(32 + 32)
    for place in range(8):
        values, scale = (vectors[0], 1.0) if place == 0 else (np.array([127, 0, 0, 0]), 2 / 127)
        tile[place * 4 : place * 4 + 4] = (values + 128).astype(np.uint8).tobytes()
        tile[32 + place * 4 : 36 + place * 4] = np.float32(scale).tobytes()
    header = b"MXTL" + bytes([1, 3]) + b"\x04\x00" + b"\x02\x00\x00\x00"
    stored = header + zlib.crc32(tile).to_bytes(4, "little") + tile
    assert maxsim.Tiles.from_matrix(vectors, "int8").to_bytes() == stored

    half = maxsim.Tiles.from_matrix(vectors, "bf16").to_bytes()[16:]
    assert half[:4] == b"\xfe\x42\xfe\xc2"  # token 0's first pair of dimensions: 127, -127
    assert half[4:8] == b"\x00\x40\x00\x00"  # token 1's: 2, 0


@pytest.mark.parametrize("offset", range(4))
def test_buffers_at_any_address(offset: int) -> None:
    stored = maxsim.Tiles.from_matrix(unit_vectors(np.random.default_rng(0), 9, 32), "int8")
    shifted = memoryview(bytes(offset) + stored.to_bytes())[offset:]
    tiles = maxsim.Tiles.from_bytes(shifted)
    assert tiles.address % 4 == 0
    assert (tiles.to_matrix() == stored.to_matrix()).all()


def test_an_aligned_buffer_is_not_copied() -> None:
    buffer = bytearray(maxsim.Tiles.from_matrix(np.ones((1, 4), np.float32), "fp32").to_bytes())
    tiles = maxsim.Tiles.from_bytes(buffer)
    buffer[16:20] = np.float32(7).tobytes()
    assert tiles.to_matrix()[0, 0] == 7


@given(st.data())
def test_damaged_bytes_are_refused(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    vectors = unit_vectors(np.random.default_rng(3), 11, 8)
    stored = bytearray(maxsim.Tiles.from_matrix(vectors, dtype).to_bytes())
    if data.draw(st.booleans()):
        del stored[data.draw(st.integers(0, len(stored) - 1)) :]
    else:
        stored[data.draw(st.integers(0, len(stored) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        back = maxsim.Tiles.from_bytes(bytes(stored))
    except ValueError:
        return
    # 9 to 16 tokens take the same bytes, so only the count itself can be wrong unseen.
    assert back.tokens in range(9, 17)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unverified_bytes_give_no_nan(kernel: str, dtype: maxsim.Dtype) -> None:
    vectors = unit_vectors(np.random.default_rng(3), 11, 8)
    good = maxsim.Tiles.from_matrix(vectors, dtype).to_bytes()
    bad = maxsim.Tiles.from_bytes(good[:16] + b"\xff" * (len(good) - 16), verify=False)
    found = maxsim.alignments(vectors, [bad], invalid="lowest")
    assert found.scores[0] == -np.inf
    assert not np.isnan(found.similarities).any()


def test_int8_error_on_unit_vectors() -> None:
    """Random unit vectors are the hard case: the maximum of many similar dot products."""
    random = np.random.default_rng(11)
    query = unit_vectors(random, 32, 128)
    documents = [unit_vectors(random, 180, 128) for _ in range(40)]
    exact, _ = exact_scores(query, documents, "fp32")
    tiles = [maxsim.Tiles.from_matrix(one, "int8") for one in documents]
    error = np.abs(maxsim.scores(query, tiles) - exact)
    assert error.max() / 32 < 1e-3  # of a cosine, for each query token
