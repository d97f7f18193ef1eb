"""Faults of the front end: what it reads is not the function.

In: nothing.  Out: `MUTANTS`; each is seen by Python as the oracle and by the second reader.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from polyopt.errors import PolyoptError
from polyopt.frontend.arithmetic import elementwise
from polyopt.frontend.numpy import axis_reductions, reductions, scans, ufuncs
from polyopt.frontend.numpy.axis_reductions import REDUCERS, Reducer
from polyopt.frontend.numpy.ufuncs import UFUNCS
from polyopt.frontend.reader import assignments, attributes, calls, expressions, loops
from polyopt.frontend.reader.pyfunc import build
from polyopt.frontend.subscripts import basic, strides
from polyopt.frontend.syntax import structure
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.frontend.values import promote
from polyopt.ir.expr import BinaryOp, Cast, Unary, UnaryOp
from polyopt.ir.types import DType
from polyopt.verifying import verify_program
from tests.mutants import reads
from tests.mutants.layers import Layer
from tests.mutants.mutant import Mutant
from tests.mutants.planting import Edit, Entry, Field, Misread, Plant
from tests.reader.cases import read_samples
from tests.reader.reading import Verdict


def verified(function: Callable[..., Any]) -> str | None:
    """Return where Program and function differ; None where they agree, or nothing is read."""
    types = infer_types(function)
    try:
        program = build(function, types)
    except PolyoptError:
        return None  # refused: no wrong program is made
    found = verify_program(function, program, types, samples=30)
    return None if found.ok else str(found)


def read_twice(function: Callable[..., Any]) -> str | None:
    """Return where the two readings differ."""
    types = infer_types(function)
    try:
        program = build(function, types)
    except PolyoptError:
        return None
    found = read_samples(function, program, types, count=16)
    if found.verdict is Verdict.UNREAD:
        return None
    return found.text if found.verdict is Verdict.UNEQUAL else None


# -- other trees --------------------------------------------------------------------------------


class _Rewrite(ast.NodeTransformer):
    """`change(node)` in the place of every node that it changes."""

    def __init__(self, change: Callable[[Any], Any]) -> None:
        self.change = change

    def visit(self, node: ast.AST) -> Any:
        found = self.change(self.generic_visit(node))
        return [ast.Pass()] if found is None else found


def tree(change: Callable[[Any], Any]) -> Plant:
    """Return the plant that reads another tree; `change` gives None to drop a statement."""

    def whole(function: ast.FunctionDef) -> ast.FunctionDef:
        made: ast.FunctionDef = _Rewrite(change).visit(function)
        return made

    return Misread(whole)


def _without_else(node: Any) -> Any:
    return ast.If(node.test, node.body, []) if isinstance(node, ast.If) else node


def _shorter(node: Any) -> Any:
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[*rest, last]) if len(rest) < 2:
            return ast.Call(node.func, [*rest, ast.BinOp(last, ast.Sub(), ast.Constant(1))], [])
        case _:
            return node


def _other_axis(node: Any) -> Any:
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=[one, ast.Constant(value=None) as two])):
            return ast.Subscript(node.value, ast.Tuple([two, one], ast.Load()), node.ctx)
        case _:
            return node


def _copied_view(node: Any) -> Any:
    match node:
        case ast.Assign(targets=[ast.Name()], value=ast.Subscript(slice=ast.Slice())):
            copied = ast.Call(ast.Attribute(node.value, "copy", ast.Load()), [], [])
            return ast.Assign(node.targets, copied)
        case _:
            return node


def _not_copied(node: Any) -> Any:
    match node:
        case ast.Call(func=ast.Attribute(attr="copy", value=value)):
            return value
        case _:
            return node


def _one_after_other(node: Any) -> Any:
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=ones)], value=ast.Tuple(elts=others)):
            return [ast.Assign([o], v) for o, v in zip(ones, others, strict=True)]
        case _:
            return node


def _second_binding_lost(node: Any) -> Any:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=left))):
            return None if name == left else node
        case _:
            return node


def _looser_minus(node: Any) -> Any:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.BinOp(op=ast.Pow()) as power):
            return ast.BinOp(ast.UnaryOp(ast.USub(), power.left), ast.Pow(), power.right)
        case _:
            return node


def _first_comparison(node: Any) -> Any:
    match node:
        case ast.Compare(ops=[op, _, *_]):
            return ast.Compare(node.left, [op], node.comparators[:1])
        case _:
            return node


def _bitwise(node: Any) -> Any:
    match node:
        case ast.BoolOp(op=ast.And(), values=[one, two]):
            return ast.BinOp(one, ast.BitAnd(), two)
        case _:
            return node


def _no_return(node: Any) -> Any:
    match node:
        case ast.If(body=[ast.Return()]):
            return None
        case _:
            return node


def _stale_global(node: Any) -> Any:
    return ast.Constant(1.0) if isinstance(node, ast.Name) and node.id == "FACTOR" else node


def _without_not(node: Any) -> Any:
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return inner
        case _:
            return node


def _unstepped(node: Any) -> Any:
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[one, two, _]):
            return ast.Call(node.func, [one, two], [])
        case _:
            return node


def _both_branches_swapped(node: Any) -> Any:
    if isinstance(node, ast.IfExp):
        return ast.IfExp(node.test, node.orelse, node.body)
    return node


def _late(node: Any) -> Any:
    """`x[1:] += x[:-1]` one element after the other."""
    match node:
        case ast.AugAssign(target=ast.Subscript(slice=ast.Slice())):
            return ast.parse("for k in range(1, len(x)):\n    x[k] += x[k - 1]").body
        case _:
            return node


def _from_the_front(node: Any) -> Any:
    match node:
        case ast.Subscript(slice=ast.UnaryOp(op=ast.USub())):
            return ast.Subscript(node.value, ast.Constant(0), node.ctx)
        case _:
            return node


# -- other rules --------------------------------------------------------------------------------


def ufunc(name: str, rule: Callable[..., Any]) -> Plant:
    """Return the plant of another rule of one element."""
    return Field(UFUNCS[name], "rule", rule)


def _swapped(args: Any, out: DType) -> Any:
    return ufuncs._subtract(args[::-1], out)


def _towards_zero(args: Any, out: DType) -> Any:
    minus = Unary(UnaryOp.NEG, args[0], out)
    return Unary(UnaryOp.NEG, ufuncs._divided(BinaryOp.FLOORDIV, (minus, args[1]), out), out)


def _through_floats(args: Any, out: DType) -> Any:
    wide = Cast(args[0], DType.FLOAT64)
    return Cast(Unary(UnaryOp.ABS, wide, DType.FLOAT64), out)


def edit(function: Any, *changes: tuple[str, str]) -> Plant:
    """Return the plant of other text in a function of the front end."""
    return Edit(function, changes)


_NUMBERS = count(101)


def mutant(says: str, function: Callable[..., Any], *plants: Plant) -> Mutant:
    """Return a mutant that both layers see on `function`."""
    looks = (
        (Layer.VERIFY, partial(verified, function)),
        (Layer.READER, partial(read_twice, function)),
    )
    return Mutant(next(_NUMBERS), says, plants, (Layer.VERIFY, Layer.READER), seen=looks)


MUTANTS = (
    mutant(
        "a sum of small integers is as narrow as they are",
        reads.row_sums,
        edit(axis_reductions.summation_dtype, ("return DType.INT64", "return dtype")),
    ),
    mutant(
        "a sum of unsigned numbers is signed",
        reads.unsigned_sum,
        edit(axis_reductions.summation_dtype, ("return DType.UINT64", "return DType.INT64")),
    ),
    mutant("`else` is lost", reads.signs, tree(_without_else)),
    mutant("operands are swapped", reads.difference, ufunc("subtract", _swapped)),
    mutant("a name keeps its first value", reads.rebound, tree(_second_binding_lost)),
    mutant(
        "a product of integers is one of floats",
        reads.integer_product,
        Field(UFUNCS["multiply"], "ufunc", np.divide),
    ),
    mutant(
        "Python's numbers are as strong as NumPy's",
        reads.single_scaled,
        edit(elementwise.operand_kinds, ("v.weak and", "False and")),
    ),
    mutant("a range ends too early", reads.prefix, tree(_shorter)),
    mutant(
        "a slice backwards starts one too late",
        reads.backwards,
        edit(basic._cut_from_front, ("plus(extent, -1), extent", "plus(extent, -2), extent")),
    ),
    mutant(
        "another axis goes away",
        reads.along,
        edit(
            axis_reductions.normal_axes, ("found.add(axis % rank)", "found.add((axis + 1) % rank)")
        ),
    ),
    mutant(
        "`keepdims=` is ignored",
        reads.normalized,
        edit(
            reductions.request,
            ('known_bool(found.get("keepdims", NONE), "keepdims", args.loc)', "False"),
        ),
    ),
    mutant("another dimension is broadcast", reads.weighted_rows, tree(_other_axis)),
    mutant("a view is read as a copy", reads.through_view, tree(_copied_view)),
    mutant("a copy is read as a view", reads.through_copy, tree(_not_copied)),
    mutant(
        "values of a tuple are read after targets were written",
        reads.exchanged,
        edit(assignments.assign, ("_changes_memory(frame, targets[0])", "False")),
    ),
    mutant("targets of a tuple are assigned in turn", reads.exchanged, tree(_one_after_other)),
    mutant("an update reads what it has written", reads.shifted, tree(_late)),
    mutant(
        "a `while` tests what held before the iteration",
        reads.counted,
        edit(
            loops._read_turn,
            ("        frame.reader.block(b, frame, node.body)\n        if", "        if"),
            (
                "again.expr if isinstance(again, Number) else FALSE)",
                "again.expr if isinstance(again, Number) else FALSE)\n"
                "        frame.reader.block(b, frame, node.body)",
            ),
        ),
    ),
    mutant(
        "a group of iterations runs on behind the end of its loop",
        reads.exchanged_until,
        edit(loops._read_turn, ("TRUE if number == 0 else going", "TRUE")),
    ),
    mutant(
        "arrays that change places are those of another iteration after the loop",
        reads.exchanged_until,
        edit(loops._read_turn, ("(number + 1) % period", "number")),
    ),
    mutant(
        "`break` does not end the loop",
        reads.first_large,
        edit(
            structure.Rewriter._jumps,
            ("self._flag(flag, False, node)", "self._flag(flag, True, node)"),
        ),
    ),
    mutant(
        "a loop variable is one too large after its loop",
        reads.last_index,
        edit(loops._last_value, ("plus(trips(b, loop), -1)", "trips(b, loop)")),
    ),
    mutant(
        "a parameter gets another one's default",
        reads.defaulted,
        edit(
            calls.bind_arguments,
            (
                "Known(parameter.default)",
                "Known([p.default for p in signature.parameters.values()][1])",
            ),
        ),
    ),
    mutant(
        "keywords are bound in their order",
        reads.by_keywords,
        edit(calls.bind_arguments, ("**args.keywords)", "*args.keywords.values())")),
    ),
    mutant("`//` truncates", reads.floored, ufunc("floor_divide", _towards_zero)),
    mutant(
        "`%` has the dividend's sign", reads.remainders, ufunc("remainder", UFUNCS["fmod"].rule)
    ),
    mutant("`-x**2` is the square of `-x`", reads.minus_square, tree(_looser_minus)),
    mutant("a chain of comparisons ends early", reads.between, tree(_first_comparison)),
    mutant("`and` is bitwise", reads.both_set, tree(_bitwise)),
    mutant("a maximum ignores NaN", reads.larger, ufunc("maximum", UFUNCS["fmax"].rule)),
    mutant("a magnitude goes through floats", reads.magnitudes, ufunc("absolute", _through_floats)),
    mutant(
        "a constant's last bit is another one in float32",
        reads.tenth,
        edit(
            promote.convert_constant,
            (
                "float(dtype.numpy.type(expr.value))",
                "float(np.nextafter(dtype.numpy.type(expr.value), dtype.numpy.type(0)))",
            ),
        ),
    ),
    mutant("`conj` does nothing", reads.conjugated, ufunc("conjugate", ufuncs._same)),
    mutant(
        "a slice's end is not clipped",
        reads.head,
        edit(basic._cut_clipped, ("return found or exact", "return start, integer(3)")),
        edit(
            strides.clipped,
            (
                "select(less(bound, ZERO), maximum(plus(bound, size), low), minimum(bound, high))",
                "select(less(bound, ZERO), maximum(plus(bound, size), low), "
                "minimum(bound, plus(high, -1)))",
            ),
        ),
    ),
    mutant("a negative subscript counts from the front", reads.ends, tree(_from_the_front)),
    mutant(
        "a product of nothing is 0",
        reads.product_of_none,
        Entry(REDUCERS, "prod", Reducer(BinaryOp.MUL, 0)),
    ),
    mutant(
        "the last of equal elements is found",
        reads.best,
        edit(
            scans._place_of_extreme,
            ("integer(1 << 62)", "integer(-1)"),
            ("Fold(BinaryOp.MIN,", "Fold(BinaryOp.MAX,"),
        ),
    ),
    mutant(
        "`where=` is ignored",
        reads.where_positive,
        edit(reductions.request, ('where = found.get("where", NONE)', "where = NONE")),
    ),
    mutant(
        "`dtype=` is ignored",
        reads.widened,
        edit(reductions.request, ('dtype(found.get("dtype", NONE), args.loc)', "None")),
    ),
    mutant("an early `return` is lost", reads.early, tree(_no_return)),
    mutant("a global keeps an older value", reads.by_global, tree(_stale_global)),
    mutant(
        "a global hides an argument",
        reads.shadowed,
        edit(
            expressions.lookup,
            (
                "found = frame.env.get(name)",
                "found = (Known(frame.function.globals[name]) if name in frame.function.globals "
                "and name in frame.env else frame.env.get(name))",
            ),
        ),
    ),
    mutant(
        "a helper's locals leak",
        reads.leaking,
        edit(
            calls._inlined,
            (
                "b.titles, b.loc, b.text = titles, loc, text",
                "b.titles, b.loc, b.text = titles, loc, text\n"
                "    frame.env.update({n: v for n, v in inner.env.items() if n in frame.env})",
            ),
        ),
    ),
    mutant(
        "`initial=` is ignored",
        reads.started,
        edit(reductions.request, ('given = found.get("initial", NONE)', "given = NONE")),
    ),
    mutant(
        "a loop's `else` runs after a `break`",
        reads.otherwise,
        edit(
            structure.Rewriter._loop,
            (
                "result.append(_placed(ast.If(ast.Name(flag, ast.Load()), after, []), node))",
                "result += after",
            ),
        ),
    ),
    mutant(
        "`continue` does not end the iteration",
        reads.skipping,
        edit(
            structure.Rewriter._jumps,
            (
                "            return result\n        if isinstance(node, ast.Break)",
                "            continue\n        if isinstance(node, ast.Break)",
            ),
        ),
    ),
    mutant("`not` is lost", reads.negated, tree(_without_not)),
    mutant("a range's step is lost", reads.stepped, tree(_unstepped)),
    mutant("a range backwards ends too early", reads.descending, tree(lambda n: _ends_at_zero(n))),
    mutant(
        "a transpose is the array itself",
        reads.transposed,
        edit(
            attributes._array_attribute,
            ("frontend.numpy.reshaping.transposed(forced(b, array))", "forced(b, array)"),
        ),
    ),
    mutant(
        "branches of a conditional expression are swapped",
        reads.conditional,
        tree(_both_branches_swapped),
    ),
    mutant("a sum starts at 1", reads.along, Entry(REDUCERS, "sum", Reducer(BinaryOp.ADD, 1))),
)


def _ends_at_zero(node: Any) -> Any:
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[one, ast.UnaryOp(), step]):
            return ast.Call(node.func, [one, ast.Constant(0), step], [])
        case _:
            return node
