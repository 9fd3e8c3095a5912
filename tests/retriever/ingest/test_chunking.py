"""Chunks: the count formula, slices, borders, pages, and every text that could make a splitter fail."""

import itertools
import random
import re
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as WordPiece

from folio.formats import MediaType
from services.minilm import weights
from services.retriever.documents import (
    PAGE_BREAK,
    ChunkSpan,
    Page,
    ParsedDocument,
    Section,
)
from services.retriever.ingest.chunking import chunk, plain_count


class MiniLMTokenizer:
    """The embedded model's own tokenizer."""

    def __init__(self) -> None:
        self._tokenizer = WordPiece.from_file(str(weights.model_dir() / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        offsets: list[tuple[int, int]] = self._tokenizer.encode(
            text, add_special_tokens=False
        ).offsets
        return offsets


class Words:
    """One token a word: counts that a reader can check by hand."""

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\S+", text)]


MINILM = MiniLMTokenizer()
WORDS = Words()


def document(*pages: str, sections: Sequence[Section] | None = None) -> ParsedDocument:
    made, start = [], 0
    for index, text in enumerate(pages):
        made.append(Page(index, f"p{index + 1}", text, start))
        start += len(text) + len(PAGE_BREAK)
    length = max(0, start - len(PAGE_BREAK))
    if sections is None:
        sections = [Section((), 0, length)] if length else []
    return ParsedDocument(MediaType.TEXT, "t", tuple(made), tuple(sections))


def headed(*parts: tuple[tuple[str, ...], str]) -> ParsedDocument:
    """One page of sections."""
    text, sections = "", []
    for path, body in parts:
        sections.append(Section(path, len(text), len(text) + len(body)))
        text += body
    return document(text, sections=sections)


def words(count: int, prefix: str = "w") -> str:
    return " ".join(f"{prefix}{index}" for index in range(count))


def bodies(parsed: ParsedDocument, chunks: Sequence[ChunkSpan]) -> list[str]:
    return [parsed.text[c.char_start : c.char_end] for c in chunks]


def check(parsed: ParsedDocument, chunks: Sequence[ChunkSpan], most: int) -> None:
    """What holds for every document and every tokenizer."""
    text = parsed.text
    assert [c.ordinal for c in chunks] == list(range(len(chunks)))
    covered = bytearray(len(text))
    for c in chunks:
        body = text[c.char_start : c.char_end]
        assert body
        assert body.lstrip(" \t") == body.strip()
        assert c.token_count <= most
        assert 0 <= c.page_start <= c.page_end < len(parsed.pages)
        assert parsed.pages[c.page_start].label == c.page_label
        first, last = parsed.pages[c.page_start], parsed.pages[c.page_end]
        assert first.char_start <= c.char_start < first.char_end
        assert last.char_start < c.char_end <= last.char_end
        section = parsed.sections[c.section]
        assert section.char_start < c.char_end
        assert c.char_start < section.char_end
        covered[c.char_start : c.char_end] = b"\1" * (c.char_end - c.char_start)
    assert all(a.char_start < b.char_start for a, b in itertools.pairwise(chunks))
    assert all(a.char_end < b.char_end for a, b in itertools.pairwise(chunks))
    assert all(covered[index] for index, char in enumerate(text) if not char.isspace())


class TestWindows:
    @pytest.mark.parametrize("count", [1, 49, 50, 51, 499, 500, 501, 950, 951, 1400, 1401, 12_345])
    def test_the_count_formula(self, count: int) -> None:
        chunks = chunk(document(words(count)), WORDS, 500, 50, 0)
        assert len(chunks) == plain_count(count, 500, 50)
        assert len(chunks) == max(1, -(-(count - 50) // 450))

    def test_windows_overlap_by_exactly_so_many_tokens(self) -> None:
        parsed = document(words(1200))
        found = [body.split() for body in bodies(parsed, chunk(parsed, WORDS, 500, 50, 0))]
        assert [len(body) for body in found] == [500, 500, 300]
        assert found[0][-50:] == found[1][:50]
        assert found[1][-50:] == found[2][:50]

    def test_an_end_snaps_to_a_paragraph_within_reach(self) -> None:
        parsed = document(words(480, "a") + PAGE_BREAK + words(480, "b"))
        first = chunk(parsed, WORDS, 500, 50, 50)[0]
        assert (first.token_count, parsed.text[: first.char_end].endswith("a479")) == (480, True)
        assert chunk(parsed, WORDS, 500, 50, 10)[0].token_count == 500

    def test_a_heading_is_taken_before_a_nearer_paragraph(self) -> None:
        parts = [words(470, "a"), words(28, "b"), words(400, "c")]
        text = "\n\n".join(parts)
        at = len(parts[0]) + 2
        sections = [Section(("T", "1"), 0, at), Section(("T", "1", "x"), at, len(text))]
        headed_at_470 = document(text, sections=sections)
        assert chunk(headed_at_470, WORDS, 500, 50, 50)[0].token_count == 470
        assert chunk(document(text), WORDS, 500, 50, 50)[0].token_count == 498

    def test_no_chunk_is_longer_than_the_embedder_reads(self) -> None:
        parsed = document(PAGE_BREAK.join(words(90, f"p{index}") for index in range(30)))
        assert max(c.token_count for c in chunk(parsed, WORDS, 500, 50, 50, limit=254)) <= 254
        assert max(c.token_count for c in chunk(parsed, WORDS, 500, 50, 50, limit=510)) <= 510

    @pytest.mark.parametrize(
        ("size", "overlap", "snap"), [(50, 50, 0), (0, 0, 0), (10, -1, 0), (10, 0, -1)]
    )
    def test_sizes_that_cannot_work(self, size: int, overlap: int, snap: int) -> None:
        with pytest.raises(ValueError, match="overlap"):
            chunk(document("text"), WORDS, size, overlap, snap)

    def test_no_text_is_no_chunk(self) -> None:
        assert chunk(document(), WORDS) == []
        assert chunk(document("", ""), WORDS) == []


class TestCode:
    def test_a_chunk_of_code_begins_with_the_indentation_of_its_first_line(self) -> None:
        lines = [f"{' ' * (4 * (number % 3))}line{number} = {number}" for number in range(200)]
        text = "\n".join(lines)
        parsed = document(text)
        chunks = chunk(parsed, Words(), 30, 5, 3)
        for each in chunks:
            first = text[each.char_start : each.char_end].split("\n")[0]
            if each.char_start == 0 or text[each.char_start - 1] == "\n":
                assert first in lines
            else:
                assert not first.startswith(" ")
        assert any(text[each.char_start] == " " for each in chunks)


class TestSections:
    def test_no_chunk_crosses_a_top_level_section(self) -> None:
        parsed = headed(
            ((), "Before it. " + words(70) + "\n\n"),
            (("One",), "One " + words(700, "a") + "\n\n"),
            (("One", "Sub"), "Sub " + words(20, "s") + "\n\n"),
            (("Two",), "Two " + words(30, "b")),
        )
        chunks = chunk(parsed, WORDS, 500, 50, 50)
        for body in bodies(parsed, chunks):
            assert not ("a1 " in body and "b1 " in body)
        assert bodies(parsed, chunks)[0].endswith("w69")
        assert bodies(parsed, chunks)[-1].startswith("Two b0")

    @pytest.mark.parametrize(
        ("words_each", "starts"),
        [(480, ["Handbook", "Pay"]), (20, ["Handbook"])],
    )
    def test_under_one_title_the_next_level_is_the_top_if_its_sections_fill_chunks(
        self, words_each: int, starts: list[str]
    ) -> None:
        parsed = headed(
            (("Handbook",), "Handbook\n\nWords in front.\n\n"),
            (("Handbook", "Leave"), "Leave " + words(words_each, "a") + "\n\n"),
            (("Handbook", "Pay"), "Pay " + words(words_each, "b")),
        )
        assert [body.split()[0] for body in bodies(parsed, chunk(parsed, WORDS))] == starts

    def test_two_sections_of_one_name_stay_apart(self) -> None:
        parsed = headed((("FAQ",), "FAQ a\n\n"), (("FAQ",), "FAQ b"))
        assert bodies(parsed, chunk(parsed, WORDS)) == ["FAQ a", "FAQ b"]

    def test_a_chunk_belongs_to_the_section_that_holds_most_of_it(self) -> None:
        parsed = headed(
            (("A",), "short\n\n"),
            (("A", "1"), "short too\n\n"),
            (("A", "2"), words(100)),
            (("B",), "end"),
        )
        chunks = chunk(parsed, WORDS)
        assert [parsed.sections[c.section].path[-1] for c in chunks] == ["2", "B"]


class TestPages:
    def test_every_token_is_cited_with_its_page_and_label(self) -> None:
        pages = [f"TOKEN{index}X " + words(137, f"p{index}w") for index in range(60)]
        parsed = document(*pages)
        chunks = chunk(parsed, MINILM)
        check(parsed, chunks, 550)
        for index in range(60):
            holding = [
                c for c in chunks if f"TOKEN{index}X" in parsed.text[c.char_start : c.char_end]
            ]
            assert holding
            assert all(c.page_start <= index <= c.page_end for c in holding)

    def test_empty_pages_are_never_cited(self) -> None:
        parsed = document("", "one", "", "", "two", "")
        (only,) = chunk(parsed, WORDS)
        assert (only.page_start, only.page_end, only.page_label) == (1, 4, "p2")

    def test_two_hundred_identical_paragraphs(self) -> None:
        same = "The same words of a disclaimer, again and again. " * 4
        parsed = document(*[same.strip()] * 200)
        chunks = chunk(parsed, MINILM)
        check(parsed, chunks, 550)
        assert chunks[-1].page_end == 199


class TestHostileText:
    def test_a_megabyte_without_a_space(self) -> None:
        parsed = document("A" * 2**20)
        chunks = chunk(parsed, MINILM, limit=510)
        check(parsed, chunks, 510)
        assert max(c.char_end - c.char_start for c in chunks) <= 510 * 32

    @pytest.mark.parametrize(
        "text",
        [
            "o\ufb03ce \ufb03 \ufb03\ufb03 " * 300,
            "？……。！" * 500,
            "\u1112\u1161\u11ab\u1100\u116e\u11a8" * 500,
            "ヿㇰヷ" * 500,
            "\u1fbd\u1fbf \u1ffe " * 500,
            "東京都の人口は一千万人を超える。" * 200,
            "\u0301" * 3000,
            "\u200d" * 3000 + " x",
            "x" * 31 + " " + "y" * 101 + " ",
            "مرحبا بالعالم " * 300,
            "🏴‍☠️👩‍🚀" * 400,
        ],
    )
    def test_borders_are_never_inside_a_character(self, text: str) -> None:
        parsed = document(text.strip())
        for size, overlap, snap in ((500, 50, 50), (20, 5, 3), (2, 1, 0), (1, 0, 0)):
            chunks = chunk(parsed, MINILM, size, overlap, snap)
            # A single character may be more tokens than a tiny window holds.
            check(parsed, chunks, max(size + snap, 8))

    def test_offsets_out_of_order_and_out_of_range(self) -> None:
        class Broken:
            def offsets(self, text: str) -> Sequence[tuple[int, int]]:
                return [(5, 7), (0, 2), (3, 3), (6, 9), (9, 10**6), (-4, 2)]

        parsed = document("some words that are here")
        check(parsed, chunk(parsed, Broken(), 2, 1, 0), 8)

    def test_ten_thousand_random_texts(self) -> None:
        random.seed(7)
        alphabet = "ab A.\n\n\t é東\ufb03\u0301\u200d-한0,\xa0"
        for _ in range(10_000):
            text = "".join(random.choices(alphabet, k=random.randrange(60)))
            size = random.randrange(1, 9)
            overlap = random.randrange(size)
            parsed = document(text, text[::-1])
            check(parsed, chunk(parsed, WORDS, size, overlap, random.randrange(4)), 10**6)


@st.composite
def documents(draw: st.DrawFn) -> ParsedDocument:
    page = st.text(st.sampled_from("abc XY.\n\n é東\ufb03"), max_size=400).map(str.strip)
    pages = draw(st.lists(page, min_size=1, max_size=5))
    parsed = document(*pages)
    length = len(parsed.text)
    cuts = sorted(draw(st.sets(st.integers(0, max(0, length - 1)), max_size=6)) - {0})
    if not length:
        return parsed
    paths = st.lists(st.sampled_from("PQR"), max_size=3).map(tuple)
    borders = [0, *cuts, length]
    sections = [Section(draw(paths), start, end) for start, end in itertools.pairwise(borders)]
    return document(*pages, sections=sections)


@given(documents(), st.integers(1, 40), st.data())
@settings(max_examples=2 * settings().max_examples, suppress_health_check=[HealthCheck.too_slow])
def test_what_always_holds(parsed: ParsedDocument, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    snap = data.draw(st.integers(0, 20))
    check(parsed, chunk(parsed, MINILM, size, overlap, snap), max(size + snap, 8))


LEDGER = [
    "1,532", "PO-99803", "3.5", "-12.75%", "$5,877,879.00", "anna.weber@harbour.example", "2024-03-12", "12/03/2024",
    "XJ-4711-B", "https://harbour.example/a/b?c=1", "0800/4711-22", "Donaudampfschifffahrt", "C++", "10:30", "v1.2.3",
]  # fmt: skip


class TestWords:
    @pytest.mark.parametrize(("size", "overlap", "snap"), [(500, 50, 50), (40, 6, 6), (40, 0, 0)])
    def test_no_border_is_inside_a_number_a_code_or_a_word(
        self, size: int, overlap: int, snap: int
    ) -> None:
        chooser = random.Random(3)
        parsed = document(" ".join(chooser.choices(LEDGER, k=2000)))
        chunks = chunk(parsed, MINILM, size, overlap, snap)
        check(parsed, chunks, size + snap)
        assert len(chunks) > 10
        for body in bodies(parsed, chunks):
            assert set(body.split()) <= set(LEDGER)

    @pytest.mark.parametrize(
        "whole", ["1 532 000", "12 March 2024", "3. Mai 2023", "March 12, 2024", "12\xa0345"]
    )
    def test_nor_inside_one_with_spaces(self, whole: str) -> None:
        parsed = document(f"paid {whole} euro; " * 400)
        for body in bodies(parsed, chunk(parsed, MINILM, 60, 10, 0)):
            assert body.split()[0] in ("paid", "euro;", *whole.split()[:1])
            assert body.split()[-1] in ("paid", "euro;", *whole.split()[-1:])

    def test_a_run_that_is_too_long_is_cut(self) -> None:
        parsed = document("x9-" * 20_000)
        chunks = chunk(parsed, MINILM, 100, 10, 10, limit=110)
        check(parsed, chunks, 110)

    def test_windows_begin_and_end_with_sentences_that_are_near(self) -> None:
        sentences = [f"Sentence number {n} says that the harbour is open." for n in range(400)]
        parsed = document(" ".join(sentences))
        chunks = chunk(parsed, MINILM)
        check(parsed, chunks, 550)
        assert len(chunks) > 5
        for body in bodies(parsed, chunks):
            assert body.startswith("Sentence number")
            assert body.endswith("is open.")
        for a, b in itertools.pairwise(chunks):
            assert 25 <= len(MINILM.offsets(parsed.text[b.char_start : a.char_end])) <= 75
