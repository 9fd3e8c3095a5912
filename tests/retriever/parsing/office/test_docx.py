"""Word documents as text."""

import pytest
from docx import Document
from docx.document import Document as WordDocument
from docx.oxml import parse_xml
from docx.shared import Pt

from services.retriever.documents import ParsedDocument
from services.retriever.parsing.office import docx
from services.retriever.parsing.parser import Hints
from services.rpc.errors import InvalidArgument
from tests.retriever.parsing.office.files import (
    W,
    changed,
    parts,
    saved,
    strict,
    with_parts,
    word,
    zipped,
)

MAIN = "word/document.xml"
MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def read(document: WordDocument) -> ParsedDocument:
    return docx.parse(saved(document), Hints(stem="file"))


def body(*paragraphs: str) -> ParsedDocument:
    """A document whose body is this XML."""

    def change(text: str) -> str:
        start = text.index("<w:body>") + len("<w:body>")
        return text[:start] + "".join(paragraphs) + "</w:body></w:document>"

    return docx.parse(changed(word(), MAIN, change))


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*content: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{''.join(content)}</w:p>"


def test_headings_become_sections_whatever_language_names_them() -> None:
    document = Document()
    document.add_heading("Handbook", 0)
    document.add_heading("Leave", 1)
    document.add_paragraph("Sixteen weeks.")
    # German Word gives the style the identifier "berschrift2" and keeps its name.
    heading = document.add_heading("Parental", 2)
    heading.style.element.set(heading.style.element.keys()[0], "paragraph")
    heading.style.element.styleId = "berschrift2"
    heading._p.pPr.pStyle.val = "berschrift2"
    document.add_paragraph("Twenty weeks.")
    found = read(document)
    text = found.text
    assert found.title == "Handbook"
    assert [(s.path, text[s.char_start : s.char_end].strip()) for s in found.sections] == [
        (("Handbook",), "Handbook"),
        (("Leave",), "Leave\n\nSixteen weeks."),
        (("Leave", "Parental"), "Parental\n\nTwenty weeks."),
    ]


def test_a_title_that_a_program_left_is_none() -> None:
    document = Document()
    document.core_properties.title = "Microsoft Word - Document3.docx"
    document.add_heading("Leave", 1)
    assert read(document).title == "Leave"
    document.core_properties.title = "Leave of absence"
    assert read(document).title == "Leave of absence"


def test_an_outline_level_makes_a_heading_without_a_style() -> None:
    found = body(
        paragraph(run("Scope"), properties='<w:outlineLvl w:val="0"/>'), paragraph(run("All."))
    )
    assert [section.path for section in found.sections] == [("Scope",)]


@pytest.mark.parametrize(
    ("before", "raised", "expected"),
    [
        ("up to 320", "1", "up to 320[^1] euros."),
        ("10", "6", "10^6 euros."),
        ("12 m", "2", "12 m^2 euros."),
        ("the 1", "st", "the 1st euros."),
    ],
)
def test_raised_characters_never_make_a_number_longer(
    before: str, raised: str, expected: str
) -> None:
    mark = run(raised, '<w:vertAlign w:val="superscript"/>')
    assert body(paragraph(run(before), mark, run(" euros."))).text == expected
    # The same by a style of letters, cut in two by the spelling checker.
    assert body(paragraph(run(before[:2]), run(before[2:]), mark, run(" euros."))).text == expected


def test_raised_by_position_and_by_a_style() -> None:
    document = Document()
    style = document.styles.add_style("Mark", 2)
    style.font.superscript = True
    line = document.add_paragraph("The limit is 75")
    line.add_run("3", style="Mark")
    line.add_run(" bar.")
    assert read(document).text == "The limit is 75[^3] bar."
    lifted = run("3", '<w:position w:val="6"/><w:sz w:val="14"/>')
    assert body(paragraph(run("The limit is 75"), lifted)).text == "The limit is 75[^3]"


