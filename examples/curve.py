"""Draw loss curves as SVG.

In: a title, losses by name.  Out: the picture as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 360, 56, 40, 20, 44
COLOURS = ("#1b6ca8", "#d1495b")


def draw(title: str, curves: Mapping[str, Sequence[float]]) -> str:
    """Return a picture of the curves over the steps; the first line is broad, others are dashes."""
    steps = max(len(losses) for losses in curves.values())
    top = max(max(losses) for losses in curves.values())
    marks = [m / 2 for m in range(int(2 * top) + 2)]

    def x(step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * step / max(steps - 1, 1)

    def y(loss: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * loss / marks[-1]

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{title}</text>',
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">step</text>',
        f'<text x="14" y="{HEIGHT / 2}" text-anchor="middle" '
        f'transform="rotate(-90 14 {HEIGHT / 2})">loss</text>',
    ]
    for mark in marks:
        lines.append(
            f'<path d="M{LEFT} {y(mark):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
            f'<text x="{LEFT - 6}" y="{y(mark) + 4:.1f}" text-anchor="end">{mark:g}</text>'
        )
    for step in range(0, steps + 1, max(1, steps // 5)):
        place = min(step, steps - 1)
        lines.append(
            f'<text x="{x(place):.1f}" y="{HEIGHT - BOTTOM + 16}" '
            f'text-anchor="middle">{step}</text>'
        )
    for number, (name, losses) in enumerate(curves.items()):
        points = " ".join(f"{x(n):.1f},{y(loss):.1f}" for n, loss in enumerate(losses))
        colour = COLOURS[number % len(COLOURS)]
        style = 'stroke-width="5" opacity="0.45"' if number == 0 else 'stroke-dasharray="5 4"'
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" {style}/>')
        height = TOP + 14 + 20 * number
        lines.append(
            f'<path d="M{WIDTH - 150} {height}h30" stroke="{colour}" {style}/>'
            f'<text x="{WIDTH - 112}" y="{height + 4}">{name}</text>'
        )
    return "\n".join([*lines, "</svg>", ""])
