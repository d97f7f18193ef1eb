"""Argument values for a run: random ones of chosen sizes.

In: a Program's signature, the user's annotations, sizes.  Out: values in argument order.
Refuses: unknown or contradicting sizes (PO0609), sizes that the program does not allow (PO0619).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polyopt.errors import UsageError
from polyopt.frontend.syntax.annotations import Annotation
from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Expr, Param
from polyopt.ir.integers import evaluate
from polyopt.ir.source import ArrayArg, Check, ConstArg, IntegerOf, ScalarArg, Signature, SizeOf
from polyopt.ir.types import DType, Kind
from polyopt.never import assert_never

Values: TypeAlias = tuple[Any, ...]


def choose_sizes(
    signature: Signature, func: Callable[..., Any], given: Mapping[str, int]
) -> dict[str, int]:
    """Return a value for every size parameter; sizes nobody gave are all equal."""
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
    values = groups.values(given, _default(signature))
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


def _default(signature: Signature) -> int:
    ranks = [len(a.shape) for a in signature.arguments if isinstance(a, ArrayArg)]
    return 40 if max(ranks, default=0) > 2 else 100


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


def random_values(signature: Signature, sizes: Mapping[str, int], seed: int) -> Values:
    """Return seeded values of every argument; square matrices get a dominant diagonal."""
    for check in signature.checks:
        if not evaluate(check.condition, sizes):
            chosen = ", ".join(f"{name}={value}" for name, value in sorted(sizes.items()))
            raise UsageError(
                "PO0619",
                f"these sizes do not fit the program: {check.message}",
                loc=check.loc,
                notes=(f"sizes: {chosen}",),
                hint="choose others with --sizes NAME=VALUE,…",
            )
    rng = np.random.default_rng(seed)
    integers = {
        signature.arguments[size.argument].name: sizes[size.param]
        for size in signature.sizes
        if isinstance(size, IntegerOf)
    }
    values: list[Any] = []
    for argument in signature.arguments:
        match argument:
            case ArrayArg(dtype=dtype, shape=shape):
                values.append(_random_array(rng, dtype, tuple(evaluate(s, sizes) for s in shape)))
            case ScalarArg(name=name) if name in integers:
                values.append(integers[name])
            case ScalarArg(dtype=dtype):
                number = _random_array(rng, dtype, ())
                values.append(number[()] if dtype.is_half else number.item())
            case ConstArg():
                values.append(argument.known)
            case _:
                assert_never(argument)
    return tuple(values)


def _random_array(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...]) -> NDArray[Any]:
    if any(extent < 0 for extent in shape):
        raise UsageError(
            "PO0619", f"an array would have the shape {shape}", hint="choose larger sizes"
        )
    match dtype.kind:
        case Kind.BOOL:
            return rng.integers(0, 2, shape).astype(dtype.numpy)
        case Kind.SIGNED | Kind.UNSIGNED:
            limit = min([10, *shape])
            return np.asarray(rng.integers(0, max(1, limit), shape)).astype(dtype.numpy)
        case Kind.FLOAT | Kind.COMPLEX:
            values = np.asarray(rng.uniform(0.5, 1.5, shape))
            if len(shape) == 2 and shape[0] == shape[1]:
                values = values + 2.0 * shape[0] * np.eye(shape[0])
            if dtype.kind is Kind.COMPLEX:
                values = values + 1j * rng.uniform(0.5, 1.5, shape)
            return values.astype(dtype.numpy)
        case _:
            assert_never(dtype.kind)
