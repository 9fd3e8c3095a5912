"""What is on a page and not valid, or not its own text: struck out, covered, switched off; fields, notes, links."""

import pytest

from services.retriever.documents import ParsedDocument
from services.retriever.parsing.pdf import pages
from tests.retriever.parsing.pdfs import make, stream, text

SEEN = text("The deposit is refunded within ten days of leaving.", y=720)
WORDS = "The deposit for a dog is 90 euros"


def parse(*content: bytes, annotations: tuple[str, ...] = (), **extra: object) -> ParsedDocument:
    objects = {
        2000 + at: f"<< /Type /Annot {entry} >>".encode() for at, entry in enumerate(annotations)
    }
    listed = " ".join(f"{number} 0 R" for number in objects)
    entries = f"/Annots [{listed}]" if annotations else ""
    fields = f"/AcroForm << /Fields [{listed}] >>" if "/FT" in "".join(annotations) else ""
    return pages.parse(
        make([b"".join(content)], page_entries=entries, catalog_entries=fields, extra=objects)
    )


class TestStruckOut:
    @pytest.mark.parametrize(
        "strike",
        [
            b"1 w 72 504 m 250 504 l S\n",
            b"72 503.4 178 0.8 re f\n",
            b"1 0 0 rg 72 503 178 1.2 re f 0 g\n",
            b"1 w 72 504 m 160 504 l 160 504 m 252 504 l S\n",
        ],
        ids=["line", "thin box", "red", "two parts"],
    )
    def test_it_leaves_the_text_with_a_warning(self, strike: bytes) -> None:
        found = parse(SEEN, text(WORDS, y=500), text("A dog stays in the yard.", y=480), strike)
        assert "90" not in found.text
        assert found.text.endswith("A dog stays in the yard.")
        assert any("struck-out" in warning and "pages 1" in warning for warning in found.warnings)

    def test_one_word_of_a_line(self) -> None:
        strike = b"0.7 w 186 504 m 224 504 l S\n"
        found = parse(text("The deposit for a dog is ninety euros.", y=500), strike)
        assert found.text.startswith("The deposit for a ")
        assert found.text.endswith("euros.")
        assert len(found.text) < 35

    @pytest.mark.parametrize(
        "line",
        [
            b"1 w 72 498 m 250 498 l S\n",
            b"1 w 72 511 m 250 511 l S\n",
            b"1 w 40 504 m 560 504 l S\n",
            b"1 w 72 490 m 250 490 l 72 515 m 250 515 l S\n",
            b"1 1 1 RG 1 w 72 504 m 250 504 l S 0 G\n",
            b"1 w 100 490 m 100 515 l S\n",
        ],
        ids=["underline", "overline", "rule", "borders", "white", "upright"],
    )
    def test_other_lines_strike_nothing(self, line: bytes) -> None:
        found = parse(SEEN, text(WORDS, y=500), line)
        assert WORDS in found.text
        assert found.warnings == ()

    def test_a_strike_annotation(self) -> None:
        strike = (
            "/Subtype /StrikeOut /Rect [70 495 252 512] /QuadPoints [70 512 252 512 70 495 252 495]"
        )
        found = parse(SEEN, text(WORDS, y=500), annotations=(strike,))
        assert "90" not in found.text
        assert any("struck-out" in warning for warning in found.warnings)

    def test_on_a_turned_page(self) -> None:
        data = make(
            [SEEN + text(WORDS, y=500) + b"1 w 72 504 m 250 504 l S\n"], page_entries="/Rotate 90"
        )
        assert "90" in pages.parse(make([SEEN + text(WORDS, y=500)])).text
        assert "90" not in pages.parse(data).text


