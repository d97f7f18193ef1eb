"""Small random arguments that satisfy a signature.

In: a signature, argument types, a random generator, the largest size.  Out: one value for each
argument, or None where no sizes were found that the checks of the call accept.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.frontend.syntax.annotations import ArgType, ConstType, ScalarType
from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Expr, Param
from polyopt.ir.integers import evaluate
from polyopt.ir.names import params
from polyopt.ir.source import ArrayArg, ConstArg, IntegerOf, Layout, ScalarArg, Signature
from polyopt.ir.types import DType, Kind
from polyopt.never import assert_never

Values: TypeAlias = tuple[Any, ...]
ATTEMPTS = 40  # draws of sizes
ROUNDS = 12  # repairs of one draw


@dataclass(frozen=True, slots=True)
class Scale:
    """How large and how odd a sample is: sizes up to `size`, NaN and the like where `odd`."""

    size: int
    odd: bool


def sample(
    signature: Signature, types: Sequence[ArgType], rng: np.random.Generator, scale: Scale
) -> Values | None:
    """Return arguments of a call that the checks of `signature` accept, None if none was found."""
    sizes = _sizes(signature, rng, scale.size)
    if sizes is None:
        return None
    integers = {s.argument: sizes[s.param] for s in signature.sizes if isinstance(s, IntegerOf)}
    values: list[Any] = []
    for number, (argument, kind) in enumerate(zip(signature.arguments, types, strict=False)):
        match argument:
            case ArrayArg(dtype=dtype, shape=shape):
                values.append(_array(rng, dtype, [evaluate(e, sizes) for e in shape], scale))
            case ScalarArg(dtype=dtype):
                weak = isinstance(kind, ScalarType) and kind.weak
                given = integers.get(number)
                values.append(_number(rng, dtype, given, weak, scale))
            case ConstArg(value=value):
                values.append(kind.known if isinstance(kind, ConstType) else value)
            case _:
                assert_never(argument)
    return tuple(values)


def laid_out(values: Values, signature: Signature) -> Values:
    """Return copies of arguments, with gaps between elements where the signature allows these.

    NumPy's `reshape` and `ravel` are views or copies by how an array lies in memory.
    """
    found = [copy.deepcopy(value) for value in values]
    for number, (argument, value) in enumerate(zip(signature.arguments, values, strict=False)):
        if isinstance(argument, ArrayArg) and argument.layout is not Layout.C:
            found[number] = _with_gaps(value, argument.layout)
    return tuple(found)


def _with_gaps(array: np.ndarray[Any, Any], layout: Layout) -> np.ndarray[Any, Any]:
    steps = [2] * array.ndim
    if layout is Layout.ROWS:
        steps[-1] = 1
    wide = np.zeros([n * step for n, step in zip(array.shape, steps, strict=True)], array.dtype)
    part = wide[tuple([slice(None, None, step) for step in steps])]
    part[...] = array
    return part


# -- sizes --------------------------------------------------------------------------------------


def _sizes(signature: Signature, rng: np.random.Generator, most: int) -> dict[str, int] | None:
    """Return sizes that the checks accept: drawn, then repaired where a check says how."""
    for attempt in range(ATTEMPTS):
        common = int(rng.integers(0, most + 1))
        sizes: dict[str, int] = {}
        for size in signature.sizes:
            is_integer = isinstance(size, IntegerOf)
            low, high = (-2, most + 2) if is_integer and attempt % 3 == 2 else (0, most + 1)
            own = int(rng.integers(low, high))
            sizes[size.param] = common if attempt % 4 == 0 and not is_integer else own
        for _ in range(ROUNDS):
            if not _complete(signature, sizes):
                break
            broken = next(
                (c.condition for c in signature.checks if not evaluate(c.condition, sizes)), None
            )
            if broken is None:
                return sizes
            if not _repaired(broken, sizes, rng, 2 * most + 3):
                break
    return None


def _complete(signature: Signature, sizes: dict[str, int]) -> bool:
    """Add computed sizes; tell whether all shapes are such."""
    try:
        for computed in signature.computed:
            sizes[computed.param] = evaluate(computed.value, sizes)
        shapes = [a.shape for a in signature.arguments if isinstance(a, ArrayArg)]
        return all(evaluate(extent, sizes) >= 0 for shape in shapes for extent in shape)
    except (ZeroDivisionError, KeyError):
        return False


def _repaired(condition: Expr, sizes: dict[str, int], rng: np.random.Generator, most: int) -> bool:
    """Change one size that a broken condition names, to what it asks for if that is plain."""
    match condition:
        case Binary(op=BinaryOp.AND, left=left, right=right):
            part = left if not evaluate(left, sizes) else right
            return _repaired(part, sizes, rng, most)
        case (
            Compare(op=CompareOp.EQ, left=Param(name=name), right=other)
            | Compare(op=CompareOp.EQ, left=other, right=Param(name=name))
        ):
            sizes[name] = evaluate(other, sizes)
            return abs(sizes[name]) <= most
        case _:
            pass
    names = sorted(params(condition) & set(sizes))
    for name in rng.permutation(names) if names else ():
        for change in (1, -1, 2, -2, 3, -3):
            if evaluate(condition, {**sizes, str(name): sizes[str(name)] + change}):
                sizes[str(name)] += change
                return True
    if not names:
        return False
    sizes[str(rng.choice(names))] += int(rng.choice((-1, 1)))
    return True


# -- contents -----------------------------------------------------------------------------------


def _number(
    rng: np.random.Generator, dtype: DType, given: int | None, weak: bool, scale: Scale
) -> Any:  # noqa: ANN401
    """Return a scalar argument: a number of Python's where `weak`; integers are small."""
    if given is not None:
        return given if weak else dtype.numpy.type(given)
    if weak and dtype.is_integer:
        return int(rng.integers(-3, 6))
    plain = Scale(scale.size, odd=scale.odd and not dtype.is_integer)
    number = _array(rng, dtype, [], plain)[()]
    return number.item() if weak and not dtype.is_half else number


