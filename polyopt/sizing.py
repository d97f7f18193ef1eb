"""Sizes for a program nobody gave any for: every size parameter gets a value that fits the others.

In: a Program's signature, the user's annotations, sizes.  Out: a value for every size parameter.
Refuses: unknown or contradicting sizes (PO0609).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from polyopt.errors import UsageError
from polyopt.frontend.syntax.annotations import Annotation
from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Expr, Param
from polyopt.ir.integers import evaluate
from polyopt.ir.source import ArrayArg, Check, ConstArg, IntegerOf, Signature, SizeOf
from polyopt.never import assert_never


def choose_sizes(
    signature: Signature,
    func: Callable[..., Any],
    given: Mapping[str, int],
    default: int | None = None,
) -> dict[str, int]:
    """Return a value for every size parameter; sizes nobody gave are all equal.

    They are `default`, or small enough to run.
    """
    dims = annotated_dims(func)
    texts = {size.param: _text_of(size, signature, dims) for size in signature.sizes}
    derived = {p: text for p, text in texts.items() if text != ":" and not text.isidentifier()}
    groups = _Groups()
    for param, text in texts.items():
        groups.join(param, text if text.isidentifier() else param)
    for left, right in (*_dimensions(signature), *_equalities(signature.checks)):
        groups.join(left, right)
    constants = [a.name for a in signature.arguments if isinstance(a, ConstArg)]
    for name in (*constants, *(n for some in dims.values() for text in some for n in _names(text))):
        groups.add(name)
    _refuse_unknown(given, groups)
    values = groups.values(given, default or largest(signature, 100, 40))
    for param, text in derived.items():
        if param not in given:
            values[param] = _evaluate(text, values)
    for computed in signature.computed:
        values[computed.param] = evaluate(computed.value, values)
    return values


def _dimensions(signature: Signature) -> Iterator[tuple[str, str]]:
    """Pairs of a size parameter and a dimension of an array that has this size: `A[0]`."""
    for argument in signature.arguments:
        if not isinstance(argument, ArrayArg):
            continue
        for d, extent in enumerate(argument.shape):
            if isinstance(extent, Param):
                yield extent.name, f"{argument.name}[{d}]"
                if len(argument.shape) == 1:
                    yield extent.name, argument.name


def _text_of(
    size: SizeOf | IntegerOf, signature: Signature, dims: Mapping[str, tuple[str, ...]]
) -> str:
    """What the user calls a size: an argument's name, an annotated dimension, or ":"."""
    argument = signature.arguments[size.argument].name
    match size:
        case IntegerOf():
            return argument
        case SizeOf(dim=dim):
            return (*dims.get(argument, ()), *[":"] * (dim + 1))[dim]
        case _:
            assert_never(size)


def annotated_dims(func: Callable[..., Any]) -> dict[str, tuple[str, ...]]:
    """Return the dimension texts of the arguments annotated `po.f64["N,M"]`."""
    try:
        annotations = inspect.get_annotations(func, eval_str=True)
    except Exception:  # an annotation that cannot be evaluated says nothing
        return {}
    return {
        name: note.dims
        for name, note in annotations.items()
        if isinstance(note, Annotation) and note.dims is not None
    }


def largest(signature: Signature, matrix: int, cube: int) -> int:
    """Return `matrix`, or `cube` where an argument has more than two dimensions."""
    ranks = [len(a.shape) for a in signature.arguments if isinstance(a, ArrayArg)]
    return cube if max(ranks, default=0) > 2 else matrix


class _Groups:
    """Names that stand for one size."""

    def __init__(self) -> None:
        self._leader: dict[str, str] = {}

    def add(self, name: str) -> None:
        self._leader.setdefault(name, name)

    def find(self, name: str) -> str:
        self.add(name)
        while self._leader[name] != name:
            name = self._leader[name]
        return name

    def join(self, left: str, right: str) -> None:
        self._leader[self.find(right)] = self.find(left)

    def names(self) -> list[str]:
        return list(self._leader)

    def values(self, given: Mapping[str, int], default: int) -> dict[str, int]:
        known: dict[str, tuple[str, int]] = {}
        for name, value in given.items():
            leader = self.find(name)
            other, before = known.setdefault(leader, (name, value))
            if before != value:
                raise UsageError(
                    "PO0609",
                    f"--sizes: `{other}={before}` and `{name}={value}` are one and the same size",
                    hint=f"give `{other}` alone",
                )
        return {name: known.get(self.find(name), ("", default))[1] for name in list(self._leader)}


def _equalities(checks: tuple[Check, ...]) -> list[tuple[str, str]]:
    """Pairs of parameters that the program needs to be equal."""
    found: list[tuple[str, str]] = []
    pending: list[Expr] = [check.condition for check in checks]
    while pending:
        match pending.pop():
            case Compare(op=CompareOp.EQ, left=Param(name=left), right=Param(name=right)):
                found.append((left, right))
            case Binary(op=BinaryOp.AND, left=left_side, right=right_side):
                pending += [left_side, right_side]
            case _:
                pass
    return found


def _names(text: str) -> list[str]:
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return []
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]


def _refuse_unknown(given: Mapping[str, int], groups: _Groups) -> None:
    known = groups.names()
    shown = ", ".join(sorted(name for name in known if "[" not in name))
    for name in given:
        if name not in known:
            raise UsageError(
                "PO0609",
                f"--sizes: the function has no size `{name}`",
                hint=f"sizes: {shown or 'none'}; an array's shape is written A=50x60",
            )


def _evaluate(text: str, values: Mapping[str, int]) -> int:
    """The value of a dimension text such as `T+1`: integers, names, `+ - * //`."""
    return _fold(ast.parse(text, mode="eval").body, values)


def _fold(node: ast.expr, values: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return values[name]
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _ARITHMETIC:
            return _ARITHMETIC[type(op)](_fold(left, values), _fold(right, values))
        case _:
            raise UsageError(
                "PO0609",
                f"the size `{ast.unparse(node)}` of an annotation is not arithmetic on names",
                hint="use names, integers, + - * and //",
            )


_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b if b else 0,
}
