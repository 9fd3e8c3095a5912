"""What is a code to whom, side by side. Each column is one definition; where they differ, they differ on purpose."""

import pytest

from services.text.codes import CODE, is_exact, is_indexed, is_part_number, measure

# The token; what of it prose must state exactly (None: nothing); then whether it matches as written only, whether it
# names a part, and whether it is one term of the index.
TOKENS: list[tuple[str, str | None, bool, bool, bool]] = [
    ("E-47", "E-47", True, True, True),
    ("K65", "K65", True, True, True),
    ("XJ-4711-B", "XJ-4711-B", True, True, True),
    ("SK-50-Q", "SK-50-Q", True, True, True),
    ("PB3-001", "PB3-001", True, True, True),
    ("Ü-12", None, True, True, True),
    ("boiler-house-7741", "boiler-house-7741", True, False, True),
    ("GR-EP2", "GR-EP2", True, True, True),
    ("post-COVID-19", "post-COVID-19", True, False, True),
    ("non-CO2", "non-CO2", True, False, True),
    ("3-V4", "3-V4", True, False, True),
    ("3D", None, True, False, True),
    ("25th", None, True, False, True),
    ("5kg", None, True, False, True),
    ("12-month", None, True, False, True),
    ("0-based", None, True, False, True),
    ("2024/25", None, True, False, True),
    ("2025-04-01", None, True, False, True),
    ("1-6", None, True, False, True),
    ("4.2", None, False, False, True),
    ("14:00", None, False, False, True),
    ("1,000", None, False, False, True),
    ("2.4.1", "2.4.1", False, False, True),
    ("v2.4.1", "v2.4.1", True, True, True),
    ("2024", None, False, False, False),
    ("TCP/IP", "TCP/IP", False, False, True),
    ("AT&T", None, False, False, True),
    ("C++", None, False, False, True),
    (".NET", None, False, False, True),
    ("p_seal", "p_seal", False, False, True),
    ("READ_ONLY", "READ_ONLY", False, False, True),
    ("dpo@merrow.example", "dpo@merrow.example", False, False, True),
    ("https://merrow.example/a?b=c", "https://merrow.example/a?b=c", False, False, False),
    ("Anglo-Saxon", None, False, False, False),
    ("and/or", None, False, False, False),
    ("seal", None, False, False, False),
    ("NASA", None, False, False, False),
]


@pytest.mark.parametrize(("token", "stated", "exact", "part", "indexed"), TOKENS)
def test_a_token(token: str, stated: str | None, exact: bool, part: bool, indexed: bool) -> None:
    found = [match[0] for match in CODE.finditer(f"See {token} there") if not measure(match[0])]
    assert found == ([stated] if stated else [])
    assert is_exact(token) is exact
    assert is_part_number(token) is part
    assert is_indexed(token) is indexed


@pytest.mark.parametrize(
    ("code", "number", "unit"),
    [
        ("16th", "16", "th"),
        ("5kg", "5", "kg"),
        ("2.5kW", "2.5", "kW"),
        ("30-day", "30", "day"),
        ("10percent", "10", "percent"),
        ("3-month-old", "3", "month-old"),
    ],
)
def test_a_number_with_its_unit_is_no_code(code: str, number: str, unit: str) -> None:
    assert measure(code) == (number, unit)


@pytest.mark.parametrize("code", ["E-47", "30-V4", "K65", "7741-house-3", "5kilo"])
def test_a_code_is_no_number_with_a_unit(code: str) -> None:
    assert measure(code) is None
