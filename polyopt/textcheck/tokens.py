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


_UNSURE = re.compile(r"\?\?|\r(?!\n)|\\(?!\n)[\0\s]+?\n")
"""Trigraphs, which compilers read in some modes; carriage returns by themselves, which end lines
for gcc and clang; lines that end in a backslash and blanks, which they splice, other than C11
5.1.1.2 says."""


def unsure(text: str) -> int | None:
    """Return where compilers read a text in different ways, if anywhere."""
    found = _UNSURE.search(text)
    return None if found is None else found.start()


def is_same(one: str, two: str) -> bool:
    """Tell whether every compiler sees the same in both texts."""
    if unsure(one) is not None or unsure(two) is not None:
        return one == two
    return [token for token, _ in tokens(one)] == [token for token, _ in tokens(two)]


_ATTRIBUTE = re.compile(r"__attribute__\s*\(\(\s*(?:aligned\(\d+\)|unused|noinline)\s*\)\)")
_HINT = re.compile(r"^#define (\w+) _Pragma\(\"(?:GCC|clang loop) unroll[^\"]*\"\)$", re.MULTILINE)


def without_hints(text: str) -> str:
    """Return C text with blanks for what only a compiler's optimizer reads; places stay the same.

    These are attributes of alignment, of unused names and against inlining, and macros for pragmas
    about unrolling.
    """
    hints = [match[1] for match in _HINT.finditer(text)]
    said = re.findall(r"^\s*#\s*(?:define|undef)\s+(\w+)(?!\w*$)", text, re.MULTILINE)
    names = {name for name in hints if said.count(name) == hints.count(name)}
    text = _ATTRIBUTE.sub(lambda match: " " * len(match[0]), text)
    if names:
        used = re.compile(rf"(?<!#define )\b(?:{'|'.join(sorted(names))})\b(?= for)")
        text = used.sub(lambda match: " " * len(match[0]), text)
    return text
