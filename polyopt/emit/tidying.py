"""Shorten emitted C for readers; the tokens of what is computed stay.

In: lines of C as the printers lay them out, not yet broken.  Out: shorter ones.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from polyopt.emit.helpers import Helper, HelperKind
from polyopt.emit.wrapping import WIDTH

_UNROLLED = "PO_UNROLL for"
_HEAD = re.compile(r"(?:PO_UNROLL )?(?:for|while|if) \(.*\) \{")
_STATEMENT = re.compile(r"(?:return|goto) .*;|break;|\w+(?:\[[^;]*\])?(?: [-+*/%&|^]?= |\()[^;]*;")


def without_braces(code: str) -> str:
    """Return `code` without braces around single statements; declarations keep theirs.

    Neither have two nested unrolled loops around one.

    >>> print(without_braces("for (;;) {\\n    x = 1;\\n}"))
    for (;;)
        x = 1;
    """
    lines = code.split("\n")
    found: list[str] = []
    number = 0
    while number < len(lines):
        size = next((n for n in (1, 2) if _is_single(lines[number : number + 2 * n + 1])), 0)
        if size:
            heads = (line.removesuffix(" {") for line in lines[number : number + size])
            found += [*heads, lines[number + size]]
            number += 2 * size + 1
            continue
        found.append(lines[number])
        number += 1
    return "\n".join(found)


def _is_single(lines: list[str]) -> bool:
    """Tell whether lines are one or two heads, one statement that fits in a line, and the ends."""
    if len(lines) < 3 or any(len(line) > WIDTH for line in lines):
        return False
    depth = len(lines) // 2
    head, end = lines[0], lines[-1]
    pad = head[: len(head) - len(head.lstrip())]
    if end != f"{pad}}}" or _HEAD.fullmatch(head[len(pad) :]) is None:
        return False
    if depth == 1:
        return _STATEMENT.fullmatch(lines[1].strip()) is not None
    return head[len(pad) :].startswith(_UNROLLED) and (
        lines[1].strip().startswith(_UNROLLED) and _is_single(lines[1:-1])
    )


def with_short_names(helpers: Iterable[Helper], *texts: str) -> tuple[str, ...]:
    """Return the texts with names of helpers on vectors without the type that all of them have.

    A kind of helper that is used for several types keeps its names.
    """
    kinds: dict[HelperKind, list[Helper]] = defaultdict(list)
    for helper in helpers:
        kinds[helper.kind].append(helper)
    short = {
        ones[0].name: f"po_{kind.value}"
        for kind, ones in kinds.items()
        if len(ones) == 1 and ones[0].lanes > 1 and kind is not HelperKind.VECTOR
    }
    if not short:
        return texts
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, short))})\b")
    return tuple(pattern.sub(lambda match: short[match[0]], text) for text in texts)
