"""A cell's value as a sheet shows it: 0.05 with the format `0%` is "5%" (ECMA-376, part 1, 18.8.30 and 18.8.31).

Separators and names of months are the English ones, whatever the reader's own program would use. A date whose format
leaves the order of day and month to that program is written as 2024-03-09, which has one meaning.
"""

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_.|\*.|\[(?P<bracket>[^\]]*)\]|(?P<general>General)|(?P<ampm>AM/PM|A/P)'
    r"|(?P<date>y+|m+|d+|h+|s+|(?<=s)\.0+|b+|e+(?![+-]))|(?P<number>[0#?.,]+|E[+-]|%|/)|(?P<text>@)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)$")
_ELAPSED = re.compile(r"(h+|m+|s+)$", re.IGNORECASE)
# Excel's own numbers 14 and 22: the reader's program decides how they look.
_LOCAL_DATES = {"mm-dd-yy": "yyyy-mm-dd", "m/d/yy h:mm": "yyyy-mm-dd hh:mm", "standard": "General"}
GENERAL = "General"
BUILT_IN: Mapping[str, str] = {
    "1": "0",
    "2": "0.00",
    "3": "#,##0",
    "4": "#,##0.00",
    # 5 to 8 and 41 to 44 are amounts in the currency of whoever looks: their number without a currency.
    "5": "#,##0",
    "6": "#,##0",
    "7": "#,##0.00",
    "8": "#,##0.00",
    "9": "0%",
    "10": "0.00%",
    "11": "0.00E+00",
    "12": "# ?/?",
    "13": "# ??/??",
    "14": "mm-dd-yy",
    "15": "d-mmm-yy",
    "16": "d-mmm",
    "17": "mmm-yy",
    "18": "h:mm AM/PM",
    "19": "h:mm:ss AM/PM",
    "20": "h:mm",
    "21": "h:mm:ss",
    "22": "m/d/yy h:mm",
    **{str(number): "yyyy-mm-dd" for number in (*range(27, 32), 36, *range(50, 55), 57, 58)},
    **{str(number): "h:mm:ss" for number in (*range(32, 36), 55, 56)},
    "37": "#,##0;(#,##0)",
    "38": "#,##0;(#,##0)",
    "39": "#,##0.00;(#,##0.00)",
    "40": "#,##0.00;(#,##0.00)",
    "41": "#,##0",
    "42": "#,##0",
    "43": "#,##0.00",
    "44": "#,##0.00",
    "45": "mm:ss",
    "46": "[h]:mm:ss",
    "47": "mm:ss.0",
    "48": "##0.0E+0",
    "49": "@",
}
"""The formats that a workbook names by number alone."""
_MOST_DIGITS = 30
_EPOCH = datetime.datetime(1899, 12, 30)


@dataclass(frozen=True)
class _Section:
    """`tokens`: (kind, text). `condition`: when it applies; None for the usual rule of signs."""

    tokens: tuple[tuple[str, str], ...]
    condition: tuple[str, float] | None = None

    @property
    def is_date(self) -> bool:
        return any(kind in ("date", "elapsed", "ampm") for kind, _ in self.tokens)

    @property
    def is_general(self) -> bool:
        return any(kind == "general" for kind, _ in self.tokens)


