"""Values as a sheet shows them; the expected texts are what Excel writes in an English setting."""

import pytest

from services.retriever.parsing.office.number_formats import BUILT_IN, GENERAL, shown

MARCH_9 = 45360  # 2024


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (0.05, "0%", "5%"),
        (0.0525, "0.00%", "5.25%"),
        (1234567, "#,##0", "1,234,567"),
        (1234.5, "#,##0.00", "1,234.50"),
        (-5, "#,##0;(#,##0)", "(5)"),
        (-5, "0.00", "-5.00"),
        (1234.5, "[$\u20ac-407] #,##0.00", "\u20ac 1,234.50"),
        (-1234.5, '"$"#,##0.00_);[Red]("$"#,##0.00)', "($1,234.50)"),
        (1234.5, '_-* #,##0.00 "\u20ac"_-;-* #,##0.00 "\u20ac"_-', "1,234.50 \u20ac"),
        (0, '#,##0;-#,##0;"-"', "-"),
        (12500000, '0.0,,"M"', "12.5M"),
        (0.5, "# ?/?", "1/2"),
        (2.25, "# ??/??", "2 1/4"),
        (12345, "0.00E+00", "1.23E+04"),
        (5551234, "000-0000", "555-1234"),
        (7, "0000", "0007"),
        (3, '0 "kg"', "3 kg"),
        (3, "#.##", "3"),
        (5, "0.0#", "5.0"),
        (150, '[>=100]"high";"low"', "high"),
        (5, ";;;", ""),
        (5, '"paid";"owed"', "paid"),
        (0.1 + 0.2, GENERAL, "0.3"),
        (123456789012, GENERAL, "123456789012"),
        (1e20, GENERAL, "1E+20"),
        ("PX", '"no. "@', "no. PX"),
        ("PX", "0.00", "PX"),
        (MARCH_9, "dd.mm.yyyy", "09.03.2024"),
        (MARCH_9 + 0.75, "d-mmm-yy h:mm AM/PM", "9-Mar-24 6:00 PM"),
        (MARCH_9 + 0.5, "yyyy-mm-dd hh:mm:ss", "2024-03-09 12:00:00"),
        (MARCH_9, "[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", "Saturday, March 09, 2024"),
        (MARCH_9, 'yyyy"\u5e74"m"\u6708"d"\u65e5"', "2024\u5e743\u67089\u65e5"),
        (1.25 + 5 / 1440, "[h]:mm", "30:05"),
        (0.2951388889, "h:mm", "7:05"),
        (1, "yyyy-mm-dd", "1900-01-01"),
        (-1, "yyyy-mm-dd", "-1"),
        (float("inf"), "0.00", "inf"),
    ],
)
def test_shown(value: float | str, code: str, expected: str) -> None:
    assert shown(value, code) == expected


def test_a_date_whose_order_the_readers_program_chooses_has_one_meaning() -> None:
    assert shown(MARCH_9, BUILT_IN["14"]) == "2024-03-09"


def test_days_may_count_from_1904() -> None:
    assert shown(MARCH_9 - 1462, "yyyy-mm-dd", 1462) == "2024-03-09"
