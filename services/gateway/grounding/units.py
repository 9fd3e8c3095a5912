"""Units of measure as answers and tables write them: "kg" and "kilograms" are one, "kg" and "l/min" are not. Pure."""

import re

_SPELLINGS = {
    "kg": "kg kgs kilogram kilograms kilo kilos",
    "g": "g gram grams",
    "mg": "mg milligram milligrams",
    "tonne": "tonne tonnes",
    # Of money or of mass: nobody can tell.
    "pound": "lb lbs pound pounds £ gbp",
    "ounce": "oz ounce ounces",
    "mm": "mm millimetre millimetres millimeter millimeters",
    "cm": "cm centimetre centimetres centimeter centimeters",
    "m": "m metre metres meter meters",
    "km": "km kilometre kilometres kilometer kilometers",
    "mile": "mi mile miles",
    "inch": "inch inches",
    "foot": "ft foot feet",
    "m2": "m2 m^2 m² sqm",
    "km2": "km2 km^2 km²",
    "hectare": "ha hectare hectares",
    "m3": "m3 m^3 m³",
    "cm3": "cm3 cm^3 cm³ ccm",
    "l": "l litre litres liter liters",
    "ml": "ml millilitre millilitres milliliter milliliters",
    "gallon": "gal gallon gallons",
    "bar": "bar bars",
    "mbar": "mbar",
    "pa": "pa pascal pascals",
    "kpa": "kpa",
    "mpa": "mpa",
    "psi": "psi",
    "°c": "°c ℃ celsius",
    "°f": "°f ℉ fahrenheit",
    "k": "k kelvin",
    "v": "v volt volts",
    "kv": "kv",
    "mv": "mv",
    "a": "a amp amps ampere amperes",
    "ma": "ma",
    "w": "w watt watts",
    "kw": "kw kilowatt kilowatts",
    "mw": "mw megawatt megawatts",
    "kwh": "kwh",
    "mwh": "mwh",
    "hp": "hp horsepower",
    "nm": "nm n·m n.m",
    "n": "n newton newtons",
    "kn": "kn",
    "hz": "hz hertz",
    "khz": "khz",
    "mhz": "mhz",
    "ghz": "ghz",
    "db": "db dba decibel decibels",
    "rpm": "rpm",
    "second": "s sec secs second seconds",
    "ms": "ms millisecond milliseconds",
    "min": "min mins minute minutes",
    "h": "h hr hrs hour hours",
    "day": "day days",
    "week": "week weeks",
    "month": "month months",
    "year": "year years",
    "%": "% percent pct percentage",
    "dollar": "$ dollar dollars usd us$",
    "euro": "€ euro euros eur",
    "yen": "¥ yen jpy",
    "franc": "franc francs chf",
    "cent": "cent cents",
    "mb": "mb megabyte megabytes",
    "gb": "gb gigabyte gigabytes",
    "tb": "tb terabyte terabytes",
}
_UNIT = {spelling: name for name, known in _SPELLINGS.items() for spelling in known.split()}
_WORD = r"[%$€£¥]|[°℃℉]?[^\W\d_]+(?:\^?[23²³](?![\w.,]))?"
_COMPOUND = re.compile(rf"(?:{_WORD})(?:\s*(?:/|\s+per\s+)\s*(?:{_WORD}))*")
_STATED = re.compile(r"[(\[]([^)\]]*)[)\]]|,\s*([^,]+)$|\bin\s+([^,()]+)$", re.IGNORECASE)
_SCALES = re.compile(
    r"\b(?:in|of|thousands?|millions?|billions?|trillions?|'?000s?)\b", re.IGNORECASE
)
_SIGNS = {"%": "%", "$": "dollar", "€": "euro", "£": "pound", "¥": "yen"}
_FIGURE = re.compile(r"\d(?:[\d,.]*\d)?")
# By themselves they are what a row or a column is of.
_TIMES = frozenset({"second", "min", "h", "day", "week", "month", "year"})
_PARTS = re.compile(r"\s*/\s*|\s+per\s+")
_SCALE = r"(?:(?:thousand|million|billion|trillion)s?\s+)?(?:of\s+)?"
_BEHIND = re.compile(rf"[\s\u00a0]?\s*{_SCALE}({_COMPOUND.pattern})", re.IGNORECASE)
_BEFORE = re.compile(r"([$€£¥])\s*$")
# Words as well, behind a figure: "52 in 2022", "5 a day".
_WORDS = frozenset({"a", "in", "k", "m", "s", "n", "second"})


def unit(text: str) -> str | None:
    """One name for a unit, however it is written; None for what is none."""
    parts = [_UNIT.get(part.casefold()) for part in _PARTS.split(text.strip())]
    return "/".join(filter(None, parts)) if parts and None not in parts else None


def units_of_head(text: str) -> frozenset[str]:
    """The units that a head or a caption states: "Flow (m3/h)", "Flow, m3/h", "Flow in m3/h"; none of "Year"."""
    found: set[str | None] = {_SIGNS[sign] for sign in _SIGNS if sign in text}
    for match in _STATED.finditer(text):
        found.add(_leading(_SCALES.sub("", next(filter(None, match.groups()), ""))))
    whole = unit(text)
    if whole not in _TIMES:
        found.add(whole)
    return frozenset(each for each in found if each)


def units_of_value(text: str) -> frozenset[str]:
    """The units of the figures of a cell."""
    return frozenset(
        filter(None, (unit_of(text, *match.span()) for match in _FIGURE.finditer(text)))
    )


def unit_of(sentence: str, start: int, end: int) -> str | None:
    """The unit that a sentence gives a figure; None where it gives none, or a word that may be another."""
    before = _BEFORE.search(sentence, 0, start)
    if before:
        return unit(before[1])
    behind = _BEHIND.match(sentence, end)
    if not behind or behind[1].casefold() in _WORDS:
        return None
    return _leading(behind[1])


def _leading(text: str) -> str | None:
    """The unit that a text is, or begins with: "kg per pump" is kilograms."""
    return unit(text) or unit(_PARTS.split(text.strip())[0])
