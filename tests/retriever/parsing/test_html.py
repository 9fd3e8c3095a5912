"""Web pages as a reader sees them: marks, struck-out text, links, menus, hidden text, tables."""

import pytest

from services.retriever.documents import ParsedDocument
from services.retriever.parsing import html
from services.rpc.errors import InvalidArgument
from services.text.tables import Grid


def read(body: str, head: str = "") -> ParsedDocument:
    return html.parse(
        f"<!doctype html><html><head>{head}</head><body>{body}</body></html>".encode()
    )


def cells(document: ParsedDocument, table: int = 0) -> dict[tuple[int, int], str]:
    return {
        (cell.row, cell.column): document.text[cell.char_start : cell.char_end]
        for cell in document.tables[table].cells
    }


class TestMarks:
    @pytest.mark.parametrize(
        ("markup", "text"),
        [
            ("holds 10<sup>6</sup> litres", "holds 10^6 litres"),
            ("is 75<sup>3</sup> bar", "is 75[^3] bar"),
            ('is 75<sup><a href="#n3">3</a></sup> bar', "is 75[^3] bar"),
            ('is 320<sup class="ref">[1]</sup>.', "is 320[^1]."),
            ('is 320<span style="vertical-align: super">1</span>.', "is 320[^1]."),
            ("40 m<sup>2</sup> of H<sub>2</sub>O", "40 m^2 of H2O"),
            ("the 1<sup>st</sup> of May", "the 1st of May"),
            ("a 3<sup>1</sup>/<sub>2</sub> inch pipe", "a 3 1/2 inch pipe"),
            ("<math><msup><mn>10</mn><mn>6</mn></msup></math> litres", "10^6 litres"),
            ("<math><mfrac><mn>3</mn><mn>4</mn></mfrac></math> of it", "3/4 of it"),
        ],
    )
    def test_a_number_is_never_made_longer(self, markup: str, text: str) -> None:
        assert read(f"<p>{markup}</p>").text == text

    def test_a_heading_is_named_without_its_note(self) -> None:
        document = read("<h1>Fees<sup>2</sup></h1><p>Seven euros.</p>")
        assert document.title == "Fees"
        assert document.sections[0].path == ("Fees",)


class TestStruckOut:
    @pytest.mark.parametrize(
        "struck",
        [
            "<s>90 euros</s>",
            "<del>90 euros</del>",
            "<strike>90 euros</strike>",
            '<span style="text-decoration: red line-through">90 euros</span>',
            '<span class="old">90 euros</span>',
        ],
    )
    def test_what_is_struck_out_is_not_said(self, struck: str) -> None:
        style = "<style>.old { color: red; text-decoration-line: line-through }</style>"
        document = read(f"<p>The deposit is {struck} <ins>140 euros</ins>.</p>", style)
        assert document.text == "The deposit is 140 euros."
        assert "struck-out passages left out: 1" in document.warnings


class TestLinks:
    @pytest.mark.parametrize(
        ("link", "text"),
        [
            ('<a href="https://forms.example/7">here</a>.', "here (https://forms.example/7)."),
            ('<a href="https://forms.example/7">forms.example/7</a>', "forms.example/7"),
            ('<a href="mailto:a@b.example?subject=x">the clerk</a>', "the clerk (a@b.example)"),
            ('<a href="tel:+3161234">call us</a>', "call us (+3161234)"),
            ('<a href="#top">up</a>', "up"),
            ('<a href="javascript:void(0)">more</a>', "more"),
            ('<a href="form.html">the form</a>', "the form"),
            ('<a href="https://forms.example/7"></a>end', "end"),
        ],
    )
    def test_an_address_that_says_more_than_the_words_follows_them(
        self, link: str, text: str
    ) -> None:
        assert read(f"<p>{link}</p>").text == text

    def test_an_address_is_told_once_in_a_section(self) -> None:
        link = '<a href="https://forms.example/7">form</a>'
        document = read(f"<p>{link} and {link}</p><h2>Next</h2><p>{link}</p>")
        assert document.text.count("https://forms.example/7") == 2

    def test_a_relative_address_is_resolved_where_the_page_says_its_own(self) -> None:
        document = read(
            '<p><a href="form.html">form</a></p>', '<base href="https://a.example/b/c.html">'
        )
        assert document.text == "form (https://a.example/b/form.html)"

    def test_a_picture_says_what_it_shows(self) -> None:
        text = 'The gauge <img src="a.png" alt="reads nine bar">, <img src="b.gif" alt="">as ever'
        assert read(f"<p>{text}</p>").text == "The gauge reads nine bar, as ever"


MENU = "".join(
    f'<li><a href="/{name}">{name}</a></li>' for name in ("Home", "Prices", "Press", "Jobs")
)


