"""MathML as a line of text: an exponent never joins the digits of its base."""

from selectolax.lexbor import LexborNode

_JOINED = {"msup": "^", "msub": "_", "mfrac": "/", "munder": "_", "mover": "^"}
_MAX_PARTS = 2_000


def line(formula: LexborNode) -> str:
    """A formula's source where the page gives it (TeX), else its parts in a row: 10^6, a/b."""
    for source in formula.css("annotation"):
        if "tex" in (source.attributes.get("encoding") or ""):
            return source.text().strip()
    said = formula.attributes.get("alttext")
    if said:
        return said
    parts: list[str] = []
    stack: list[LexborNode | str] = [formula]
    while stack and len(parts) < _MAX_PARTS:
        part = stack.pop()
        if isinstance(part, str):
            parts.append(part)
        elif part.tag == "-text":
            parts.append((part.text_content or "").strip())
        elif part.tag not in ("annotation", "annotation-xml"):
            stack.extend(reversed(_children(part)))
    return "".join(parts)


def _children(node: LexborNode) -> list[LexborNode | str]:
    tag = node.tag or ""
    inner: list[LexborNode | str] = [
        child
        for child in node.iter(include_text=True)
        if child.tag != "-text" or (child.text_content or "").strip()
    ]
    if tag in _JOINED and len(inner) == 2:
        base, other = inner
        return [*_grouped(base), _JOINED[tag], *_grouped(other)]
    if tag in ("msqrt", "mroot"):
        return ["√(", *inner[:1], ")"]
    if tag == "msubsup" and len(inner) == 3:
        return [inner[0], "_", *_grouped(inner[1]), "^", *_grouped(inner[2])]
    if tag == "mtr":
        return [part for cell in inner for part in (cell, " ")]
    return inner


def _grouped(part: LexborNode | str) -> list[LexborNode | str]:
    grouped = isinstance(part, LexborNode) and part.tag == "mrow"
    return ["(", part, ")"] if grouped else [part]
