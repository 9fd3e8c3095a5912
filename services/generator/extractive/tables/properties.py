"""What a question asks the measure of, and what a column holds one of: money, mass, time. Pure.

Words that sound alike to a model ("weigh", "price") must not be taken for each other.
"""

import re
from collections.abc import Iterable

from services.text.words import stem

_WORDS = {
    "money": "cost costs price priced prices pay paid charge charged fee fees rate tariff fare rent salary wage euro"
    " euros dollar dollars pound pounds franc francs crown crowns krona kronor krone kroner zloty forint forints"
    " rupee rupees peso pesos yen yuan lira dinar dinars shilling shillings eur usd gbp chf cents revenue"
    " income expense expensive",
    "mass": "weigh weighs weight heavy mass kg kilogram kilograms gram grams tonne tonnes lb lbs",
    "length": "length height width depth diameter distance tall wide deep far thick thickness mm cm km metre metres"
    " meter meters inch inches mile miles",
    "temperature": "temperature hot cold warm celsius fahrenheit",
    "pressure": "pressure bar psi kpa mbar",
    "speed": "speed fast slow rpm mph kmh",
    "power": "power watt watts kw horsepower",
    "voltage": "voltage volt volts",
    "torque": "torque tight tighten tightened tightening nm",
    "volume": "volume capacity litre litres liter liters gallon gallons",
    "time": "when date time departure departs arrival arrives leave leaves duration deadline interval day days week"
    " weeks month months hour hours minute minutes opening closes opens weekday",
    "person": "who whom manager owner author contact name",
    "place": "where location country city town room place origin",
    "count": "stock quantity inhabitants population count pieces live lives lived living resident residents",
}
_SIGNS = {"money": "€$£¥", "temperature": "°"}
_MEASURES = (
    (re.compile(r"\bhow heavy\b"), "mass"),
    (re.compile(r"\bhow (?:tall|wide|deep|far|high|thick)\b"), "length"),
    (re.compile(r"\bhow (?:hot|cold|warm)\b"), "temperature"),
    (re.compile(r"\bhow fast\b"), "speed"),
    (re.compile(r"\bhow tight(?:ly)?\b"), "torque"),
)
_ASKS = (
    *_MEASURES,
    (re.compile(r"\bhow (?:much (?:is|are|was|were|do(?:es)? \S+ cost)|expensive)\b"), "money"),
    (re.compile(r"\bwhen\b|\bwhat time\b"), "time"),
    (re.compile(r"\bwho\b"), "person"),
    (re.compile(r"\bwhere\b"), "place"),
)
_PROPERTY = {word: name for name, known in _WORDS.items() for word in known.split()}
_PROPERTY |= {stem(word): name for word, name in _PROPERTY.items()}
_LETTERS = re.compile(r"[^\W\d_]+")


def held(text: str) -> frozenset[str]:
    """The properties that a head of a column, a unit or a value tells of."""
    found = {_PROPERTY[word] for word in _LETTERS.findall(text.lower()) if word in _PROPERTY}
    found |= {name for name, signs in _SIGNS.items() if any(sign in text for sign in signs)}
    return frozenset(found)


def all_held(terms: Iterable[str], text: str) -> bool:
    """Whether each of the terms asks for a property that a text tells of."""
    known = held(text)
    return all(_PROPERTY.get(term) in known for term in terms)


def measured(question: str) -> frozenset[str]:
    """The properties that a question asks the measure of, and nothing else: "how tight", not "how much"."""
    lower = question.lower()
    return frozenset(name for pattern, name in _MEASURES if pattern.search(lower))


def asked(question: str) -> frozenset[str]:
    """The properties that a question asks for."""
    lower = question.lower()
    found = {name for pattern, name in _ASKS if pattern.search(lower)}
    return held(question) | frozenset(found)
