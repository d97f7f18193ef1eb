"""isl sets as text, and back from text that nobody vouches for.

In: a set, or a text.  Out: the other one; names, numbers and the operators of sets only.
Refuses: with `RecordError` any other character or word, deep nesting, and text that takes isl long.
"""

from __future__ import annotations

import re
from itertools import pairwise

import islpy as isl

from polyopt.errors import BudgetError
from polyopt.ir.affine import quota
from polyopt.ir.parameters import param_names

MAX_NESTING = 30
MAX_DIGITS = 40
READ_BUDGET = 1_000_000
_WORDS = {"and", "or", "exists", "mod", "floor"}
_TOKEN = re.compile(r"\s*([^\W\d]\w*'*|\d+|->|<=|>=|!=|[-+*/(){}\[\]:;,=<>])")
_ACCESS = re.compile(r"(\w):(\w+)\[")
_NUMBER_OF_DIMENSIONS = 64


class RecordError(ValueError):
    """A value cannot be recorded, or data does not describe one that can."""


def set_text(value: isl.Set) -> str:
    """Return a set as text."""
    return str(value)


def text_set(text: str) -> isl.Set:
    """Return the set that `text` describes."""
    _check_tokens(text)
    try:
        with quota(READ_BUDGET):
            value = isl.Set.read_from_str(isl.DEFAULT_CONTEXT, text)
    except (isl.Error, BudgetError, ValueError):
        raise RecordError("not a set that isl reads") from None
    if value.dim(isl.dim_type.set) > _NUMBER_OF_DIMENSIONS:
        raise RecordError("a set of too many dimensions")
    return value


def is_same_formula(one: str, other: str) -> bool:
    """Tell whether two texts are equal, or describe equal sets or relations; isl has many for one.

    Texts that isl does not read, or takes long to compare, are not the same.
    """
    if one == other:
        return True
    texts = [_ACCESS.sub(r"\1__\2[", text) for text in (one, other)]  # `S2:1[i]` is no name
    try:
        for text in texts:
            _check_tokens(text)
        with quota(READ_BUDGET):
            if "->" in one.partition("{")[2]:
                maps = [isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, text) for text in texts]
                return bool(maps[0].is_equal(maps[1]))
            sets = [isl.UnionSet.read_from_str(isl.DEFAULT_CONTEXT, text) for text in texts]
            return bool(sets[0].is_equal(sets[1]))
    except (isl.Error, BudgetError, ValueError):
        return False


def space_of(value: isl.Set) -> tuple[tuple[str, ...], str | None, tuple[str | None, ...]]:
    """Return a set's parameters, its name and the names of its dimensions."""
    if value.is_params():
        return tuple(param_names(value)), None, ()
    name = value.get_tuple_name() if value.has_tuple_name() else None
    dims = range(value.dim(isl.dim_type.set))
    names = tuple(value.get_dim_name(isl.dim_type.set, d) for d in dims)
    return tuple(param_names(value)), name, names


def _check_tokens(text: str) -> None:
    tokens, position = [], 0
    stripped = text.rstrip()
    while position < len(stripped):
        match = _TOKEN.match(stripped, position)
        if match is None:
            raise RecordError(f"{stripped[position]!a} does not belong in a set")
        tokens.append(match[1])
        position = match.end()
    depth = 0
    for position, token in enumerate(tokens):
        depth += (token in "([{") - (token in ")]}")
        if token == "}" and position + 1 != len(tokens):
            raise RecordError("text after the set")
        if not 0 <= depth <= MAX_NESTING or (token[0].isdigit() and len(token) > MAX_DIGITS):
            raise RecordError("a set that is nested too deeply or has too long numbers")
    _check_calls(tokens)


def _check_calls(tokens: list[str]) -> None:
    """Refuse `word word` but for the operators that are words: nothing else is one in a set."""
    for first, second in pairwise(tokens):
        if _is_word(first) and _is_word(second) and not {first, second} & _WORDS:
            raise RecordError(f"{first!a} before {second!a} does not belong in a set")


def _is_word(token: str) -> bool:
    return token[0].isalpha() or token[0] == "_"
