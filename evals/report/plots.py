"""Small plots as inline SVG: no script, no font, nothing to fetch. Colours come from the page's variables."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 720
LEFT = 250
ROW = 30
RIGHT = 80


@dataclass(frozen=True)
class Bar:
    """A value with its interval (equal to the value where there is none) and what stands beside it."""

    label: str
    value: float
    low: float
    high: float
    note: str = ""


@dataclass(frozen=True)
class Dot:
    """A named point."""

    label: str
    x: float
    y: float


@dataclass(frozen=True)
class Line:
    """A named curve over shared x values. `style` is a class of the page: a, b or c."""

    label: str
    ys: tuple[float, ...]
    style: str


def bars(title: str, rows: Sequence[Bar], top: float = 1.0) -> str:
    """Horizontal bars from 0 to `top`, with intervals."""
    height = ROW * len(rows) + 34
    span = WIDTH - LEFT - RIGHT

    def x(value: float) -> float:
        return LEFT + span * min(max(value, 0.0), top) / top

    parts = [
        _gridline(LEFT + span * step / 4, 4, height - 28, f"{top * step / 4:g}")
        for step in range(5)
    ]
    for number, row in enumerate(rows):
        middle = ROW * number + ROW / 2 + 4
        parts.append(
            f'<text x="{LEFT - 10}" y="{middle + 4:.1f}" class="name">{escape(_short(row.label))}</text>'
            f'<rect x="{LEFT}" y="{middle - 8:.1f}" width="{x(row.value) - LEFT:.1f}" height="16" class="bar"/>'
        )
        if row.high > row.low:
            low, high = x(row.low), x(row.high)
            parts.append(
                f'<path d="M{low:.1f} {middle:.1f}H{high:.1f}M{low:.1f} {middle - 5:.1f}v10'
                f'M{high:.1f} {middle - 5:.1f}v10" class="whisker"/>'
            )
        parts.append(
            f'<text x="{x(max(row.value, row.high)) + 8:.1f}" y="{middle + 4:.1f}" class="value">'
            f"{row.value:.3f}{escape(row.note)}</text>"
        )
    described = "; ".join(f"{row.label} {row.value:.3f}" for row in rows)
    return _svg(title, described, height, parts)


def scatter(title: str, dots: Sequence[Dot], x_name: str, y_name: str) -> str:
    """Points over a logarithmic x axis (milliseconds) and a y axis that fits them."""
    if not dots:
        return ""
    height, bottom, left = 320, 270, 60
    xs = [math.log10(max(dot.x, 0.1)) for dot in dots]
    first, last = math.floor(min(xs)), math.ceil(max(xs) + 1e-9)
    last = max(last, first + 1)
    low, high = _round_out([dot.y for dot in dots])

    def place(dot: Dot) -> tuple[float, float]:
        across = (math.log10(max(dot.x, 0.1)) - first) / (last - first)
        up = (dot.y - low) / (high - low)
        return left + across * (WIDTH - left - 160), bottom - up * (bottom - 20)

    parts = []
    for power in range(first, last + 1):
        across = left + (power - first) / (last - first) * (WIDTH - left - 160)
        parts.append(_gridline(across, 20, bottom, f"{10.0**power:g}"))
    for step in range(5):
        value = low + (high - low) * step / 4
        up = bottom - (bottom - 20) * step / 4
        parts.append(f'<text x="{left - 8}" y="{up + 4:.1f}" class="name">{value:.2f}</text>')
    taken: list[tuple[float, float]] = []
    for dot in sorted(dots, key=lambda dot: -dot.y):
        cx, cy = place(dot)
        at = cy
        while any(abs(at - y) < 14 and abs(cx - across) < 150 for across, y in taken):
            at += 14
        taken.append((cx, at))
        leader = (
            f'<path d="M{cx:.1f} {cy:.1f}L{cx + 8:.1f} {at:.1f}" class="whisker thin"/>'
            if at != cy
            else ""
        )
        parts.append(
            f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="5" class="dot"/>{leader}'
            f'<text x="{cx + 10:.1f}" y="{at + 4:.1f}" class="value">{escape(dot.label)}</text>'
        )
    parts.append(f'<text x="{left}" y="{height - 8}" class="value">{escape(x_name)}</text>')
    parts.append(f'<text x="{left}" y="12" class="value">{escape(y_name)}</text>')
    described = "; ".join(f"{dot.label}: {dot.x:.0f} ms, {dot.y:.3f}" for dot in dots)
    return _svg(title, described, height, parts)


def curves(title: str, xs: Sequence[float], lines: Sequence[Line], x_name: str) -> str:
    """Shares (0 to 1) over an x axis from 0 to 1."""
    height, bottom, left = 300, 250, 60
    span = WIDTH - left - 190

    def place(x: float, y: float) -> str:
        return f"{left + x * span:.1f} {bottom - y * (bottom - 20):.1f}"

    parts = [
        _gridline(left + span * step / 10, 20, bottom, f"{step / 10:g}") for step in range(0, 11, 2)
    ]
    for step in range(5):
        up = bottom - (bottom - 20) * step / 4
        parts.append(f'<text x="{left - 8}" y="{up + 4:.1f}" class="name">{step / 4:g}</text>')
    ends = sorted(range(len(lines)), key=lambda n: -lines[n].ys[-1])
    at = 0.0
    for number in ends:
        line = lines[number]
        points = "L".join(place(x, y) for x, y in zip(xs, line.ys, strict=True))
        last = bottom - line.ys[-1] * (bottom - 20)
        at = max(at + 16, last)
        parts.append(
            f'<path d="M{points}" class="curve {line.style}"/>'
            f'<text x="{left + xs[-1] * span + 8:.1f}" y="{at + 4:.1f}" class="value">{escape(line.label)}</text>'
        )
    parts.append(f'<text x="{left}" y="{height - 8}" class="value">{escape(x_name)}</text>')
    described = "; ".join(
        f"{line.label}: " + ", ".join(f"{y:.2f} at {x:g}" for x, y in zip(xs, line.ys, strict=True))
        for line in lines
    )
    return _svg(title, described, height, parts)


def _svg(title: str, described: str, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title><desc>{escape(described)}</desc>{''.join(parts)}</svg>"
    )


def _gridline(x: float, top: float, bottom: float, label: str) -> str:
    return (
        f'<path d="M{x:.1f} {top:g}V{bottom:g}" class="grid"/>'
        f'<text x="{x:.1f}" y="{bottom + 18:g}" class="tick">{escape(label)}</text>'
    )


def _short(label: str, length: int = 38) -> str:
    return label if len(label) <= length else label[: length - 1] + "…"


def _round_out(values: Sequence[float]) -> tuple[float, float]:
    low, high = math.floor(min(values) * 10) / 10, math.ceil(max(values) * 10) / 10
    return low, high if high > low else low + 0.1
