"""What is a code: E-47, XJ-4711-B, 2024/25, C++, an address. Five questions, and the answer to each.

| asked | of | by |
|---|---|---|
| what in this sentence must be stated exactly? | prose | grounding: `CODE`, `measure` |
| does this word have to match as it is written? | a word | the extractive answerer, its judges: `is_exact` |
| does this name a part, a fault, a form? | a word | the extractive answerer: `is_part_number` |
| does this line begin with a label, so that its digits are no figure? | a line | the extractive answerer: `LABEL` |
| would PostgreSQL's parser lose this name? | a token | the index: `is_indexed` |

They differ on purpose. A date must match as written and names no part; "25th" must be found as written and is a number
to whoever checks figures. `is_exact` is a feature of trained weights, and `is_indexed` decides what is stored: changed,
the first asks for training, the second for new postings.
"""

import re

# An address; letters and digits in one word or joined by - _ / and points; capitals joined, names_in_code; a section,
# a version, an IP address.
CODE = re.compile(
    r"https?://[^\s)\]>\"']+|\b[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
    r"|\b(?=[A-Za-z0-9_/.-]*\d)(?=[A-Za-z0-9_/.-]*[A-Za-z])[A-Za-z0-9]+(?:[-_/.][A-Za-z0-9]+)*\b"
    r"|\b[A-Z]{2,}(?:[-_/][A-Z]+)+\b|\b[a-z]+_[a-z_]+\b|(?<![\w.,])\d+(?:\.\d+){2,}\b"
)
# "16th", "30s", "5kg", "5pm", "30-day": a number with a unit is a number.
_WITH_UNIT = re.compile(r"(\d+(?:[.,]\d+)*)([a-z]{1,3}|percent|weeks?|days?)", re.IGNORECASE)
_HYPHENATED_UNIT = re.compile(r"(\d+)-([a-z]+(?:-[a-z]+)*)", re.IGNORECASE)

# Letters before digits, in one word: E-47, K65, SK-50-Q, GR-EP2. Not 12-month, 3rd, 2024/25, post-COVID-19.
_PART_NUMBER = re.compile(r"(?:[A-Z]+[-_/.])*[^\W\d_]+[-_/.]?\d[\w/.-]*")
# Letters and digits in one word, in any order: E-47, 4711-B, 3D, 30-day, 2nd.
LABEL = r"(?=[\w/-]*[A-Za-z])(?=[\w/-]*\d)[\w/-]+"

_DIGIT_CODE = re.compile(r"(?=.*\d)(?:.*[^\W\d_].*|\D*\d+(?:[^\w\s]+\d+)+.*|[+#]\S*\d.*)$")
_SYMBOL_CODE = re.compile(r".*[^\W_](?:[+#]{1,2}|[&@_\\]\w.*)$|^\.[^\W\d_]\w*$")
_CAPITAL_CODE = re.compile(r"[A-Z]{1,5}(?:[./-][A-Z0-9]{1,8})+$")


def measure(code: str) -> tuple[str, str] | None:
    """The number and the unit of what `CODE` found, if it is a number with a unit."""
    found = _WITH_UNIT.fullmatch(code) or _HYPHENATED_UNIT.fullmatch(code)
    return (found[1], found[2]) if found else None


def is_exact(word: str) -> bool:
    """Letters and digits in one word, or digits with joints: a part number, a paragraph, a date."""
    return any(char.isdigit() for char in word) and any(
        char.isalpha() or char in "-/_" for char in word
    )


def is_part_number(word: str) -> bool:
    """Letters, then digits."""
    return _PART_NUMBER.fullmatch(word) is not None


def is_indexed(token: str) -> bool:
    """Digits with letters or symbols, C++, .NET, AT&T, TCP/IP: one term of the index, though the parser splits it."""
    return bool(_DIGIT_CODE.match(token) or _SYMBOL_CODE.match(token) or _CAPITAL_CODE.match(token))
