"""Shorten emitted C for readers; the tokens of what is computed stay.

In: lines of C as the printers lay them out, not yet broken.  Out: shorter ones.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from polyopt.emit.helpers import Helper, HelperKind
from polyopt.emit.wrapping import WIDTH

_HEAD = re.compile(r"(?:PO_UNROLL )?(?:for|while|if) \(.*\) \{")
_INNER = re.compile(r"(?:(?:PO_UNROLL )?for|while|if) \(")
_STATEMENT = re.compile(r"(?:return|goto) .*;|break;|\w+(?:\[[^;]*\])?(?: [-+*/%&|^]?= |\()[^;]*;")


def without_braces(code: str) -> str:
    """Return `code` without braces around single statements; declarations keep theirs.

    Neither have loops around one loop or condition that fit in a line.

    >>> print(without_braces("for (;;) {\\n    for (;;) {\\n        x = 1;\\n    }\\n}"))
    for (;;)
        for (;;)
            x = 1;
    """
    lines = code.split("\n")
    return "\n".join(_without_braces(lines, 0, len(lines)))


def _without_braces(lines: list[str], begin: int, end: int) -> list[str]:
    """Return the lines from `begin` on, before `end`, without braces that are not needed."""
    found: list[str] = []
    while begin < end:
        line = lines[begin]
        found.append(line)
        begin += 1
        pad = line[: len(line) - len(line.lstrip())]
        if _HEAD.fullmatch(line[len(pad) :]) is None:
            continue
        close = next(n for n in range(begin, end) if lines[n].startswith(f"{pad}}}"))
        body = _without_braces(lines, begin, close)
        begin = close
        if lines[close] == f"{pad}}}" and len(line) <= WIDTH and _is_single(line, body):
            found[-1] = line.removesuffix(" {")
            begin += 1
        found += body
    return found


def _is_single(head: str, body: list[str]) -> bool:
    """Tell whether the body of a head is one statement that fits in a line, or a loop one more."""
    if not body or len(body[0]) > WIDTH:
        return False
    if len(body) == 1:
        return _STATEMENT.fullmatch(body[0].strip()) is not None
    first = body[0].lstrip()
    pad = body[0][: len(body[0]) - len(first)]
    if head.lstrip().startswith("if ") or _INNER.match(first) is None:
        return False
    rest = body[1:-1] if body[-1] == f"{pad}}}" else body[1:]
    return all(line.startswith(f"{pad} ") for line in rest)


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
