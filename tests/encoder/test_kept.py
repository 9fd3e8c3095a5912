"""What the encoder keeps: bounds, the order in which things go, and whose they are."""

import threading
from pathlib import Path

import numpy as np

from services.encoder.kept import Encoded, Memory, Spool, key


def rows(count: int, value: float) -> np.ndarray:
    return np.full((count, 4), value, np.float16)


def encoded(count: int = 10) -> Encoded:
    return Encoded(np.ones(4, np.float32), rows(count, 1))


def test_the_key_is_the_organization_and_what_was_read() -> None:
    assert key(1, [101, 2000, 102]) == key(1, [101, 2000, 102])
    assert key(1, [101, 2000, 102]) != key(2, [101, 2000, 102])
    assert key(1, [101, 2000, 102]) != key(1, [101, 2000, 2000, 102])


def test_memory_is_bounded_and_drops_what_was_not_used_longest() -> None:
    memory = Memory(3 * (encoded().nbytes + 400))
    keys = [key(1, [101, n, 102]) for n in range(4)]
    for one in keys[:3]:
        memory.put(one, encoded())
    assert memory.get(keys[0]) is not None
    memory.put(keys[3], encoded())
    assert [memory.get(one) is not None for one in keys] == [True, False, True, True]
    memory.put(keys[3], encoded())
    assert memory.bytes == 3 * (encoded().nbytes + 400)
    memory.put(keys[0], encoded(10_000))
    assert (len(memory), memory.bytes) == (0, 0), "what is larger than all of it is not kept"


def test_the_spool_gives_each_text_once_as_it_came(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1000)
    for n in range(5):
        spool.put(key(1, [n]), rows(n + 1, n))
    for n in range(5):
        found = spool.take(key(1, [n]))
        assert found is not None
        assert np.array_equal(found, rows(n + 1, n))
        assert spool.take(key(1, [n])) is None
    assert spool.take(key(2, [0])) is None
    assert not list(tmp_path.iterdir()), "nobody else can open the file"
    spool.close()


def test_the_spool_is_a_ring_that_never_gives_overwritten_vectors(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1000)
    chance = np.random.default_rng(7)
    known: dict[int, np.ndarray] = {}
    met = 0
    for n in range(600):
        known[n] = rows(int(chance.integers(1, 40)), n % 100)
        spool.put(key(1, [n]), known[n])
        if n % 3 == 0:
            asked = int(chance.integers(max(0, n - 8), n + 1))
            found = spool.take(key(1, [asked]))
            if found is not None:
                met += 1
                assert np.array_equal(found, known[asked])
        assert len(spool) <= 125
    assert met > 50
    spool.put(key(1, [1000]), rows(126, 1))
    assert spool.take(key(1, [1000])) is None, "larger than the file may be"
    spool.close()


def test_the_spool_gives_its_space_back(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1000)
    for n in range(4):
        spool.put(key(1, [n]), rows(10, n))
    for n in range(4):
        spool.take(key(1, [n]))
    assert spool._file.seek(0, 2) == 0
    spool.put(key(1, [9]), rows(10, 9))
    found = spool.take(key(1, [9]))
    assert found is not None
    assert np.array_equal(found, rows(10, 9))
    spool.close()


def test_the_spool_is_used_by_several_threads(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 100_000)
    wrong: list[int] = []

    def work(thread: int) -> None:
        for n in range(100):
            mine = rows(5, (thread * 100 + n) % 50)
            spool.put(key(thread, [n]), mine)
            found = spool.take(key(thread, [n]))
            if found is None or not np.array_equal(found, mine):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=[number]) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    spool.close()
