"""The pool of parser processes: what crashes, hangs or grows costs one file."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from folio.formats import MediaType
from services.retriever.documents import Box
from services.retriever.parsing import ParseLimits, ParserPool
from services.retriever.parsing.wire import Quote
from services.rpc.errors import InvalidArgument, ResourceExhausted
from tests.retriever.parsing.pdfs import make, stream, text

pytestmark = pytest.mark.integration

GOOD = make([text("a good file")])
# A form that draws itself ten times, and so on, ten levels deep: 10^10 texts.
BOMB = make(
    [b"/Fm0 Do\n"],
    extra={
        1010 + level: stream(
            f"/Fm{level + 1} Do\n".encode() * 10 if level < 9 else text("x") * 10,
            f"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /XObject <<"
            f" /Fm{level + 1} {1011 + level} 0 R >> /Font << /F1 3 0 R >> >>",
        )
        for level in range(10)
    },
).replace(b"/Im1 1000 0 R", b"/Fm0 1010 0 R")


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParserPool]:
    pool = ParserPool()
    await pool.start()
    yield pool
    await pool.close()


class TestFiles:
    async def test_all_formats(self, pool: ParserPool) -> None:
        for data, name, kind in (
            (GOOD, "a.pdf", MediaType.PDF),
            (b"# a good file", "a.md", MediaType.MARKDOWN),
            (b"<p>a good file", "a.html", MediaType.HTML),
            (b"a good file", "a.txt", MediaType.TEXT),
        ):
            document = await pool.parse(data, file_name=name)
            assert (document.media_type, document.text) == (kind, "a good file")

    async def test_the_sender_names_the_encoding(self, pool: ParserPool) -> None:
        data = "Срок: сорок дней".encode("koi8-r")
        named = "text/plain; charset=koi8-r"
        document = await pool.parse(data, file_name="a.txt", media_type=named)
        assert (document.text, document.warnings) == ("Срок: сорок дней", ())

    async def test_a_title_of_any_kind(self, pool: ParserPool) -> None:
        assert (
            await pool.parse(GOOD, file_name="The \x00 report-\ud800.pdf")
        ).title == "The report-"
        assert (await pool.parse(GOOD, file_name="-opw.pdf")).title == "-opw"
        assert (await pool.parse(GOOD, file_name="", title="x" * 10_000)).title == "x" * 500

    @pytest.mark.parametrize(
        ("tree", "labels"),
        [
            ("<< /Nums [0 << /S /r >> 2 << /S /D /St 5 >>] >>", ["i", "ii", "5"]),
            ("<< /Nums [0 << /P (A-) /S /D >>] >>", ["A-1", "A-2", "A-3"]),
            ("<< /Nums [0 << /S /A >>] >>", ["A", "B", "C"]),
            ("<< /Nums [0 << /P () >>] >>", ["1", "2", "3"]),
            ("<< /Nums [0 << /S /klingon >>] >>", ["1", "2", "3"]),
            ("<< /Nums [0 << /P (same) >>] >>", ["same", "same", "same"]),
            ("<< /Nums [7 << /S /D >>] >>", ["1", "2", "3"]),
            ("<< /Nums (text) >>", ["1", "2", "3"]),
            ("<< /Kids (text) >>", ["1", "2", "3"]),
            ("<< /Kids [1001 0 R] >>", ["1", "2", "3"]),
            ("<< /Nums [0 null] >>", ["1", "2", "3"]),
            ("<< /Nums [0 << /P (\\000\\001) >>] >>", ["1", "2", "3"]),
            ("(no tree)", ["1", "2", "3"]),
        ],
    )
    async def test_labels_never_break_a_file(
        self, pool: ParserPool, tree: str, labels: list[str]
    ) -> None:
        cycle = {1001: b"<< /Kids [1001 0 R] >>"}
        data = make([text("page")] * 3, catalog_entries=f"/PageLabels {tree}", extra=cycle)
        document = await pool.parse(data, file_name="a.pdf")
        assert [page.label for page in document.pages] == labels


class TestLimits:
    async def test_errors_keep_their_kind_and_reason(self, pool: ParserPool) -> None:
        with pytest.raises(InvalidArgument) as refused:
            await pool.parse(b"%PDF-1.7 and no more", file_name="a.pdf")
        assert refused.value.reason == "BROKEN_PDF"
        with pytest.raises(InvalidArgument, match="empty"):
            await pool.parse(b"", file_name="a.pdf")
        assert (await pool.parse(GOOD, file_name="a.pdf")).text == "a good file"

    async def test_too_large_a_file_starts_nothing(self) -> None:
        pool = ParserPool(ParseLimits(max_bytes=100))
        with pytest.raises(ResourceExhausted) as refused:
            await pool.parse(b"x" * 101, file_name="a.txt")
        assert refused.value.reason == "TOO_LARGE"
        assert pool.stats.started == 0

    async def test_a_killed_process_costs_one_file(self, pool: ParserPool) -> None:
        await pool.parse(GOOD, file_name="a.pdf")
        victim = pool._idle[-1].child.pid
        slow = asyncio.create_task(pool.parse(BOMB, file_name="a.pdf"))
        await asyncio.sleep(0.3)
        started = pool.stats.started
        os.kill(victim, signal.SIGSEGV)
        async with asyncio.timeout(30):
            # The second, careful try.
            while pool.stats.started == started:  # noqa: ASYNC110  (a process has no event)
                await asyncio.sleep(0.01)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert (await pool.parse(GOOD, file_name="a.pdf")).text == "a good file"

    async def test_time_for_a_page(self) -> None:
        pool = ParserPool(ParseLimits(page_s=0.5))
        with pytest.raises(ResourceExhausted, match="at page 1") as refused:
            await pool.parse(BOMB, file_name="a.pdf")
        assert refused.value.reason == "PARSE_TIMEOUT"
        assert (await pool.parse(GOOD, file_name="a.pdf")).text == "a good file"
        await pool.close()

    async def test_processor_time_for_a_file(self) -> None:
        pool = ParserPool(ParseLimits(cpu_s=1, memory_bytes=16 * 2**30))
        with pytest.raises(ResourceExhausted) as refused:
            await pool.parse(BOMB, file_name="a.pdf")
        assert refused.value.reason == "PARSE_CPU"
        await pool.close()

    async def test_memory(self) -> None:
        pool = ParserPool(ParseLimits(memory_bytes=160 * 2**20))
        with pytest.raises(ResourceExhausted) as refused:
            await pool.parse(b"word " * 15_000_000, file_name="a.txt")
        assert refused.value.reason == "PARSE_MEMORY"
        assert (await pool.parse(GOOD, file_name="a.pdf")).text == "a good file"
        with pytest.raises(ResourceExhausted) as refused:
            await pool.parse(BOMB, file_name="a.pdf")
        assert refused.value.reason == "PARSE_MEMORY"
        await pool.close()

    async def test_a_fresh_process_after_so_many_files(self) -> None:
        pool = ParserPool(ParseLimits(recycle_after=2))
        for _ in range(5):
            await pool.parse(GOOD, file_name="a.pdf")
        assert pool.stats.started == 3
        await pool.close()

    async def test_a_full_queue_refuses(self) -> None:
        pool = ParserPool(ParseLimits(workers=1, queue=2))
        results = await asyncio.gather(
            *(pool.parse(GOOD, file_name="a.pdf") for _ in range(6)), return_exceptions=True
        )
        assert sum(isinstance(result, ResourceExhausted) for result in results) == 3
        await pool.close()

    async def test_parallel_runs_give_the_serial_result(self) -> None:
        files = [
            make([text(f"file {index}, page {page}") for page in range(5)]) for index in range(12)
        ]
        pool = ParserPool(ParseLimits(workers=2))
        serial = [(await pool.parse(data, file_name="a.pdf")).text for data in files]
        parallel = await asyncio.gather(*(pool.parse(data, file_name="a.pdf") for data in files))
        assert [document.text for document in parallel] == serial
        await pool.close()

    async def test_closing_leaves_no_process(self) -> None:
        pool = ParserPool(ParseLimits(workers=2))
        await pool.start()
        pids = [process.child.pid for process in pool._idle]
        await pool.close()
        for pid in pids:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)

    async def test_a_worker_knows_nothing_of_our_environment(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FOLIO_INTERNAL_SECRET", "canary")
        pool = ParserPool(ParseLimits(workers=1))
        # A process that has answered is past its exec, where /proc shows an environment that is empty.
        await pool.parse(GOOD, file_name="a.pdf")
        file = Path(f"/proc/{pool._idle[0].child.pid}/environ")
        environment = await asyncio.to_thread(file.read_bytes)
        assert b"PYTHONPATH" in environment
        assert b"canary" not in environment
        await pool.close()


class TestPictures:
    async def test_a_page_is_drawn_with_its_highlight(self, pool: ParserPool) -> None:
        png, width, height = await pool.render(GOOD, 0, 72, [Box(0.5, 0.5, 0.6, 0.6)])
        assert png.startswith(b"\x89PNG")
        assert (width, height) == (612, 792)

    async def test_a_page_that_is_not_there_or_is_no_page(self, pool: ParserPool) -> None:
        with pytest.raises(InvalidArgument, match="page"):
            await pool.render(GOOD, 1, 72)
        with pytest.raises(InvalidArgument, match="only PDF"):
            await pool.render(b"text", 0, 72)

    async def test_what_has_no_pages_has_no_places(self, pool: ParserPool) -> None:
        assert await pool.locate(b"# text", [Quote(0, "text", 0)]) == [[]]
