"""Small changes of C text, each of which a reader should see.

In: a text, a seed.  Out: texts with one change each: bounds, steps, subscripts, operators, pragmas.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

Change = Callable[[re.Match[str]], str]

KINDS: dict[str, tuple[str, Change]] = {
    "bound + 1": (
        r"(?<=< )([\w()/* +-]+)(?=; (?!\w*_tile)\w+(?:\+\+| \+= ))",
        lambda m: f"{m[1]} + 1",
    ),
    "bound - 1": (r"(?<=< )([\w()/* +-]+)(?=; \w+(?:\+\+| \+= ))", lambda m: f"{m[1]} - 1"),
    "first + 1": (r"(for \(int64_t \w+ = )([^;,]+);", lambda m: f"{m[1]}{m[2]} + 1;"),
    "step": (r"(\w+)\+\+(?=\))", lambda m: f"{m[1]} += 2"),
    "swapped": (r"\[(\w+)\]\[(\w+)\]", lambda m: f"[{m[2]}][{m[1]}]"),
    "subscript + 1": (r"(?<=\w|\])\[(\w)\]", lambda m: f"[{m[1]} + 1]"),
    "stride": (r"(?<=\w|\])\[(\w)\]", lambda m: f"[2 * {m[1]}]"),
    "parallel": (r"^( *)(for \()", lambda m: f"#pragma omp parallel for\n{m[1]}{m[2]}"),
    "not parallel": (r"^ *#pragma omp parallel for.*\n", lambda m: ""),
    "backwards": (
        r"for \(int64_t (\w+) = ([^;,]+); \w+ < ([^;]+); \w+\+\+\)",
        lambda m: f"for (int64_t {m[1]} = {m[3]} - 1; {m[1]} >= {m[2]}; {m[1]}--)",
    ),
    "lanes": (r"^( *)(for \()", lambda m: f"#pragma omp simd\n{m[1]}{m[2]}"),
    "not in lanes": (r"^ *#pragma omp simd.*\n", lambda m: ""),
    "reduction": (r"(#pragma omp .*) reduction\([^)]*\)", lambda m: m[1]),
    "condition": (r"if \((\w+) > 0\)", lambda m: f"if ({m[1]} > 1)"),
}


def mutated(text: str, kind: str, rng: Random) -> str | None:
    """Return the text with one change of a kind behind its helpers, or None."""
    pattern, change = KINDS[kind]
    start = max(text.rfind("\nint "), 0)
    places = [m for m in re.finditer(pattern, text, re.MULTILINE) if m.start() > start]
    places = [m for m in places if change(m) != m[0] and "po_extent" not in m[0]]
    if kind == "backwards":  # iterations that run at the same time have no order
        places = [m for m in places if "omp parallel" not in _line_before(text, m.start())]
    if not places:
        return None
    chosen = rng.choice(places)
    return text[: chosen.start()] + change(chosen) + text[chosen.end() :]


def _line_before(text: str, place: int) -> str:
    return text[:place].rpartition("\n")[0].rpartition("\n")[2]