class TestCovered:
    @pytest.mark.parametrize(
        "cover",
        [
            b"0 g 60 490 300 24 re f\n",
            b"1 g 60 490 300 24 re f 0 g\n",
            b"q 300 0 0 24 60 490 cm /Im1 Do Q\n",
            b"24 w 60 502 m 360 502 l S 1 w\n",
        ],
        ids=["black box", "white box", "picture", "thick stroke"],
    )
    def test_it_is_not_in_the_text(self, cover: bytes) -> None:
        found = parse(SEEN, text(WORDS, y=500), cover)
        assert found.text == "The deposit is refunded within ten days of leaving."
        assert any("opaque" in warning for warning in found.warnings)

    @pytest.mark.parametrize(
        "drawn",
        [
            b"1 1 0 rg 60 490 300 24 re f 0 g\n" + text(WORDS, y=500),
            text(WORDS, y=500) + b"/G0 gs 1 1 0 rg 60 490 300 24 re f 0 g\n",
            text(WORDS, y=500) + b"/G1 gs 0 g 60 490 300 24 re f\n",
            text(WORDS, y=500) + b"4 w 60 490 300 24 re S 1 w\n",
            text(WORDS, y=500) + b"q 400 400 10 10 re W n 0 g 60 490 300 24 re f Q\n",
        ],
        ids=["box below", "marker", "clear box", "frame", "clipped away"],
    )
    def test_what_is_seen_stays(self, drawn: bytes) -> None:
        states = b"/ExtGState << /G0 << /BM /Multiply >> /G1 << /ca 0.3 >> >> /Font <<"
        data = make([SEEN + drawn]).replace(b"/Font <<", states)
        assert WORDS in pages.parse(data).text

    @pytest.mark.parametrize(
        ("kind", "drawn", "seen"),
        [
            ("Square", b"0 g 0 0 300 24 re f", False),
            ("Stamp", b"1 g 0 0 300 24 re f", False),
            ("Redact", b"0 g 0 0 300 24 re f", False),
            ("Square", b"0 0 300 24 re S", True),
            ("Highlight", b"/G0 gs 1 1 0 rg 0 0 300 24 re f", True),
        ],
        ids=["black box", "white stamp", "redaction", "frame", "marker"],
    )
    def test_annotations_cover_too(self, kind: str, drawn: bytes, seen: bool) -> None:
        box = "/Type /XObject /Subtype /Form /BBox [0 0 300 24]"
        state = "/Resources << /ExtGState << /G0 << /BM /Multiply >> >> >>"
        note = (
            f"<< /Type /Annot /Subtype /{kind} /Rect [60 490 360 514] /F 4 /AP << /N 2001 0 R >> >>"
        )
        extra = {2000: note.encode(), 2001: stream(drawn, f"{box} {state}")}
        data = make([SEEN + text(WORDS, y=500)], page_entries="/Annots [2000 0 R]", extra=extra)
        found = pages.parse(data)
        assert (WORDS in found.text) is seen
        assert any("opaque" in warning for warning in found.warnings) is not seen

    def test_what_was_typed_over_a_white_box_counts(self) -> None:
        box = b"1 g 60 490 300 24 re f 0 g\n"
        found = parse(SEEN, text(WORDS, y=500), box, text("The deposit is 140 euros", y=500))
        assert "140" in found.text
        assert "90" not in found.text

    def test_what_is_marked_to_be_redacted_is_left_out(self) -> None:
        mark = "/Subtype /Redact /Rect [60 490 360 514] /F 4"
        found = parse(SEEN, text(WORDS, y=500), annotations=(mark,))
        assert found.text == "The deposit is refunded within ten days of leaving."
        assert found.warnings == ("text marked to be redacted left out on pages 1",)


class TestForms:
    LABEL = text("Policy number:", y=600)

    def test_values_stand_behind_their_labels(self) -> None:
        fields = (
            "/Subtype /Widget /FT /Tx /T (a) /V (QX-88213) /Rect [200 596 300 612]",
            "/Subtype /Widget /FT /Btn /T (b) /V /Yes /AS /Yes /Rect [200 576 212 588]"
            " /AP << /N << /Yes 1000 0 R /Off 1000 0 R >> >>",
            "/Subtype /Widget /FT /Btn /T (c) /V /Off /AS /Off /Rect [200 556 212 568]"
            " /AP << /N << /Yes 1000 0 R /Off 1000 0 R >> >>",
            "/Subtype /Widget /FT /Ch /Ff 131072 /T (d) /V (Harwich) /Opt [(Ely) (Harwich)]"
            " /Rect [200 536 300 552]",
        )
        labels = [
            text(words, y=y) for words, y in (("Member:", 578), ("Smoker:", 558), ("Harbour:", 538))
        ]
        found = parse(self.LABEL, *labels, annotations=fields)
        assert found.text == ("Policy number: QX-88213\nMember: [x]\nSmoker: [ ]\nHarbour: Harwich")

    def test_a_hidden_field_and_a_password_are_not_read(self) -> None:
        fields = (
            "/Subtype /Widget /F 2 /FT /Tx /T (a) /V (hidden) /Rect [200 596 300 612]",
            "/Subtype /Widget /FT /Tx /Ff 8192 /T (b) /V (secret) /Rect [200 576 300 592]",
        )
        assert parse(self.LABEL, annotations=fields).text == "Policy number:"

    def test_a_value_of_several_lines(self) -> None:
        value = "The roof was lifted by the storm and the rain came into both rooms below it."
        fields = (f"/Subtype /Widget /FT /Tx /Ff 4096 /T (a) /V ({value}) /Rect [72 500 272 580]",)
        found = parse(self.LABEL, annotations=fields)
        assert " ".join(found.text.split()).endswith(value)


