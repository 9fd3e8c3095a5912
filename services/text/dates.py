"""English names of months and days, in order."""

_MONTHS = """
    january february march april may june july august september october november december
"""
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"

MONTHS = tuple(_MONTHS.split())
# As they are cut short; "sept" is written beside "sep", and "may" is whole.
MONTH_ABBREVIATIONS = (*(name[:3] for name in MONTHS if name != "may"), "sept")
WEEKDAYS = tuple(_WEEKDAYS.split())
WEEKDAY_ABBREVIATIONS = tuple(name[:3] for name in WEEKDAYS)


def month(name: str) -> int:
    """1 to 12, of a name or of its abbreviation."""
    return _NUMBERS[name[:3].lower()]


_NUMBERS = {name[:3]: number for number, name in enumerate(MONTHS, 1)}