def _array(
    rng: np.random.Generator, dtype: DType, shape: Sequence[int], scale: Scale
) -> np.ndarray[Any, Any]:
    """Return random elements: numbers that sums are exact of, plain ones, or odd ones."""
    mood = int(rng.integers(0, 3))
    match dtype.kind:
        case Kind.BOOL:
            return np.asarray(rng.integers(0, 2, shape)).astype(dtype.numpy)
        case Kind.SIGNED | Kind.UNSIGNED:
            limits = np.iinfo(dtype.value)
            low = 0 if dtype.kind is Kind.UNSIGNED or mood == 0 else -3
            high = max(1, min([scale.size, *shape])) if mood == 0 else scale.size + 2
            made = np.asarray(rng.integers(low, high, shape)).astype(dtype.numpy)
            top = min(int(limits.max), 2**62 + 1)  # one more or less is still an int64
            return _with_odd(rng, made, (max(int(limits.min), -top), top, 0), scale)
        case Kind.FLOAT | Kind.COMPLEX:
            made = _reals(rng, mood, shape)
            if dtype.kind is Kind.COMPLEX:
                made = made + 1j * _reals(rng, mood, shape)
            with np.errstate(all="ignore"):
                made = made.astype(dtype.numpy)
                return _with_odd(rng, made, _odd_floats(dtype), scale)
        case _:
            assert_never(dtype.kind)


def _reals(rng: np.random.Generator, mood: int, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    whole = np.asarray(rng.integers(-4, 5, shape)).astype(np.float64)
    match mood:
        case 0:
            return whole
        case 1:
            return np.asarray(rng.uniform(0.5, 2.0, shape))
        case _:
            return np.asarray(rng.standard_normal(shape))


def _odd_floats(dtype: DType) -> tuple[complex, ...]:
    real = np.dtype(dtype.numpy.type(0).real.dtype) if dtype.kind is Kind.COMPLEX else dtype.numpy
    if dtype.is_half:
        return (np.nan, np.inf, -np.inf, -0.0, 0.0, 6e4, -6e4)
    info = np.finfo(real)
    tiny = float(info.smallest_subnormal)
    found: tuple[complex, ...] = (
        np.nan, np.inf, -np.inf, -0.0, 0.0, tiny, -tiny, float(info.max), float(info.min)
    )  # fmt: skip
    return (*found, complex(-0.0, np.nan), 1j) if dtype.kind is Kind.COMPLEX else found


def _with_odd(
    rng: np.random.Generator, array: np.ndarray[Any, Any], odd: Sequence[Any], scale: Scale
) -> np.ndarray[Any, Any]:
    """Put odd values in a quarter of the places."""
    if not scale.odd or array.size == 0:
        return array
    picked = rng.random(array.shape) < 0.25
    chosen = np.array([odd[n] for n in rng.integers(0, len(odd), int(picked.sum()))])
    if chosen.size:
        with np.errstate(all="ignore"):
            array[picked] = chosen.astype(array.dtype)
    return array