class TestAnnotations:
    def test_typed_text_and_stamps_are_text(self) -> None:
        notes = (
            "/Subtype /FreeText /Contents (The gate code is HERON) /Rect [72 600 300 620]",
            "/Subtype /Stamp /Name /Approved /Rect [400 100 500 140]",
        )
        found = parse(SEEN, annotations=notes)
        assert found.text.splitlines()[-3:] == ["The gate code is HERON", "", "Approved"]

    def test_a_stamp_whose_words_are_drawn_is_told(self) -> None:
        fonts = "/Resources << /Font << /F1 3 0 R >> >>"
        drawing = stream(
            text("REFUSED", x=4, y=8), f"/Type /XObject /Subtype /Form /BBox [0 0 160 30] {fonts}"
        )
        note = (
            b"<< /Type /Annot /Subtype /Stamp /Rect [72 600 232 630] /F 4 /AP << /N 2001 0 R >> >>"
        )
        data = make([SEEN], page_entries="/Annots [2000 0 R]", extra={2000: note, 2001: drawing})
        found = pages.parse(data)
        assert found.warnings == ("stamps whose words could not be read on pages 1",)

    def test_rich_text_is_read_where_there_is_no_plain_one(self) -> None:
        rich = "<body><p>The gate code<br/>is <b>HERON</b></p><p>R&amp;D only</p></body>"
        note = f"/Subtype /FreeText /RC ({rich}) /Rect [72 540 300 620]"
        found = parse(SEEN, annotations=(note,)).text
        assert found.split("\n\n", 1)[1].split() == "The gate code is HERON R&D only".split()  # noqa: SIM905

    @pytest.mark.parametrize("kind", ["Square", "Circle", "Ink", "Polygon"])
    def test_remarks_on_drawings_are_comments(self, kind: str) -> None:
        shape = f"/Subtype /{kind} /Contents (I would charge more) /Rect [72 600 90 620]"
        found = parse(SEEN, annotations=(shape,))
        assert "charge" not in found.text
        assert any("comments" in warning for warning in found.warnings)

    def test_comments_stay_out_and_are_told(self) -> None:
        note = "/Subtype /Text /Contents (I would charge more) /Rect [72 600 90 620]"
        found = parse(SEEN, annotations=(note,))
        assert "charge" not in found.text
        assert any("comments" in warning for warning in found.warnings)


class TestLinks:
    def link(self, address: str, rect: str = "100 595 132 612") -> str:
        return f"/Subtype /Link /Rect [{rect}] /A << /S /URI /URI ({address}) >>"

    def test_the_address_follows_the_words(self) -> None:
        link = self.link("https://forms.example/7")
        found = parse(text("The exit form is here. Bring it along.", y=600), annotations=(link,))
        assert found.text.count("https://forms.example/7") == 1
        assert " (https://forms.example/7) " in found.text
        assert found.text.startswith("The exit")
        assert found.text.endswith("Bring it along.")

    def test_over_two_lines_once(self) -> None:
        links = (
            self.link("https://forms.example/7", "72 595 300 612"),
            self.link("https://forms.example/7", "72 581 300 598"),
        )
        page = text("The exit form is on our page,", y=600) + text("under the forms.", y=586)
        found = parse(page, annotations=links)
        assert found.text == (
            "The exit form is on our page,\nunder the forms. (https://forms.example/7)"
        )

    @pytest.mark.parametrize("words", ["https://forms.example/7", "forms.example/7"])
    def test_not_where_the_words_are_the_address(self, words: str) -> None:
        link = self.link("https://forms.example/7", "72 595 300 612")
        assert parse(text(words, y=600), annotations=(link,)).text == words

    def test_other_actions_are_none(self) -> None:
        link = "/Subtype /Link /Rect [72 595 300 612] /A << /S /JavaScript /JS (x) >>"
        assert parse(text("Press here", y=600), annotations=(link,)).text == "Press here"
