"""Numbers in attributes, and the numbers of lists."""

_NUMERALS = ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))


def number(value: str | None, default: int) -> int:
    """The whole number that an attribute holds, else the default."""
    try:
        return int((value or "").strip()[:9])
    except ValueError:
        return default


def numbered(number: int, style: str) -> str:
    """The number of a list's item, as `type` asks for it: 1, a, A, i, I."""
    if style in ("a", "A") and number > 0:
        letters = ""
        while number:
            number, rest = divmod(number - 1, 26)
            letters = chr(ord(style) + rest) + letters
        return letters
    if style in ("i", "I") and 0 < number < 40:
        roman = ""
        for value, sign in _NUMERALS:
            roman += sign * (number // value)
            number %= value
        return roman if style == "i" else roman.upper()
    return str(number)
