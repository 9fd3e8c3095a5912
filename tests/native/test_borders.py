"""What is refused, and with which words; what ends a call; who keeps memory alive."""

import gc
import itertools
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from native import maxsim
from native.maxsim.kernels import as_matrix
from tests.native.reference import DTYPES, unit_vectors

QUERY = np.ones((2, 8), dtype=np.float32)
DOCUMENT = np.ones((3, 8), dtype=np.float32)


@pytest.mark.parametrize(
    ("document", "error", "words"),
    [
        (DOCUMENT.astype(np.float64), TypeError, "document 0 must be float32 or float16"),
        (DOCUMENT.astype(np.int32), TypeError, "must be float32 or float16, not int32"),
        (DOCUMENT.astype(object), TypeError, "not object"),
        (DOCUMENT.tolist(), TypeError, "must be a numpy array, not list"),
        (DOCUMENT[0], ValueError, r"shape \(tokens, dim\)"),
        (np.ones((3, 6), np.float32), ValueError, "multiple of 4"),
        (np.ones((3, 0), np.float32), ValueError, "multiple of 4"),
        (np.ones((1, 4100), np.float32), ValueError, "up to 4096"),
        (np.ones((3, 12), np.float32), ValueError, "dimension 8, the documents 12"),
    ],
)
def test_a_wrong_document_is_refused(document: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        maxsim.scores(QUERY, [document])


def test_layouts_that_numpy_allows_are_copied_not_misread() -> None:
    wide = np.arange(48, dtype=np.float32).reshape(3, 16)
    strided, transposed = wide[:, ::2], np.asfortranarray(wide[:, :8])
    reverse = wide[::-1, :8]
    for document in (strided, transposed, reverse):
        assert maxsim.scores(QUERY, [document]) == maxsim.scores(QUERY, [document.copy("C")])
    unaligned = np.frombuffer(b"x" + wide.tobytes(), np.uint8)[1:].view(np.float32).reshape(3, 16)
    assert not unaligned.flags.aligned
    assert as_matrix(unaligned, "it").flags.aligned  # maxsim.h asks for 4 bytes
    assert maxsim.scores(np.ones((1, 16), np.float32), [unaligned])[0] == wide[2].sum()
    swapped = DOCUMENT.astype(">f4")
    with pytest.raises(TypeError, match="float32"):
        maxsim.scores(QUERY, [swapped])


@pytest.mark.parametrize("tokens", [0, 1025])
def test_query_lengths_out_of_range(tokens: int) -> None:
    with pytest.raises(ValueError, match="1 to 1024"):
        maxsim.scores(np.ones((tokens, 8), np.float32), [DOCUMENT])


def test_masks_are_checked() -> None:
    with pytest.raises(ValueError, match="0 tokens of the query count"):
        maxsim.scores(QUERY, [DOCUMENT], mask=np.zeros(2, bool))
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        maxsim.scores(QUERY, [DOCUMENT], mask=np.ones(3, bool))
    with pytest.raises(TypeError, match="booleans or integers"):
        maxsim.scores(QUERY, [DOCUMENT], mask=np.ones(2))
    with pytest.raises(ValueError, match="mask goes with one query"):
        maxsim.scores(maxsim.Query(QUERY), [DOCUMENT], mask=np.ones(2, bool))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2.0**53])
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_that_are_not_valid(kernel: str, dtype: maxsim.Dtype, value: float) -> None:
    bad = np.ones((30, 8), dtype=np.float32)
    bad[17, 5] = value
    documents = [DOCUMENT, bad, DOCUMENT * 2]
    with pytest.raises(ValueError, match="document 1 holds a value"):
        maxsim.scores(QUERY, documents, dtype=dtype)
    for threads in (1, 8):
        lowest = maxsim.scores(QUERY, documents, dtype=dtype, invalid="lowest", threads=threads)
        assert lowest[1] == -np.inf
        alone = maxsim.scores(QUERY, documents[::2], dtype=dtype)
        assert (lowest[::2] == alone).all()
    assert maxsim.topk(QUERY, documents, 3, dtype=dtype, invalid="lowest")[0].tolist() == [2, 0, 1]
    with pytest.raises(ValueError, match="token 17 of the document"):
        maxsim.Tiles.from_matrix(bad, dtype)
    with pytest.raises(ValueError, match="token 17 of the query"):
        maxsim.Query(bad, dtype=dtype)


def test_fp16_refuses_what_it_cannot_hold() -> None:
    with pytest.raises(ValueError, match="token 0 of the document"):
        maxsim.Tiles.from_matrix(np.full((1, 8), 65505, np.float32), "fp16")
    exact = np.array([[65504, -65504, 2**-24, 1 + 2**-10]], np.float32)
    assert (maxsim.Tiles.from_matrix(exact, "fp16").to_matrix() == exact).all()


@given(
    offsets=st.lists(
        st.integers(-3, 12) | st.sampled_from([-(2**63), 2**31, 2**32, 2**63 - 1]), max_size=6
    )
)
def test_offsets_are_checked_before_a_read(offsets: list[int]) -> None:
    tokens = np.arange(80, dtype=np.float32).reshape(10, 8)
    array = np.array(offsets, dtype=np.int64)
    valid = bool(offsets) and offsets[0] >= 0 and offsets[-1] <= 10 and sorted(offsets) == offsets
    if valid:
        scores = maxsim.scores(QUERY, maxsim.Ragged(tokens, array))
        each = [tokens[a:b] for a, b in itertools.pairwise(offsets)]
        assert (scores == maxsim.scores(QUERY, each)).all()
        return
    with pytest.raises(ValueError, match="offsets"):
        maxsim.scores(QUERY, maxsim.Ragged(tokens, array))