def shown(value: str | int | float | bool, code: str, first_day: int = 0) -> str:
    """What a sheet shows for a value with this format code. A code that makes no sense counts as `General`.

    `first_day`: what is added to a date's number where days are not counted from 1900.
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    sections = _sections(code)
    if isinstance(value, str):
        return _text(value, sections)
    try:
        return _number(value, sections, first_day)
    except (ArithmeticError, ValueError, IndexError):
        return _general(value)


@lru_cache(maxsize=2_000)
def _sections(code: str) -> tuple[_Section, ...]:
    found: list[_Section] = []
    tokens: list[tuple[str, str]] = []
    condition: tuple[str, float] | None = None
    code = _LOCAL_DATES.get(code.strip().lower(), code)[:1_000]
    for match in _TOKEN.finditer(code):
        kind = match.lastgroup or ""
        text = match[kind] if kind else ""
        if kind == "other" and text == ";":
            found.append(_Section(tuple(tokens), condition))
            tokens, condition = [], None
        elif kind == "bracket":
            compared = _CONDITION.match(text)
            if compared:
                condition = (compared[1], float(compared[2]))
            elif text.startswith("$"):
                tokens.append(("quoted", text[1:].partition("-")[0]))
            elif _ELAPSED.match(text):
                tokens.append(("elapsed", text.lower()))
        elif kind:
            tokens.append((kind, text))
    found.append(_Section(tuple(tokens), condition))
    return tuple(found)


def _literal(tokens: tuple[tuple[str, str], ...]) -> str:
    return "".join(text for kind, text in tokens if kind in ("quoted", "escaped", "other"))


def _text(value: str, sections: tuple[_Section, ...]) -> str:
    chosen = sections[3] if len(sections) > 3 else sections[-1]
    if not any(kind == "text" for kind, _ in chosen.tokens):
        return value if len(sections) < 4 else _literal(chosen.tokens)
    return "".join(
        value if kind == "text" else text
        for kind, text in chosen.tokens
        if kind in ("text", "quoted", "escaped", "other")
    )


def _number(value: int | float, sections: tuple[_Section, ...], first_day: int) -> str:
    section, signed = _chosen(value, sections)
    if section.is_date:
        return _date(value + first_day, section.tokens)
    if section.is_general:
        inner = _general(value if signed else abs(value))
        return "".join(
            inner if kind == "general" else text
            for kind, text in section.tokens
            if kind in ("general", "quoted", "escaped", "other")
        )
    if not any(kind == "number" for kind, _ in section.tokens):
        if any(kind == "text" for kind, _ in section.tokens):
            return _general(value)
        # "Paid";"Owed";"Even", or ";;;", which shows nothing. A lone empty code is General.
        return _literal(section.tokens) if section.tokens or len(sections) > 1 else _general(value)
    text = _figures(abs(value), section.tokens)
    return f"-{text}" if signed and value < 0 and re.search(r"[1-9]", text) else text


def _chosen(value: float, sections: tuple[_Section, ...]) -> tuple[_Section, bool]:
    """The section for a value, and whether its sign is still to be written."""
    numeric = sections[:3]
    if any(section.condition for section in numeric):
        for section in numeric:
            if section.condition is None or _holds(value, section.condition):
                return section, True
        return numeric[-1], True
    if value < 0 and len(numeric) > 1:
        return numeric[1], False
    if value == 0 and len(numeric) > 2:
        return numeric[2], False
    return numeric[0], True


def _holds(value: float, condition: tuple[str, float]) -> bool:
    sign, bound = condition
    return {
        "<": value < bound,
        ">": value > bound,
        "<=": value <= bound,
        ">=": value >= bound,
        "=": value == bound,
        "<>": value != bound,
    }[sign]


def _figures(value: float, tokens: tuple[tuple[str, str], ...]) -> str:
    """A value of at least 0 by digits' places: `#,##0.00`, `0.0%`, `0,,`, `0.00E+00`, `# ?/?`."""
    pattern = "".join(text for kind, text in tokens if kind == "number")
    exact = Decimal(repr(value))
    exact *= Decimal(100) ** pattern.count("%")
    body = pattern.replace("%", "")
    scale = len(body) - len(body.rstrip(","))
    exact /= Decimal(1000) ** scale
    body = body.rstrip(",")
    if re.search("E[+-]", body, re.IGNORECASE):
        number = _scientific(exact, body)
    elif "/" in body:
        return _fraction(exact, tokens)
    else:
        whole, _, decimals = body.partition(".")
        number = _decimal(exact, whole, decimals.replace(",", ""))
    out: list[str] = []
    placed = False
    for kind, text in tokens:
        if kind == "number" and text == "%":
            out.append("%")
        elif kind == "number":
            # Digits in several groups, as in "000-00-0000".
            out.append(number if not placed else "")
            placed = True
        elif kind in ("quoted", "escaped", "other"):
            out.append(text)
    if len(_groups(tokens)) > 1 and "." not in body and "E" not in body.upper():
        return _grouped(exact, tokens)
    return "".join(out)


def _groups(tokens: tuple[tuple[str, str], ...]) -> list[str]:
    return [text for kind, text in tokens if kind == "number" and text.strip("%,")]


def _grouped(exact: Decimal, tokens: tuple[tuple[str, str], ...]) -> str:
    """Digits with text between them: a telephone number by `000-0000`. Filled from the right."""
    groups = _groups(tokens)
    digits = _decimal(exact, "".join(groups).replace(",", ""), "")
    parts: list[str] = []
    left = len(groups)
    for kind, text in reversed(tokens):
        if kind == "number" and text.strip("%,"):
            left -= 1
            size = len(digits) if left == 0 else len(text.replace(",", ""))
            cut = max(0, len(digits) - size)
            parts.append(digits[cut:])
            digits = digits[:cut]
        elif kind in ("quoted", "escaped", "other") or text == "%":
            parts.append(text)
    return "".join(reversed(parts))


def _decimal(exact: Decimal, whole: str, decimals: str) -> str:
    places = min(len(decimals), _MOST_DIGITS)
    rounded = exact.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
    left, _, right = f"{rounded:f}".partition(".")
    left = left.lstrip("0").rjust(whole.replace(",", "").count("0"), "0")
    if "," in whole:
        left = _thousands(left)
    least = len(decimals.rstrip("#?")) if decimals else 0
    while len(right) > least and right.endswith("0"):
        right = right[:-1]
    # The point of "0." and of "#.##" stays in a sheet; a reader takes it for the end of a sentence.
    return f"{left or '0'}.{right}" if right else left or ("0" if not whole or "0" in whole else "")


