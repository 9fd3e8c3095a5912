"""English words for numbers, and what they count."""

from decimal import Decimal

_UNIT_NAMES = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
"""
_TEN_NAMES = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINAL_NAMES = """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
"""

UNITS = {word: value for value, word in enumerate(_UNIT_NAMES.split())}
TENS = {word: 10 * value for value, word in enumerate(_TEN_NAMES.split(), 2)}
HUNDRED = "hundred"
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
# "5 m" may be five metres as well.
SHORT_SCALES = {"k": 10**3, "m": 10**6, "mn": 10**6, "bn": 10**9, "b": 10**9}
ORDINALS = {word: value for value, word in enumerate(_ORDINAL_NAMES.split(), 1)}
# Counts without being a number.
MULTIPLES = {
    "once": Decimal(1),
    "twice": Decimal(2),
    "thrice": Decimal(3),
    "both": Decimal(2),
    "dozen": Decimal(12),
    "half": Decimal("0.5"),
}
# May count, and more often does not: a single-stage pump, the second quarter.
LOOSE_MULTIPLES = {
    "single": Decimal(1),
    "double": Decimal(2),
    "triple": Decimal(3),
    "quarter": Decimal("0.25"),
}
FRACTIONS = {"½": Decimal("0.5"), "¼": Decimal("0.25"), "¾": Decimal("0.75")}

CARDINALS = frozenset({*UNITS, *TENS, HUNDRED, *SCALES})