def test_offsets_must_be_integers() -> None:
    with pytest.raises(TypeError, match="integers"):
        maxsim.scores(QUERY, maxsim.Ragged(DOCUMENT, np.array([0.0, 3.0])))
    with pytest.raises(ValueError, match="64 bits"):
        maxsim.scores(QUERY, maxsim.Ragged(DOCUMENT, np.array([0, 2**63], np.uint64)))


def test_kinds_that_do_not_go_together() -> None:
    tiles = maxsim.Tiles.from_matrix(DOCUMENT, "int8")
    with pytest.raises(ValueError, match="document 1 is Tiles"):
        maxsim.scores(QUERY, [tiles, maxsim.Tiles.from_matrix(DOCUMENT, "fp32")])
    with pytest.raises(TypeError, match="document 1 is a ndarray"):
        maxsim.scores(QUERY, [tiles, DOCUMENT])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="put a single one into a list"):
        maxsim.scores(QUERY, tiles)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="packed for fp32"):
        maxsim.scores(maxsim.Query(QUERY), [tiles])
    with pytest.raises(ValueError, match="cannot be scored as fp32"):
        maxsim.scores(QUERY, [tiles], dtype="fp32")
    with pytest.raises(ValueError, match="dtype must be one of"):
        maxsim.Tiles.from_matrix(DOCUMENT, "float32")  # type: ignore[arg-type]
    for threads in (0, 65):
        with pytest.raises(ValueError, match="threads must be 1 to 64"):
            maxsim.scores(QUERY, [tiles], threads=threads)


def test_an_unknown_kernel_is_a_clear_error() -> None:
    with pytest.raises(ValueError, match=r"choose one of .*scalar"):
        maxsim.select_kernel("sse9")
    code = "from native import maxsim; print(maxsim.kernel())"
    for name, expected in (("scalar", "scalar"), ("", maxsim.kernel()), ("sse9", None)):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "MAXSIM_KERNEL": name},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if expected is None:
            assert "MAXSIM_KERNEL names a kernel that is unknown" in done.stderr
        else:
            assert done.stdout.strip() == expected


def test_the_kernels_are_those_that_the_processor_lists() -> None:
    try:
        with open("/proc/cpuinfo", encoding="ascii") as file:
            flags = next(set(line.split()) for line in file if line.startswith("flags"))
    except (OSError, StopIteration):
        pytest.skip("no /proc/cpuinfo with x86 flags")
    wants = {
        "avx2": {"avx2", "fma", "f16c"},
        "avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl"},
        "avx512vnni": {"avx512f", "avx512_vnni"},
        "avx512bf16": {"avx512_vnni", "avx512_bf16"},
    }
    expected = {name for name, need in wants.items() if need <= flags} | {"scalar"}
    assert set(maxsim.kernels()) == expected


def a_long_call(cancel: maxsim.Cancel | None = None) -> None:
    random = np.random.default_rng(0)
    tiles = [maxsim.Tiles.from_matrix(unit_vectors(random, 4000, 256))] * 100
    maxsim.scores(unit_vectors(random, 256, 256), tiles, cancel=cancel)


def test_other_threads_run_during_a_call() -> None:
    worker = threading.Thread(target=a_long_call)
    worker.start()
    turns = 0
    while worker.is_alive():
        turns += 1
        time.sleep(0.001)
    assert turns > 20


@pytest.mark.parametrize("threads", [1, 3])
def test_cancel_ends_a_call_and_stays(threads: int) -> None:
    cancel = maxsim.Cancel()
    random = np.random.default_rng(0)
    tiles = [maxsim.Tiles.from_matrix(unit_vectors(random, 2000, 256))] * 100_000
    query = unit_vectors(random, 256, 256)
    timer = threading.Timer(0.05, cancel.set)
    timer.start()
    with pytest.raises(maxsim.Cancelled):
        maxsim.scores(query, tiles, cancel=cancel, threads=threads)
    assert cancel.is_set()
    with pytest.raises(maxsim.Cancelled):
        maxsim.alignments(query, tiles[:1], cancel=cancel, threads=threads)


def test_many_python_threads_share_the_pool() -> None:
    random = np.random.default_rng(1)
    query = unit_vectors(random, 8, 32)
    documents = [unit_vectors(random, int(n), 32) for n in random.integers(0, 60, 50)]
    expected = maxsim.scores(query, documents).tobytes()
    wrong = []

    def work() -> None:
        for _ in range(200):
            if maxsim.scores(query, documents, threads=4).tobytes() != expected:
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(6)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert not wrong


def score_with_threads() -> None:
    assert maxsim.scores(QUERY, [DOCUMENT] * 40, threads=3)[0] == 16


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_process_has_its_own_pool(method: str) -> None:
    score_with_threads()
    context: Any = multiprocessing.get_context(method)
    child = context.Process(target=score_with_threads)
    child.start()
    child.join(60)
    assert child.exitcode == 0


def test_memory_lives_as_long_as_a_call_needs_it() -> None:
    query = maxsim.Query(np.ones((4, 64), dtype=np.float32))
    stop = threading.Event()

    def collect() -> None:
        while not stop.is_set():
            gc.collect(0)
            np.full(1 << 14, np.nan, dtype=np.float32)  # reuses what was freed

    collector = threading.Thread(target=collect)
    collector.start()
    try:
        for _ in range(2000):
            fresh = (np.ones((n, 64), dtype=np.float32) for n in (1, 9, 20))
            assert (maxsim.scores(query, list(fresh)) == 256).all()
            tiles = [maxsim.Tiles.from_matrix(np.ones((9, 64), np.float32)) for _ in range(2)]
            assert (maxsim.scores(query, tiles, threads=2) == 256).all()
    finally:
        stop.set()
        collector.join()