def _thousands(digits: str) -> str:
    head = len(digits) % 3
    parts = [digits[:head]] if head else []
    parts += [digits[index : index + 3] for index in range(head, len(digits), 3)]
    return ",".join(parts)


def _scientific(exact: Decimal, body: str) -> str:
    match = re.match(r"([0#?,.]*)E([+-])([0#?]*)", body, re.IGNORECASE)
    assert match is not None
    places = len(match[1].partition(".")[2])
    mantissa, _, power = f"{exact:.{places}E}".partition("E")
    digits = str(abs(int(power))).rjust(match[3].count("0"), "0")
    sign = "-" if int(power) < 0 else "+" if match[2] == "+" else ""
    return f"{mantissa}E{sign}{digits}"


def _fraction(exact: Decimal, tokens: tuple[tuple[str, str], ...]) -> str:
    pattern = "".join(text for kind, text in tokens if kind in ("number", "other"))
    numerator, _, denominator = pattern.partition("/")
    mixed = bool(re.search(r"[0#?]\s+[0#?]", numerator))
    fixed = denominator.strip()
    whole, rest = divmod(Fraction(exact), 1) if mixed else (0, Fraction(exact))
    if fixed.isdigit() and int(fixed):
        found = f"{round(rest * int(fixed))}/{int(fixed)}"
        zero = round(rest * int(fixed)) == 0
    else:
        near = rest.limit_denominator(10 ** max(1, min(len(fixed), 5)) - 1)
        found, zero = f"{near.numerator}/{near.denominator}", near == 0
        if mixed and near == 1:
            whole, zero = whole + 1, True
    if mixed:
        return " ".join(filter(None, [str(whole) if whole or zero else "", "" if zero else found]))
    return found


def _general(value: int | float) -> str:
    """Up to 10 digits of a fraction; a long whole number in full: it is an order's or an account's."""
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return str(int(value))
    text = f"{value:.10g}"
    return text.replace("e", "E") if "e" in text else text


def _date(days: float, tokens: tuple[tuple[str, str], ...]) -> str:
    elapsed = datetime.timedelta(days=days)
    # 1900 was no leap year, but Excel counts its 29 February.
    moment = _EPOCH + elapsed + datetime.timedelta(days=1 if 1 <= days < 60 else 0)
    if days < 0:
        raise ValueError("no date")
    if not any(kind == "date" and text[:1] == "." for kind, text in tokens):
        # Shown to the second, and 59.9996 s is a minute.
        half_second = datetime.timedelta(milliseconds=500)
        moment = (moment + half_second).replace(microsecond=0)
        elapsed = datetime.timedelta(seconds=round(elapsed.total_seconds()))
    half = any(kind == "ampm" for kind, _ in tokens)
    out: list[str] = []
    for index, (kind, text) in enumerate(tokens):
        if kind == "elapsed":
            out.append(_elapsed(elapsed, text))
        elif kind == "ampm":
            word = "AM" if moment.hour < 12 else "PM"
            out.append(word if len(text) > 3 else word[0])
        elif kind == "date":
            out.append(_part(moment, text.lower(), _is_minutes(tokens, index), half))
        elif kind == "number":
            out.append(text)  # "/" and "." between the parts.
        elif kind in ("quoted", "escaped", "other"):
            out.append(text)
    return "".join(out)


def _elapsed(value: datetime.timedelta, unit: str) -> str:
    seconds = int(value.total_seconds())
    count = seconds // {"h": 3600, "m": 60, "s": 1}[unit[0]]
    return str(count).rjust(len(unit), "0")


def _is_minutes(tokens: tuple[tuple[str, str], ...], index: int) -> bool:
    """An "m" behind hours or in front of seconds."""
    units = [
        (place, text.lower()[:1])
        for place, (kind, text) in enumerate(tokens)
        if kind in ("date", "elapsed") and text[:1] != "."
    ]
    place = next((at for at, (where, _) in enumerate(units) if where == index), 0)
    before = units[place - 1][1] if place else ""
    after = units[place + 1][1] if place + 1 < len(units) else ""
    return before == "h" or after == "s"


_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"


def _part(moment: datetime.datetime, text: str, minutes: bool, half: bool) -> str:
    size = len(text)
    match text[0]:
        case "y" | "e" | "b":
            return (
                f"{moment.year % 100:02d}" if text[0] == "y" and size < 3 else f"{moment.year:04d}"
            )
        case "m" if not minutes and size >= 3:
            name = _MONTHS.split()[moment.month - 1]
            return name[:3] if size == 3 else name[:1] if size == 5 else name
        case "d" if size >= 3:
            name = _DAYS.split()[moment.weekday()]
            return name[:3] if size == 3 else name
        case "." as point:
            return f"{point}{moment.microsecond:06d}"[:size]
    number = {
        "m": moment.minute if minutes else moment.month,
        "d": moment.day,
        "h": (moment.hour % 12 or 12) if half else moment.hour,
        "s": moment.second,
    }[text[0]]
    return str(number).rjust(min(size, 2), "0")
