"""An index: appended, deleted, saved, mapped and searched exactly."""

import os
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import numpy as np
import pytest

from native import maxsim
from native.maxsim.index import ALIGNMENT, HEADER, MAGIC, VERSION
from tests.native.reference import DTYPES, unit_vectors

RANDOM = np.random.default_rng(8)
DOCUMENTS = [unit_vectors(RANDOM, int(n), 32) for n in RANDOM.integers(0, 50, 60)]
QUERY = unit_vectors(RANDOM, 12, 32)


def filled(dtype: maxsim.Dtype = "int8") -> maxsim.Index:
    index = maxsim.Index(32, dtype)
    index.append(range(100, 160), DOCUMENTS)
    return index


@pytest.mark.parametrize("dtype", DTYPES)
def test_scores_are_those_of_the_documents(dtype: maxsim.Dtype) -> None:
    index = filled(dtype)
    expected = maxsim.scores(QUERY, DOCUMENTS, dtype=dtype)
    assert (index.scores(QUERY, threads=2) == expected).all()
    assert (index.scores(QUERY, [130, 101, 130]) == expected[[30, 1, 30]]).all()
    ids, scores = index.topk(QUERY, 7)
    places = maxsim.best(expected, 7)
    assert ids.tolist() == (places + 100).tolist()
    assert (scores == expected[places]).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_saved_and_mapped(tmp_path: Path, dtype: maxsim.Dtype) -> None:
    index = filled(dtype)
    index.delete([100, 159])
    path = tmp_path / "collection.maxsim"
    index.save(path)
    mapped = maxsim.Index.load(path)
    assert (mapped.ids == index.ids).all()
    assert (mapped.tokens == index.tokens).all()
    assert (mapped.scores(QUERY) == index.scores(QUERY)).all()
    assert mapped.get(120).to_bytes() == index.get(120).to_bytes()

    mapped.append([7], [DOCUMENTS[3]])  # beside the mapped ones, in memory
    mapped.delete([110])
    mapped.save(path)  # over the file it is mapped from
    assert (maxsim.Index.load(path).scores(QUERY) == mapped.scores(QUERY)).all()
    assert os.listdir(tmp_path) == ["collection.maxsim"]


def test_an_empty_index(tmp_path: Path) -> None:
    index = maxsim.Index(64)
    index.save(tmp_path / "empty")
    mapped = maxsim.Index.load(tmp_path / "empty")
    query = np.ones((1, 64), np.float32)
    assert len(mapped) == 0
    assert mapped.scores(query).shape == (0,)
    assert mapped.topk(query, 3)[0].shape == (0,)


def test_append_is_all_or_nothing() -> None:
    index = filled()
    for ids, documents, error, words in (
        ([1, 1], DOCUMENTS[:2], ValueError, "id 1 is taken or given twice"),
        ([1, 100], DOCUMENTS[:2], ValueError, "id 100 is taken"),
        ([1], DOCUMENTS[:2], ValueError, "1 ids for 2 documents"),
        ([1, 2], [DOCUMENTS[0], np.ones((2, 8), np.float32)], ValueError, "document 2 is Tiles"),
        ([1], [maxsim.Tiles.from_matrix(DOCUMENTS[0], "fp32")], ValueError, "fp32"),
        (["a"], DOCUMENTS[:1], TypeError, "integers"),
        ([1], [np.ones((1, 32))], TypeError, "float32"),
    ):
        with pytest.raises(error, match=words):
            index.append(ids, documents)  # type: ignore[arg-type]
    assert len(index) == 60


def test_delete_and_unknown_ids() -> None:
    index = filled()
    assert index.delete([100, 101, 5]) == 2
    assert len(index) == 58
    for ids in ([100], [99999], [-1]):
        with pytest.raises(KeyError):
            index.scores(QUERY, ids)
    with pytest.raises(KeyError):
        index.get(100)
    index.append([100], [DOCUMENTS[0]])
    assert index.ids[-1] == 100


def test_a_file_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "index"
    filled().save(path)
    whole = path.read_bytes()
    for size in (0, 5, 31, 40, 500, 800, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=str(path)):
            maxsim.Index.load(path)
    for place, value in ((0, 0), (4, 9), (6, 77), (8, 36), (16, 1), (20, 255), (35, 1)):
        damaged = bytearray(whole)
        damaged[place] = value
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=str(path)):
            maxsim.Index.load(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(ValueError, match="size"):
        maxsim.Index.load(path)


def test_sizes_that_overflow_are_refused(tmp_path: Path) -> None:
    """2^19 documents of 2^45 bytes add up to 2^64, which is 0 in 64 bits: the size of the file."""
    n = 2**19
    table = np.arange(n, dtype="<i8").tobytes() + np.full(n, 2**31 - 1, "<i4").tobytes()
    header = HEADER.pack(MAGIC, VERSION, 0, 4096, n, zlib.crc32(table))
    path = tmp_path / "index"
    path.write_bytes(header + table + bytes(-(len(header) + len(table)) % ALIGNMENT))
    with pytest.raises(ValueError, match="size"):
        maxsim.Index.load(path)


def test_a_saved_index_is_as_readable_as_any_new_file(tmp_path: Path) -> None:
    path, other = tmp_path / "index", tmp_path / "other"
    filled().save(path)
    other.touch()
    assert path.stat().st_mode == other.stat().st_mode


def test_ids_that_do_not_fit_are_refused() -> None:
    index = filled()
    with pytest.raises(ValueError, match="64 bits"):
        index.append(np.array([2**64 - 1], np.uint64), DOCUMENTS[:1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="64 bits"):
        index.scores(QUERY, [2**63])


def test_a_killed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "index"
    filled().save(path)
    code = (
        "import os, sys; from native import maxsim\n"
        "index = maxsim.Index.load(sys.argv[1]); index.delete(index.ids[:50])\n"
        "os.replace = lambda *names: os._exit(9)\n"
        "index.save(sys.argv[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], timeout=60, check=False)
    assert done.returncode == 9
    assert len(maxsim.Index.load(path)) == 60


def test_readers_see_the_index_before_or_after_a_write() -> None:
    index = filled()
    before = index.scores(QUERY).tobytes()
    index.append([1], DOCUMENTS[:1])
    after = index.scores(QUERY).tobytes()
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            index.delete([1])
            index.append([1], DOCUMENTS[:1])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = {index.scores(QUERY).tobytes() for _ in range(500)}
    finally:
        stop.set()
        writer.join()
    assert seen <= {before, after}