class TestFurniture:
    @pytest.mark.parametrize(
        "part",
        [
            f"<nav><ul>{MENU}</ul></nav>",
            f'<div role="navigation">{MENU}</div>',
            f"<header><ul>{MENU}</ul></header>",
            f"<footer><div>{MENU}</div></footer>",
            f'<div class="site-footer"><ul>{MENU}</ul></div>',
            f'<ul class="main-menu">{MENU}</ul>',
            f"<aside><ul>{MENU}</ul></aside>",
            '<ol class="breadcrumb"><li><a href="/">Home</a></li><li><a href="/p">Prices</a></ol>',
            '<a class="skip-link" href="#main">Home: skip to the text</a>',
            '<div id="cookie-banner" role="dialog"><p>Home uses cookies.</p><button>OK</button></div>',
            '<div class="x1"><p>Home uses cookies to serve you.</p><button>Accept all</button></div>',
            '<section aria-label="Cookie consent banner">Home uses them.</section>',
            "<dialog>Home is closed</dialog>",
            '<p aria-hidden="true">Home</p>',
        ],
    )
    def test_menus_and_banners_leave(self, part: str) -> None:
        document = read(
            f"{part}<main><h1>Returns</h1><p>Looms may be returned within 45 days, in their own box,"
            " to the shop in which they were bought.</p></main>"
        )
        assert "45 days" in document.text
        assert "Home" not in document.text
        assert document.warnings

    @pytest.mark.parametrize(
        "page",
        [
            "<nav><h1>Rules</h1><p>Boots are left at the door.</p></nav>",
            f"<h1>Rules</h1><nav><ul>{MENU}<li>Boots are left at the door.</li></ul></nav>",
            "<header><h1>Rules</h1><p>Boots are left at the door.</p></header><footer>2024</footer>",
            '<div aria-hidden="true"><p>Boots are left at the door.</p></div>',
            "<article><h1>Cookies</h1><p>We use cookies. Boots are left at the door."
            ' <a href="/x">Accept</a></p></article>',
            f"<ul>{MENU}<li><a href='/b'>Boots are left at the door.</a></li></ul>",
        ],
    )
    def test_what_a_page_is_there_for_stays(self, page: str) -> None:
        assert "Boots are left at the door." in read(page).text


class TestRaisedByStyle:
    @pytest.mark.parametrize(
        ("rule", "text"),
        [
            (".fn { vertical-align: super; font-size: 70% }", "lifts 36[^8] tons"),
            ("span.fn{vertical-align:.5em}", "lifts 36[^8] tons"),
            ("p .fn { vertical-align: 4px }", "lifts 36[^8] tons"),
            (".fn { vertical-align: middle }", "lifts 368 tons"),
            (
                ".fn { vertical-align: super } span.fn { vertical-align: baseline }",
                "lifts 368 tons",
            ),
        ],
    )
    def test_a_rule_of_the_page(self, rule: str, text: str) -> None:
        document = read("<p>It lifts 36<span class=fn>8</span> tons.</p>", f"<style>{rule}</style>")
        assert text in document.text

    @pytest.mark.parametrize("value", ["super", " SUPER ", "40%", "0.6em", "5px"])
    def test_a_style_of_its_own(self, value: str) -> None:
        found = read(f'<p>It lifts 36<span style="vertical-align:{value}">8</span> tons.</p>')
        assert "36[^8] tons" in found.text

    def test_a_lowered_digit_stays_with_its_letter(self) -> None:
        found = read("<p>H<i class=n>2</i>O</p>", "<style>.n{vertical-align:sub}</style>")
        assert found.text == "H2O"

    def test_a_cell_is_not_raised(self) -> None:
        found = read('<table><tr><td style="vertical-align:super">36<td>8</table>')
        assert "36 | 8" in found.text


class TestHiddenByStyle:
    @pytest.mark.parametrize(
        ("rule", "seen"),
        [
            (".c { display: none }", False),
            ("p.c{color:red;display:none!important}", False),
            ("#i, .other { visibility: hidden }", False),
            ("main > .c { display:none }", False),
            ("@media screen { .c { display: none } }", False),
            ("@media (min-width: 600px) { .c { display: none } }", False),
            ("/* .c { } */ .d{x:y} .c{display:none}", False),
            ("@media print { .c { display: none } }", True),
            ("@media (max-width: 600px) { .c { display: none } }", True),
            (".c { display: none } #i { display: block }", True),
            (".c { display: none } .c { display: block }", True),
            (".c:hover { display: none }", True),
            (".other { display: none }", True),
            (".c { opacity: 0 }", True),
            ("@media print { .d { x: y } } .c { display: none", True),
        ],
    )
    def test_a_rule_of_the_page(self, rule: str, seen: bool) -> None:
        document = read(
            "<main><p>Looms may be returned within 45 days of purchase.</p>"
            '<p class="b c" id="i">Old: 14 days</p></main>',
            f"<style>{rule}</style>",
        )
        assert ("14 days" in document.text) is seen

    def test_an_old_text_that_is_longer_than_the_new_one_is_hidden(self) -> None:
        document = read(
            "<main><p>Looms come back within 45 days.</p><p class='c'>Until 2019: looms may be returned"
            " within 14 days of purchase, in their own box, with the receipt.</p></main>",
            "<style>.c{display:none}</style>",
        )
        assert document.text == "Looms come back within 45 days."

    def test_a_page_that_is_shown_by_script_is_read(self) -> None:
        document = read(
            '<div class="app"><p>Looms may be returned.</p></div>',
            "<style>.app{display:none}</style>",
        )
        assert document.text == "Looms may be returned."