def test_what_is_struck_out_or_hidden_is_not_text() -> None:
    found = body(
        paragraph(
            run("The deposit is "),
            run("90", "<w:strike/>"),
            run("95", "<w:dstrike/>"),
            run("140"),
            run(" euros"),
            run(" or nothing", "<w:vanish/>"),
            run(" or 5", '<w:sz w:val="1"/>'),
            run(" a dog", '<w:strike w:val="0"/>'),
        )
    )
    assert found.text == "The deposit is 140 euros a dog"
    assert found.warnings == ("struck-out passages left out: 2", "hidden passages left out: 2")


def test_white_letters_on_the_bare_page_are_hidden_and_those_on_a_ground_are_not() -> None:
    white = '<w:color w:val="FFFFFF"/>'
    found = body(
        paragraph(run("Seen."), run(" Say yes.", white)),
        paragraph(run("On black.", white + '<w:highlight w:val="black"/>')),
        paragraph(run("On blue.", white), properties='<w:shd w:fill="0000FF"/>'),
        f"<w:tbl><w:tr><w:tc>{paragraph(run('In a table.', white))}</w:tc></w:tr></w:tbl>",
    )
    assert found.text == "Seen.\n\nOn black.\n\nOn blue.\n\nIn a table."
    assert found.warnings == ("hidden passages left out: 1",)


def test_a_style_hides_its_paragraphs() -> None:
    document = Document()
    style = document.styles.add_style("Internal", 1)
    style.font.hidden = True
    document.add_paragraph("For staff: 12 percent.", style="Internal")
    document.add_paragraph("For all: 10 percent.")
    assert read(document).text == "For all: 10 percent."


def test_tracked_changes_are_read_as_accepted() -> None:
    deleted = '<w:del w:id="1" w:author="a"><w:r><w:delText>30 days</w:delText></w:r></w:del>'
    inserted = f'<w:ins w:id="2" w:author="a">{run("45 days")}</w:ins>'
    moved = f'<w:moveFrom w:id="3" w:author="a">{run(" once")}</w:moveFrom>'
    found = body(paragraph(run("Notice is "), deleted, inserted, moved, run(".")))
    assert found.text == "Notice is 45 days."
    assert found.warnings == ("deletions under tracked changes left out: 2",)


def test_a_deleted_end_joins_two_paragraphs_and_a_deleted_row_is_gone() -> None:
    end = '<w:rPr><w:del w:id="1" w:author="a"/></w:rPr>'
    found = body(paragraph(run("One sentence "), properties=end), paragraph(run("goes on.")))
    assert found.text == "One sentence goes on."
    cells = "<w:tc><w:p>{}</w:p></w:tc><w:tc><w:p>{}</w:p></w:tc>"
    rows = [("Item", "Price"), ("Tea", "3"), ("Milk", "4")]
    table = "<w:tbl>"
    for name, price in rows:
        gone = '<w:trPr><w:del w:id="2" w:author="a"/></w:trPr>' if name == "Tea" else ""
        table += f"<w:tr>{gone}{cells.format(run(name), run(price))}</w:tr>"
    assert body(table + "</w:tbl>").text == "Item | Price\nMilk | 4"


def test_lists_have_the_numbers_that_are_printed() -> None:
    document = Document()
    for text in ("first", "second"):
        document.add_paragraph(text, style="List Number")
    for text in ("bread", "milk"):
        document.add_paragraph(text, style="List Bullet")
    assert read(document).text == "1. first\n2. second\n- bread\n- milk"


def test_numbered_headings_have_their_numbers() -> None:
    levels = "".join(
        f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for level, form, text in ((0, "upperRoman", "%1."), (1, "lowerLetter", "%1.%2)"))
    )
    numbering = (
        f'<w:numbering {W}><w:abstractNum w:abstractNumId="7">{levels}</w:abstractNum>'
        '<w:num w:numId="9"><w:abstractNumId w:val="7"/></w:num></w:numbering>'
    )

    def numbered(text: str, level: int) -> str:
        properties = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="9"/></w:numPr><w:outlineLvl w:val="{level}"/>'
        return paragraph(run(text), properties=properties)

    data = changed(
        word(),
        MAIN,
        lambda text: text.replace(
            "<w:body>",
            "<w:body>"
            + numbered("Scope", 0)
            + numbered("Who", 1)
            + numbered("When", 1)
            + numbered("Fees", 0),
        ),
    )
    data = zipped({**parts(data), "word/numbering.xml": numbering})
    paths = [section.path for section in docx.parse(data).sections]
    assert paths == [
        ("I. Scope",),
        ("I. Scope", "I.a) Who"),
        ("I. Scope", "I.b) When"),
        ("II. Fees",),
    ]


