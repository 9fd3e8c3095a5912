"""PowerPoint presentations as text."""

import pytest
from pptx import Presentation
from pptx.presentation import Presentation as Slides
from pptx.slide import Slide
from pptx.text.text import TextFrame
from pptx.util import Inches

from services.retriever.documents import ParsedDocument
from services.retriever.parsing.office import pptx
from services.retriever.parsing.parser import Hints
from services.rpc.errors import InvalidArgument
from tests.retriever.parsing.office.files import changed, parts, saved, slides, strict, zipped

SLIDE = "ppt/slides/slide1.xml"
TITLED = 5  # The layout "Title Only" of the library's template.


def read(show: Slides) -> ParsedDocument:
    return pptx.parse(saved(show), Hints(stem="file"))


def titled(show: Slides, title: str) -> Slide:
    slide: Slide = show.slides.add_slide(show.slide_layouts[TITLED])
    assert slide.shapes.title is not None
    slide.shapes.title.text = title
    return slide


def box(slide: Slide, text: str, left: float, top: float) -> TextFrame:
    shape = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(2), Inches(0.5))
    frame: TextFrame = shape.text_frame
    frame.text = text
    return frame


def test_a_slide_is_a_page_and_its_title_a_heading() -> None:
    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "Results"
    slide.placeholders[1].text = "Revenue of 5 million\nCosts of 3 million"
    titled(show, "Outlook")
    found = read(show)
    assert found.title == "Results"
    assert [page.label for page in found.pages] == ["1", "2"]
    assert found.text == "Results\n\n- Revenue of 5 million\n- Costs of 3 million\n\nOutlook"
    assert [section.path for section in found.sections] == [("Results",), ("Outlook",)]


def test_shapes_are_read_by_their_place_and_not_by_the_order_they_were_drawn_in() -> None:
    show = Presentation()
    slide = titled(show, "Order")
    box(slide, "third", 1, 4)
    box(slide, "second", 5, 2.1)
    box(slide, "first", 1, 2)
    assert read(show).text == "Order\n\nfirst\n\nsecond\n\nthird"


def test_groups_stand_where_the_slide_shows_them() -> None:
    show = Presentation()
    slide = titled(show, "Groups")
    box(slide, "below", 1, 4)
    group = slide.shapes.add_group_shape()
    inner = group.shapes.add_textbox(Inches(1), Inches(5), Inches(2), Inches(0.5))
    inner.text_frame.text = "in a group"
    group.left, group.top = Inches(1), Inches(2)
    assert read(show).text == "Groups\n\nin a group\n\nbelow"


def test_tables_keep_their_merged_cells() -> None:
    show = Presentation()
    slide = titled(show, "Prices")
    table = slide.shapes.add_table(3, 3, Inches(1), Inches(2), Inches(6), Inches(2)).table
    for row, values in enumerate(
        [("Item", "2024", ""), ("Nuts", "1.50", "1.80"), ("Bolts", "2.50", "3.00")]
    ):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    table.cell(0, 1).merge(table.cell(0, 2))
    found = read(show)
    assert found.text == "Prices\n\nItem | 2024\nNuts | 1.50 | 1.80\nBolts | 2.50 | 3.00"
    (one,) = found.tables
    assert (one.head_rows, one.head_columns) == (1, 1)
    assert [(cell.column, cell.column_span) for cell in one.cells if cell.row == 0] == [
        (0, 1),
        (1, 2),
    ]


def test_notes_are_marked_as_notes() -> None:
    show = Presentation()
    frame = titled(show, "Results").notes_slide.notes_text_frame
    assert frame is not None
    frame.text = "Say it slowly."
    found = read(show)
    assert found.text == "Results\n\nSpeaker notes\n\nSay it slowly."
    assert found.sections[-1].path == ("Results", "Speaker notes")


def test_hidden_slides_and_shapes_and_what_lies_beside_a_slide_are_left_out() -> None:
    show = Presentation()
    slide = titled(show, "Seen")
    box(slide, "beside", 30, 1)
    box(slide, "switched off", 1, 3)
    slide.shapes[-1]._element.nvSpPr.cNvPr.set("hidden", "1")
    titled(show, "Hidden")._element.set("show", "0")
    titled(show, "Last")
    found = read(show)
    assert found.text == "Seen\n\nLast"
    assert [page.label for page in found.pages] == ["1", "3"]
    assert found.warnings == (
        "hidden slides left out: 1",
        "shapes that are hidden or lie beside their slide left out: 2",
    )


def test_raised_and_struck_out_letters() -> None:
    show = Presentation()
    slide = titled(show, "Prices")
    line = box(slide, "A room is 320", 1, 2).paragraphs[0]
    mark = line.add_run()
    mark.text = "1"
    mark.font._element.set("baseline", "30000")
    gone = line.add_run()
    gone.text = " or 90"
    gone.font._element.set("strike", "sngStrike")
    line.add_run().text = " euros."
    found = read(show)
    assert "A room is 320[^1] euros." in found.text
    assert found.warnings == ("struck-out passages left out: 1",)


def test_numbers_of_slides_and_dates_are_no_text() -> None:
    def number(text: str) -> str:
        return text.replace(
            "</p:spTree>",
            '<p:sp><p:nvSpPr><p:cNvPr id="9" name="n"/><p:cNvSpPr/><p:nvPr><p:ph type="sldNum" idx="12"/></p:nvPr>'
            '</p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:fld id="{1}" type="slidenum"><a:t>17</a:t></a:fld></a:p>'
            "</p:txBody></p:sp></p:spTree>",
        )

    assert pptx.parse(changed(slides("Results"), SLIDE, number)).text == "Results"


def test_shapes_in_alternatives_are_read_once() -> None:
    def alternative(text: str) -> str:
        start, end = text.index("<p:sp>"), text.index("</p:sp>") + len("</p:sp>")
        shape = text[start:end].replace('type="title"', 'type="body" idx="7"')
        other = (
            '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
            f'<mc:Choice Requires="a14">{shape.replace("Results", "New words")}</mc:Choice>'
            f"<mc:Fallback>{shape.replace('Results', 'Old words')}</mc:Fallback></mc:AlternateContent>"
        )
        return text[:end] + other + text[end:]

    found = pptx.parse(changed(slides("Results"), SLIDE, alternative))
    assert found.text == "Results\n\nNew words"


def test_links_show_where_they_lead() -> None:
    show = Presentation()
    slide = titled(show, "Forms")
    link = box(slide, "", 1, 2).paragraphs[0].add_run()
    link.text = "the exit form"
    link.hyperlink.address = "https://forms.example/exit"
    assert "the exit form (https://forms.example/exit)" in read(show).text


def test_the_strict_variant_is_read_alike() -> None:
    assert pptx.parse(strict(slides("Results"))).text == "Results"


def test_a_slide_that_is_missing_is_skipped() -> None:
    show = Presentation()
    titled(show, "One")
    titled(show, "Two")
    files = parts(saved(show))
    del files["ppt/slides/slide1.xml"]
    assert pptx.parse(zipped(files)).text == "Two"


def test_what_is_no_presentation_is_damaged() -> None:
    files = parts(slides())
    files["ppt/presentation.xml"] = b"<a/>"
    with pytest.raises(InvalidArgument) as raised:
        pptx.parse(zipped(files))
    assert raised.value.reason == "BROKEN_FILE"
