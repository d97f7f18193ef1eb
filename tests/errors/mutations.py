"""Slips of the pen: programs with one token dropped, a name swapped, a literal made a text.

In: a program's text and a seeded `random.Random`.  Out: the text with one such change.
"""

from __future__ import annotations

import io
import keyword
import tokenize
from random import Random

Token = tokenize.TokenInfo


def mutated(text: str, rng: Random) -> str:
    """Return the text after one change inside the function's body."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    start = next(
        n for n, t in enumerate(tokens) if t.string == "f" and tokens[n - 1].string == "def"
    )
    change = rng.choice((_dropped, _doubled, _swapped, _as_text, _unknown, _argument, _operator))
    places = [
        n
        for n, token in enumerate(tokens)
        if n > start + 1 and token.type in (tokenize.NAME, tokenize.NUMBER, tokenize.OP)
    ]
    for _ in range(20):
        place = rng.choice(places)
        found = change(tokens, place, rng)
        if found is not None:
            return _replaced(text, tokens[place], found)
    return text


def _replaced(text: str, token: Token, new: str) -> str:
    lines = text.splitlines(keepends=True)
    row, begin = token.start
    end = token.end[1]
    line = lines[row - 1]
    lines[row - 1] = line[:begin] + new + line[end:]
    return "".join(lines)


def _dropped(tokens: list[Token], place: int, rng: Random) -> str | None:
    return ""


def _doubled(tokens: list[Token], place: int, rng: Random) -> str | None:
    return f"{tokens[place].string} {tokens[place].string}"


def _swapped(tokens: list[Token], place: int, rng: Random) -> str | None:
    if tokens[place].type != tokenize.NAME or keyword.iskeyword(tokens[place].string):
        return None
    names = {t.string for t in tokens if t.type == tokenize.NAME}
    others = ["None", "True", "print", "len", "np", "math", "undefined", "self"]
    return rng.choice([*sorted(n for n in names if not keyword.iskeyword(n)), *others])


def _as_text(tokens: list[Token], place: int, rng: Random) -> str | None:
    if tokens[place].type == tokenize.NUMBER or tokens[place - 1].string == "=":
        return rng.choice(('"text"', "None", "[]", "()", "{}", "1e400", "10**30", "lambda x: x"))
    return None


def _unknown(tokens: list[Token], place: int, rng: Random) -> str | None:
    token = tokens[place]
    if token.type != tokenize.NAME or keyword.iskeyword(token.string):
        return None
    if tokens[place - 1].string == ".":
        return rng.choice(("foo", "shape", "sum", "T", "append", "__class__", f"{token.string}s"))
    return f"{token.string}.{rng.choice(('foo', 'shape', 'T', 'sum()', 'real'))}"


def _argument(tokens: list[Token], place: int, rng: Random) -> str | None:
    if tokens[place].string not in "()" or tokens[place].type != tokenize.OP:
        return None
    more = rng.choice(("1, 2, 3", "None", "axis=0", "foo=1", "*A", "**A", "'x'"))
    return f"({more}, " if tokens[place].string == "(" else f", {more})"


def _operator(tokens: list[Token], place: int, rng: Random) -> str | None:
    if tokens[place].type != tokenize.OP or tokens[place].string in "()[]{}:,.=":
        return None
    return rng.choice(("+", "@", "%", "**", "//", "<<", "&", "and", "in", "is", "<", "not in"))
