"""What a C compiler sees of a text: tokens and directives, without white space and comments.

In: C text.  Out: tokens with their lines (C11 5.1.1.2: spliced lines, comments, then tokens).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<directive>(?:(?<=\n)|\A)[ \t]*\#(?:"(?:\\.|[^"\\\n])*"|/\*.*?\*/|[^\n/]|/(?![/*]))*)
    |(?P<literal>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
    |(?P<word>\w+)
    |(?P<operator><<=|>>=|\.\.\.|[-+&|]{2}|->|<<|>>|[-+*/%&|^<>=!]=|\#\#|[^\w\s])
    |(?P<space>\s+)""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def tokens(text: str) -> Iterator[tuple[str, int]]:
    """Yield tokens and their lines, from 1; a directive is one token, its words one space apart."""
    line = 1
    for match in _TOKEN.finditer(text.replace("\\\n", "")):
        found = match[0]
        if match.lastgroup == "directive":
            yield " ".join(_COMMENT.sub(" ", found).split()), line
        elif match.lastgroup not in ("comment", "space"):
            yield found, line
        line += found.count("\n")


def is_same(one: str, two: str) -> bool:
    """Tell whether a compiler sees the same in both texts; texts with trigraphs never are."""
    if "??" in one + two:
        return one == two
    return [token for token, _ in tokens(one)] == [token for token, _ in tokens(two)]