class TestTables:
    def test_heads_over_two_rows_and_merged_cells(self) -> None:
        document = read(
            "<table><caption>Fares <b>2024</b></caption><thead>"
            '<tr><th rowspan="2">Class</th><th colspan="2">Summer</th></tr>'
            "<tr><th>adult</th><th>child</th></tr></thead>"
            '<tbody><tr><th scope="row">First</th><td>30</td><td>15</td></tr>'
            "<tr><th>Second</th><td>20</td><td></td></tr></tbody></table>"
        )
        assert document.text == (
            "Fares 2024\nClass | Summer\n| adult | child\nFirst | 30 | 15\nSecond | 20 |"
        )
        (table,) = document.tables
        assert (table.head_rows, table.head_columns) == (2, 1)
        assert table.caption is not None
        assert document.text[slice(*table.caption)] == "Fares 2024"
        assert cells(document)[1, 2] == "child"
        assert cells(document)[2, 2] == "15"

    def test_a_table_that_lays_a_page_out_is_text(self) -> None:
        inner = "<table><tr><th>Part<th>Price<tr><td>PX-1<td>17</table>"
        document = read(f"<table><tr><td><p>Side</p></td><td><p>Text.</p>{inner}</td></tr></table>")
        assert document.text == "Side\n\nText.\n\nPart | Price\nPX-1 | 17"
        assert cells(document) == {(0, 0): "Part", (0, 1): "Price", (1, 0): "PX-1", (1, 1): "17"}

    def test_cells_over_one_another_are_no_table(self) -> None:
        document = read(
            "<table><tr><td>a<td rowspan=2>b<tr><td colspan=2>c<td>d<tr><td>e<td>f<td>g</table>"
        )
        assert not document.tables
        assert "b" in document.text

    @pytest.mark.parametrize(
        ("rows", "heads"),
        [
            (
                "<tr><td>Boat<td>Seats<td>Price<tr><td>Canoe<td>2<td>14<tr><td>Raft<td>6<td>39",
                (1, 0),
            ),
            ("<tr><td><td>2023<td>2022<tr><td>Sales<td>9,114<td>8,001", (1, 0)),
            ("<tr><td><b>Boat</b><td><b>Price</b><tr><td>Canoe<td><b>14</b>", (1, 0)),
            ("<tr><th>Phone<td>12 34<tr><th>Fax<td>56 78", (0, 1)),
            ("<tr><td>Owner<td>Ada<tr><td>Rooms<td>4<tr><td>Fee<td>7", (0, 0)),
            ("<tr><td>1<td>2<td>3<tr><td>4<td>5<td>6", (0, 0)),
            ("<tr><td>a<td>b<td>c<tr><td>d<td>e<td>f", (0, 0)),
        ],
    )
    def test_heads_are_said_or_plain_to_see(self, rows: str, heads: tuple[int, int]) -> None:
        (table,) = read(f"<table>{rows}</table>").tables
        assert (table.head_rows, table.head_columns) == heads

    def test_hostile_spans_cost_no_time_and_no_memory(self) -> None:
        row = '<tr><td rowspan="65000" colspan="1000">x</td><td colspan="1000">y</td></tr>'
        document = read(f"<table>{row * 2_000}</table>")
        assert document.text.count("x") == 2_000
        assert not document.tables