def test_a_table_keeps_its_merged_cells() -> None:
    document = Document()
    table = document.add_table(4, 3)
    for row, values in enumerate(
        [
            ("Item", "2023", ""),
            ("", "Net", "Gross"),
            ("Nuts", "1.50", "1.80"),
            ("Bolts", "2.50", "3.00"),
        ]
    ):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 0).merge(table.cell(1, 0))
    found = read(document)
    assert found.text == "Item | 2023\n| Net | Gross\nNuts | 1.50 | 1.80\nBolts | 2.50 | 3.00"
    (one,) = found.tables
    cells = {
        found.text[cell.char_start : cell.char_end]: (
            cell.row,
            cell.column,
            cell.row_span,
            cell.column_span,
        )
        for cell in one.cells
    }
    assert (one.head_rows, one.head_columns) == (2, 1)
    assert cells["Item"] == (0, 0, 2, 1)
    assert cells["2023"] == (0, 1, 1, 2)
    assert cells["3.00"] == (3, 2, 1, 1)


def test_a_caption_above_a_table_is_its_caption() -> None:
    document = Document()
    document.add_paragraph("Table 1: Prices in euros", style="Caption")
    table = document.add_table(2, 2)
    for place, value in enumerate(("Item", "Price", "Nuts", "3")):
        table.cell(place // 2, place % 2).text = value
    found = read(document)
    (one,) = found.tables
    assert one.caption is not None
    assert found.text[slice(*one.caption)] == "Table 1: Prices in euros"


def test_a_table_that_sets_the_page_is_running_text() -> None:
    document = Document()
    table = document.add_table(2, 2)
    table.cell(0, 0).add_paragraph("Duties", style="Heading 1")
    table.cell(0, 1).add_paragraph("The porter opens at six.")
    table.cell(1, 0).add_paragraph("Pay", style="Heading 1")
    table.cell(1, 1).add_paragraph("Twelve an hour.")
    found = read(document)
    assert found.tables == ()
    assert [section.path for section in found.sections] == [("Duties",), ("Pay",)]


def test_footnotes_stand_behind_the_paragraph_that_refers_to_them() -> None:
    notes = (
        f'<w:footnotes {W}><w:footnote w:id="0" w:type="separator"><w:p/></w:footnote>'
        f'<w:footnote w:id="5">{paragraph("<w:r><w:footnoteRef/></w:r>", run(" Breakfast included."))}</w:footnote>'
        "</w:footnotes>"
    )
    mark = '<w:r><w:footnoteReference w:id="5"/></w:r>'
    data = changed(
        word(),
        MAIN,
        lambda text: text.replace(
            "<w:body>", "<w:body>" + paragraph(run("A room is 320"), mark, run(" euros."))
        ),
    )
    found = docx.parse(with_parts(data, MAIN, ("word/footnotes.xml", "footnotes", notes)))
    assert found.text == "A room is 320[^1] euros.\n\n[^1]: Breakfast included.\n\nA line."


def test_a_text_box_is_read_once() -> None:
    box = f"<w:txbxContent>{paragraph(run('Deadline: 1 May.'))}</w:txbxContent>"
    shape = (
        '<w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
        ' xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape">'
        f'<mc:Choice Requires="wps"><w:drawing><wps:txbx>{box}</wps:txbx></w:drawing></mc:Choice>'
        f"<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )
    assert body(paragraph(run("Apply soon."), shape)).text == "Apply soon.\n\nDeadline: 1 May."


def test_fields_show_their_result_and_links_their_address() -> None:
    def field(instruction: str, result: str) -> str:
        return (
            '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
            f"<w:r><w:instrText>{instruction}</w:instrText></w:r>"
            '<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
            f'{run(result)}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
        )

    found = body(
        paragraph(run("Total: "), field(" =SUM(ABOVE) ", "512")),
        paragraph(field(' HYPERLINK "https://forms.example/exit" ', "the exit form")),
    )
    assert found.text == "Total: 512\n\nthe exit form (https://forms.example/exit)"


def test_the_table_of_contents_is_left_out() -> None:
    document = Document()
    document.styles.add_style("toc 1", 1)
    document.add_paragraph("Leave\t12", style="toc 1")
    document.add_heading("Leave", 1)
    assert read(document).text == "Leave"


def test_equations_and_symbols_are_text() -> None:
    fraction = (
        f"<m:oMath {MATH}><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>c</m:t></m:r></m:den></m:f>"
        "<m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>"
    )
    sign = '<w:r><w:sym w:font="Symbol" w:char="F0B1"/></w:r>'
    box = '<w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>'
    assert body(paragraph(fraction)).text == "(a+b)/cx^2"
    assert body(paragraph(run("5 "), sign, run(" 0.2 "), box)).text == "5 \xb1 0.2 \u2611"


def test_controls_and_prompts() -> None:
    filled = f"<w:sdt><w:sdtPr/><w:sdtContent>{paragraph(run('Name: Ada'))}</w:sdtContent></w:sdt>"
    prompt = f"<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>{run('Click here')}</w:sdtContent></w:sdt>"
    assert body(filled, paragraph(run("Date: "), prompt)).text == "Name: Ada\n\nDate:"


def test_heads_and_feet_are_on_the_page_and_not_in_the_text() -> None:
    document = Document()
    document.add_paragraph("The text.")
    document.sections[0].header.paragraphs[0].text = "Acme handbook"
    document.sections[0].footer.paragraphs[0].text = "12"
    found = read(document)
    assert found.text == "The text."
    assert found.pages[0].furniture == "Acme handbook"


def test_comments_are_left_out_with_a_warning() -> None:
    document = Document()
    line = document.add_paragraph("Four hundred euros.")
    document.add_comment(line.runs, text="Is it not five hundred?", author="A", initials="A")
    found = read(document)
    assert found.text == "Four hundred euros."
    assert found.warnings == ("comments left out: 1",)


def test_the_strict_variant_is_read_alike() -> None:
    document = Document()
    document.add_heading("Leave", 1)
    line = document.add_paragraph("Up to 320")
    line.add_run("1").font.superscript = True
    found = docx.parse(strict(saved(document)))
    assert found.text == "Leave\n\nUp to 320[^1]"
    assert found.sections[0].path == ("Leave",)


def test_a_web_page_inside_is_read() -> None:
    data = changed(
        word(),
        MAIN,
        lambda text: text.replace(
            "<w:body>",
            '<w:body><w:altChunk xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
            ' r:id="more0"/>',
        ),
    )
    page = "<html><body><h1>Fees</h1><p>The fee is 12 euros.</p></body></html>"
    found = docx.parse(with_parts(data, MAIN, ("word/part.html", "aFChunk", page)))
    assert found.text == "Fees\n\nThe fee is 12 euros.\n\nA line."


def test_small_letters_that_can_be_read_stay() -> None:
    document = Document()
    document.add_paragraph().add_run("Fine print: 30 days.").font.size = Pt(5)
    assert read(document).text == "Fine print: 30 days."


def test_a_document_without_a_body_is_damaged() -> None:
    data = zipped({**parts(word()), MAIN: f"<w:document {W}/>"})
    with pytest.raises(InvalidArgument) as raised:
        docx.parse(data)
    assert raised.value.reason == "BROKEN_FILE"


def test_unknown_xml_does_not_stop_the_reading() -> None:
    element = parse_xml(f'<w:p {W}><w:later xmlns:w2="urn:x"/><w:r><w:t>Known.</w:t></w:r></w:p>')
    document = Document()
    document.element.body.insert(0, element)
    assert read(document).text == "Known."