class TestOtherElements:
    @pytest.mark.parametrize(
        ("markup", "text"),
        [
            ("<ol start=4><li>four<li>five</ol>", "4. four\n5. five"),
            (
                '<ol type="a"><li><p>first</p></li><li><p>second</p></li></ol>',
                "a. first\n\nb. second",
            ),
            ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n- b\n- c"),
            ("<dl><dt>Boat<dd>14 euros<dt>Raft<dd>39 euros</dl>", "Boat\n14 euros\nRaft\n39 euros"),
            ("<details><summary>Rain?</summary>Half back.</details>", "Rain?\n\nHalf back."),
            ("<p>Size: <select><option>S<option selected>M</select></p>", "Size: M"),
            ("<p>Size: <select><option>S<option>M</select></p>", "Size: S, M"),
            ('<p>Name: <input value="Ada"></p>', "Name: Ada"),
            ('<p><input type="checkbox" checked>Paid</p>', "[x] Paid"),
            (
                "<p><ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp>字<rt>ji</rt></ruby>を</p>",
                "漢字(kanji)を",
            ),
            ("<pre>a:\n  b: 1\n    c: 2</pre>", "a:\n  b: 1\n    c: 2"),
            ("<template><p>no</p></template><p>yes</p>", "yes"),
        ],
    )
    def test_read_as_shown(self, markup: str, text: str) -> None:
        assert read(markup).text == text

    def test_a_page_of_frames_says_so(self) -> None:
        document = html.parse(
            b"<frameset><frame src=a.html><noframes><p>See <b>page</b> two.</p></noframes></frameset>"
        )
        assert document.text == "See page two."
        assert document.warnings == ("frames that hold other pages, not read: 1",)


class TestDepth:
    def test_a_hundred_thousand_elements_inside_one_another_are_refused(self) -> None:
        with pytest.raises(InvalidArgument, match="nested too deeply"):
            html.parse(b"<div>" * 100_000 + b"x" + b"</div>" * 100_000)

    @pytest.mark.parametrize(
        "opening", ["<div>", "<ul><li>", "<span>", "<table><tr><td>", "<b><h1>", "<sup>", "<pre>"]
    )
    def test_a_deep_page_is_read(self, opening: str) -> None:
        assert "word" in html.parse(opening.encode() * 5_000 + b"word").text

    def test_many_elements_side_by_side_are_not_deep(self) -> None:
        assert html.parse(b"<dd>a" * 50_000).text.startswith("a\na")


def table(*rows: str) -> ParsedDocument:
    return read("<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>")


def paired(document: ParsedDocument) -> dict[str, tuple[str, ...]]:
    """Value -> the heads that it stands under."""
    found = {}
    for one in document.tables:
        grid = Grid(one, document.text)
        for row in grid.rows:
            for cell in grid.values(row):
                heads = (*grid.row_heads(row), *grid.column_heads(cell))
                found[grid.say(cell)] = tuple(map(grid.say, heads))
    return found


class TestHeadsInTheMidst:
    def test_a_title_of_rows_right_below_the_heads_is_none_of_the_columns(self) -> None:
        document = table(
            "<th>Item<th>Price",
            "<th colspan=2>Drinks",
            "<td>Tea<td>2",
            "<th colspan=2>Food",
            "<td>Soup<td>5",
        )
        assert paired(document) == {"2": ("Drinks", "Tea", "Price"), "5": ("Food", "Soup", "Price")}

    def test_a_title_and_a_unit_over_the_columns_stay_heads(self) -> None:
        document = table(
            "<th colspan=3>Fees", "<th><th>2022<th>2023", "<th colspan=3>(euros)", "<td>A<td>5<td>6"
        )
        assert paired(document)["6"] == ("A", "Fees", "2023")
        (unit,) = (one.unit for one in document.tables)
        assert unit is not None
        assert document.text[slice(*unit)] == "(euros)"

    def test_columns_that_are_named_anew_are_another_table(self) -> None:
        document = table(
            "<th>City<th>Adult<th>Child",
            "<td>Bern<td>1<td>2",
            "<th>City<th>Senior<th>Student",
            "<td>Basel<td>3<td>4",
        )
        assert paired(document) == {
            "1": ("Bern", "Adult"),
            "2": ("Bern", "Child"),
            "3": ("Basel", "Senior"),
            "4": ("Basel", "Student"),
        }

    def test_a_cell_that_reaches_over_the_new_heads_leaves_lines(self) -> None:
        document = table(
            "<th>City<th>Adult", "<td rowspan=3>Bern<td>1", "<th>Senior<th>Room", "<td>3<td>4"
        )
        assert [one.head_rows for one in document.tables] == [1]

    def test_heads_that_may_be_values_pair_nothing_below(self) -> None:
        document = table(
            "<th><th>Mon<th>Tue",
            "<th>Early<td>Ann<td>Bob",
            "<th>Late<th>Closed<th>Open",
            "<th>Night<td>Cid<td>Dan",
        )
        assert paired(document)["Ann"] == ("Early", "Mon")
        assert paired(document)["Cid"] == ("Night",)

    def test_totals_that_are_said_to_be_heads_are_values(self) -> None:
        document = table("<th>Item<th>Price", "<td>Tea<td>2", "<th>Total<th>7")
        (one,) = document.tables
        assert one.head_rows == 1
        assert len(one.cells) == 6
