"""Python expressions -> values.

In: an expression's tree, the frame, the builder.  Out: a value; calls may emit statements.
Refuses: each construct outside the supported set with its own code.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence as Items

import numpy as np

from polyopt import frontend
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.operators import BINARY, UNARY, describe, operand, operate
from polyopt.frontend.integers.affine_integers import negated
from polyopt.frontend.numpy import call_arguments
from polyopt.frontend.numpy.call_arguments import Arguments
from polyopt.frontend.numpy.products import matmul
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.decisions import decided
from polyopt.frontend.program.memory import buffers_read, forced, settled
from polyopt.frontend.program.snapshots import picked_side
from polyopt.frontend.reader.attributes import attribute_of, key_in
from polyopt.frontend.reader.calls import call_value
from polyopt.frontend.reader.closures import Closure, call_closure, closure_of
from polyopt.frontend.reader.comprehensions import Generated, Grown, comprehension, unrolled
from polyopt.frontend.reader.conditions import (
    both_or_either,
    chained,
    chosen_side,
    compared,
    computed_once,
    held,
    inverted,
    number_of,
    operand_under,
    truth,
)
from polyopt.frontend.subscripts.basic import At, Mask, Part, select_parts
from polyopt.frontend.subscripts.index_arrays import is_fancy, is_mask_of, taken
from polyopt.frontend.subscripts.masks import picked, plain, through
from polyopt.frontend.subscripts.subscript_parts import is_tuple, part_of, slice_part
from polyopt.frontend.syntax.liveness import binds
from polyopt.frontend.syntax.structure import texts_of
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import as_sequence, beside_arrays, table_of, value_of_global
from polyopt.frontend.values.records import Record
from polyopt.frontend.values.values import (
    Gone,
    Growing,
    Known,
    Masked,
    Number,
    Perhaps,
    Sequence,
    Slice,
    Tensor,
    Value,
    as_tensor,
    as_value,
    is_view,
    item_of,
)
from polyopt.frontend.variables import lists
from polyopt.frontend.variables.alternatives import choose
from polyopt.frontend.variables.binding import bind, kept
from polyopt.frontend.variables.call_frames import Frame
from polyopt.frontend.variables.growing import as_array
from polyopt.ir.clock import checkpoint
from polyopt.ir.expr import Const
from polyopt.ir.types import DType

_REFUSED: dict[type[ast.expr], tuple[str, str, str]] = {
    ast.SetComp: ("PO0114", "a set comprehension", "fill an array in a loop"),
    ast.DictComp: ("PO0114", "a dict comprehension", "fill an array in a loop"),
    ast.Dict: ("PO0115", "a dict whose keys are not texts", "use an array, or texts: {'x': x}"),
    ast.Set: ("PO0115", "a set", "use an array"),
    ast.JoinedStr: ("PO0116", "a formatted string", "format the result outside the kernel"),
    ast.Await: ("PO0113", "`await`", "compute the value outside the kernel"),
    ast.Yield: ("PO0113", "`yield`", "write the results into an array and return it"),
    ast.YieldFrom: ("PO0113", "`yield from`", "write the results into an array and return it"),
    ast.Starred: ("PO0126", "a starred expression", "write the items one by one"),
}


def evaluate(b: Builder, frame: Frame, node: ast.expr) -> Value:  # noqa: C901  one case per node
    """Return the value of an expression."""
    checkpoint()
    if node in b.evaluated:
        return b.evaluated.pop(node)
    loc = frame.loc(node)
    match node:
        case ast.Constant(value=value):
            return Known(value)
        case ast.Name(id=name):
            return lookup(b, frame, name, loc)
        case ast.Dict(values=parts) if (keys := texts_of(node)) is not None:
            return Known(Record(dict, dict(zip(keys, evaluate_all(b, frame, parts), strict=True))))
        case ast.Attribute():
            base = evaluate(b, frame, node.value)
            called = ast.copy_location(ast.Call(node, [], []), node)
            return attribute_of(b, base, node, loc, lambda f, a: call_value(b, frame, f, a, called))
        case ast.Subscript():
            return _subscript(b, frame, node)
        case ast.BinOp(left=left, op=op, right=right):
            mask = _mask(b, frame, node)
            found = evaluate_all(b, frame, (left, right))
            of_lists = lists.operated(b, BINARY.get(type(op), "matmul"), found, loc)
            if of_lists is not None:
                return of_lists
            values = beside_arrays(b, found, loc)
            if isinstance(op, ast.MatMult):
                sides = tuple(settled(b, operand(plain(b, value), loc)) for value in values)
                return matmul(b, sides[0], sides[1], loc)
            name = BINARY[type(op)]
            b.node = node
            if mask is not None:
                return operate(b, "bitwise_and", (values[0], Known(mask)), loc)
            wraps = node in b.wrapping
            return through(b, values, lambda v: operate(b, name, v, loc, wraps=wraps), loc)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return inverted(truth(b, evaluate(b, frame, inner), frame.loc(inner)))
        case ast.UnaryOp(op=op, operand=inner):
            name = UNARY[type(op)]
            only = evaluate(b, frame, inner)
            lists.operated(b, name, (only,), loc)
            b.node = node
            wraps = node in b.wrapping
            return through(b, (only,), lambda plain: operate(b, name, plain, loc, wraps=wraps), loc)
        case ast.BoolOp():
            return _bool_op(b, frame, node)
        case ast.Compare():
            return _comparison(b, frame, node)
        case ast.IfExp():
            return _conditional(b, frame, node)
        case ast.Call():
            return _call(b, frame, node)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            items = _spliced(b, frame, parts)
            return Sequence(items, isinstance(node, ast.List))
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            bind(b, frame, name, evaluate(b, frame, value), node)
            return lookup(b, frame, name, loc)
        case ast.Lambda():
            return closure_of(b, frame, node, evaluate)
        case ast.ListComp() | ast.GeneratorExp():
            return comprehension(b, frame, node, evaluate, _grown(b))
        case _:
            code, what, hint = _REFUSED.get(
                type(node),
                ("PO0127", f"`{ast.unparse(node)}`", "write it with operators, calls and names"),
            )
            refuse(code, f"{what} is not supported in a kernel", loc, hint)


def _grown(b: Builder) -> Grown:
    return lambda frame, node, source: frontend.reader.filtered_comprehensions.filtered(
        b, frame, node, source, evaluate, truth
    )


def _mask(b: Builder, frame: Frame, node: ast.BinOp) -> int | None:
    """Return the bits that are all `node` keeps of Python's integers, whose operators may wrap."""
    if not isinstance(
        node.op, ast.BitAnd | ast.Mod
    ) or not frontend.arithmetic.modular_sums.is_constant(node.right):
        return None
    operators, operands = frontend.arithmetic.modular_sums.ring_parts(node.left)
    if not operators:
        return None
    mask = frontend.arithmetic.modular_sums.mask_of(node.op, evaluate(b, frame, node.right))
    if mask is None:
        return None
    values = evaluate_all(b, frame, operands)
    b.evaluated.update(zip(operands, values, strict=True))
    if not all(
        map(frontend.arithmetic.modular_sums.is_python_integer, values)
    ) or frontend.arithmetic.modular_sums.fits(b, node.left, iter(values)):
        return None
    b.wrapping.update(operators)
    return mask


def _spliced(b: Builder, frame: Frame, nodes: Items[ast.expr]) -> tuple[Value, ...]:
    """Return the values; those of a starred tuple one by one."""
    plain = [node.value if isinstance(node, ast.Starred) else node for node in nodes]
    values = evaluate_all(b, frame, plain)
    result: list[Value] = []
    for node, value in zip(nodes, values, strict=True):
        if not isinstance(node, ast.Starred):
            result.append(value)
            continue
        items = unrolled(b, value, frame.loc(node))
        if items is None:
            hint = "write the items one by one"
            refuse("PO0126", f"`*` before {describe(value)}", frame.loc(node), hint)
        result += items
    return tuple(result)


def evaluate_all(b: Builder, frame: Frame, nodes: Items[ast.expr]) -> tuple[Value, ...]:
    """Return the values left to right; a call that writes what an earlier one reads is refused."""
    values: list[Value] = []
    starts: list[int] = []
    for node in nodes:
        values.append(evaluate(b, frame, node))
        starts.append(len(b.drafts))
    for node, value, start in zip(nodes, values, starts, strict=True):
        if start < len(b.drafts) and isinstance(value, Number | Tensor):
            written = {draft.target.array for draft in b.drafts[start:]}
            if written & buffers_read(value):
                hint = "make the call in a statement of its own"
                message = "a call in this expression changes an array that this part reads"
                refuse("PO0128", message, frame.loc(node), hint)
    return tuple(values)


# -- names and attributes ---------------------------------------------------------------------


def lookup(b: Builder, frame: Frame, name: str, loc: Loc | None) -> Value:
    """Return what a name stands for: local, global or builtin."""
    found = frame.env.get(name)
    if isinstance(found, Gone):
        return frontend.variables.unbound.learn(b, found, loc)
    if isinstance(found, Perhaps):
        return frontend.variables.unbound.value_of(b, name, found, loc)
    if isinstance(found, Growing):
        return as_array(b, found, loc)
    if found is not None:
        return found
    if name in frame.locals:
        hint = (
            frontend.syntax.advice.did_you_mean(name, set(frame.env) - {name})
            or "assign it before, on every path"
        )
        refuse("PO0125", f"`{name}` may have no value here", loc, hint)
    if name in frame.function.globals:
        return value_of_global(b, name, frame.function.globals[name], loc)
    if hasattr(builtins, name):
        return Known(getattr(builtins, name))
    near = frontend.syntax.advice.did_you_mean(
        name, {*frame.env, *frame.function.globals, *frontend.syntax.advice.builtin_names()}
    )
    hint = near or "define it before the function is compiled"
    refuse("PO0124", f"`{name}` is not defined", loc, hint)


# -- subscripts -------------------------------------------------------------------------------


def _subscript(b: Builder, frame: Frame, node: ast.Subscript) -> Value:
    loc = frame.loc(node)
    base = plain(b, evaluate(b, frame, node.value))
    if isinstance(base, Generated) and base.is_list:
        base = kept(b, "items", base)
    match base:
        case Tensor():
            name = ast.unparse(node.value)
            parts = parts_of(b, frame, node)
            if len(parts) == 1 and is_mask_of(parts[0], base):
                assert isinstance(parts[0], Mask)
                return picked(b, forced(b, base), parts[0].flags, name, loc)
            if is_fancy(parts):
                found = taken(b, base, parts, name, loc)
                return found if isinstance(found, Masked) else as_value(found)
            part = select_parts(b, forced(b, base), parts, name, loc)
            if not lists.is_list(base):  # `x[0, ...]` is an array without dimensions
                return as_value(part) if all(isinstance(p, At) for p in parts) else part
            return item_of(base, as_value(lists.cut_out(b, part, parts)))
        case Known(value=known) if known is np.r_ or known is np.c_:
            return frontend.numpy.joining.rows_or_columns(
                b, _joined_parts(b, frame, node.slice), known is np.c_, loc
            )
        case Known(value=known) if known is np.mgrid or known is np.ogrid:
            return frontend.numpy.grids.grid(
                b, _grid_parts(b, frame, node.slice), known is np.ogrid, loc
            )
        case _:
            return _item_of(b, frame, base, node)


def _item_of(b: Builder, frame: Frame, base: Value, node: ast.Subscript) -> Value:
    """Return an item of a tuple or a list, or an entry of a dict."""
    loc = frame.loc(node)
    match as_sequence(base):
        case Sequence(items=items):
            return _item(b, frame, items, node)
        case Known(value=dict() as known):
            key = key_in(known, evaluate(b, frame, node.slice), loc)
            return value_of_global(b, ast.unparse(node), known[key], loc)
        case Known(value=Record(fields=fields) as owner) if owner.kind is dict:
            return fields[str(key_in(fields, evaluate(b, frame, node.slice), loc))]
        case _:
            refuse("PO0135", f"a subscript of {describe(base)}", loc, "subscript arrays and tuples")


def _joined_parts(
    b: Builder, frame: Frame, node: ast.expr
) -> list[Value | frontend.numpy.grids.GridPart]:
    """Return what stands between the brackets of np.r_: values and ranges."""
    return [
        _grid_part(b, frame, part) if isinstance(part, ast.Slice) else evaluate(b, frame, part)
        for part in (node.elts if isinstance(node, ast.Tuple) else [node])
    ]


def _grid_parts(b: Builder, frame: Frame, node: ast.expr) -> list[frontend.numpy.grids.GridPart]:
    """Return the slices between the brackets of np.mgrid."""
    parts: list[frontend.numpy.grids.GridPart] = []
    for part in node.elts if isinstance(node, ast.Tuple) else [node]:
        if not isinstance(part, ast.Slice):
            hint = "write slices: np.mgrid[0:n, 0:m]"
            refuse("PO0135", "a subscript of np.mgrid that is no slice", frame.loc(part), hint)
        parts.append(_grid_part(b, frame, part))
    return parts


def _grid_part(b: Builder, frame: Frame, node: ast.Slice) -> frontend.numpy.grids.GridPart:
    bounds = (node.lower, node.upper, node.step)
    found = [Known(None) if p is None else evaluate(b, frame, p) for p in bounds]
    return frontend.numpy.grids.GridPart(*found)


def _item(b: Builder, frame: Frame, items: tuple[Value, ...], node: ast.Subscript) -> Value:
    loc = frame.loc(node)
    if isinstance(node.slice, ast.Slice):
        cut = node.slice
        bounds = [
            None
            if p is None
            else call_arguments.known_int(b, evaluate(b, frame, p), "a tuple's slice", loc)
            for p in (cut.lower, cut.upper, cut.step)
        ]
        return Sequence(items[slice(*bounds)])
    subscript = evaluate(b, frame, node.slice)
    if isinstance(subscript, Number) and not isinstance(subscript.expr, Const):
        table = table_of(b, items, loc)
        if table is not None:
            text = ast.unparse(node.slice)
            part = part_of(b, subscript, text, frame.loc(node.slice))
            found = as_value(select_parts(b, table, [part], ast.unparse(node.value), loc))
            return Number(found.expr, table.weak) if isinstance(found, Number) else found
    index = call_arguments.known_int(b, subscript, "a tuple's subscript", loc)
    if not -len(items) <= index < len(items):
        hint = f"use 0 to {len(items) - 1}, or negative subscripts from the end"
        refuse("PO0135", f"subscript {index} of a tuple of {len(items)}", loc, hint)
    return items[index]


def parts_of(b: Builder, frame: Frame, node: ast.Subscript) -> list[Part]:
    """Return what stands between the brackets."""
    inner = node.slice
    if isinstance(inner, ast.Tuple):
        return [_part(b, frame, part) for part in inner.elts]
    if isinstance(inner, ast.Slice):
        return [_part(b, frame, inner)]
    value, text = evaluate(b, frame, inner), ast.unparse(inner)
    if is_tuple(value):
        items = as_sequence(value)
        assert isinstance(items, Sequence)
        return [part_of(b, item, text, frame.loc(inner)) for item in items.items]
    return [part_of(b, value, text, frame.loc(inner))]


def _part(b: Builder, frame: Frame, node: ast.expr) -> Part:
    loc = frame.loc(node)
    if not isinstance(node, ast.Slice):
        return part_of(b, evaluate(b, frame, node), ast.unparse(node), loc)
    bounds = [
        Known(None) if part is None else evaluate(b, frame, part)
        for part in (node.lower, node.upper, node.step)
    ]
    return slice_part(b, Slice(*bounds), ast.unparse(node), loc)


# -- conditions -------------------------------------------------------------------------------


def _bool_op(b: Builder, frame: Frame, node: ast.BoolOp) -> Value:
    """`and`, `or`: one of the operands; later ones are read only where earlier leave it open."""
    is_and = isinstance(node.op, ast.And)
    first, *rest = node.values
    value = computed_once(b, evaluate(b, frame, first))
    left = truth(b, value, frame.loc(first))
    if not rest or (isinstance(left, Known) and bool(left.value) != is_and):
        return value
    others: ast.expr = ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0]
    ast.copy_location(others, rest[0])
    if isinstance(left, Known):
        return evaluate(b, frame, others)
    left = held(b, left, others)
    open_where = left.expr if is_and else negated(left.expr)
    with operand_under(b, frame, open_where, others):
        other = computed_once(b, evaluate(b, frame, others))
        right = truth(b, other, frame.loc(rest[0]))
        numbers = (number_of(b, value, node, frame), number_of(b, other, node, frame))
    if all(number is None or number.dtype is DType.BOOL for number in numbers):
        if isinstance(right, Known):
            return left if bool(right.value) == is_and else right
        return Number(both_or_either(is_and, left.expr, right.expr), True)
    one, two = numbers
    if one is None or two is None:
        hint = "write a conditional expression: `x if x else y`"
        refuse("PO0161", "operands of `and` or `or` of different kinds", frame.loc(node), hint)
    sides = (two, one) if is_and else (one, two)
    return choose(b, left.expr, *sides, frame.loc(node))


def _comparison(b: Builder, frame: Frame, node: ast.Compare) -> Value:
    loc = frame.loc(node)
    if binds(*node.comparators[1:]):
        hint = "join the comparisons by `and`"
        refuse("PO0127", "a name bound in a comparison that may be left out", loc, hint)
    values = evaluate_all(b, frame, (node.left, *node.comparators))
    result: Value | None = None
    for op, left, right in zip(node.ops, values, values[1:], strict=False):
        single = compared(b, op, left, right, loc)
        if result is None:
            result = single
            continue
        result = chained(b, result, single, loc)
    assert result is not None
    return result


def _conditional(b: Builder, frame: Frame, node: ast.IfExp) -> Value:
    loc = frame.loc(node)
    condition = truth(b, evaluate(b, frame, node.test), frame.loc(node.test))
    known = condition.value if isinstance(condition, Known) else decided(b, condition.expr)
    if known is not None:
        return evaluate(b, frame, node.body if known else node.orelse)
    assert isinstance(condition, Number)
    condition = held(b, condition, node.body, node.orelse)
    expr = condition.expr
    with operand_under(b, frame, expr, node.body):
        then = operand(evaluate(b, frame, node.body), loc)
        one = settled(b, then)
    with operand_under(b, frame, negated(expr), node.orelse):
        otherwise = operand(evaluate(b, frame, node.orelse), loc)
        other = settled(b, otherwise)
    found = chosen_side(b, condition, one, other, loc)
    if isinstance(found, Number) and any(is_view(side) for side in (then, otherwise)):
        return picked_side(b, as_tensor(found), (as_tensor(then), as_tensor(otherwise)), loc)
    return found


# -- calls ------------------------------------------------------------------------------------


TAKERS = (
    builtins.all, builtins.any, builtins.list, builtins.max, builtins.min, builtins.sum,
    builtins.sorted, builtins.tuple,
)  # fmt: skip
"""Functions that take all items of a generator at once, so that it may be a list."""


def _as_list(node: ast.expr) -> ast.expr:
    if not isinstance(node, ast.GeneratorExp):
        return node
    if len(node.generators) == 1 and not node.generators[0].ifs:
        return node
    return ast.copy_location(ast.ListComp(node.elt, node.generators), node)


def _call(b: Builder, frame: Frame, node: ast.Call) -> Value:
    function = evaluate(b, frame, node.func)
    names: list[str] = []
    for keyword in node.keywords:
        if keyword.arg is None:
            refuse("PO0126", "a `**` argument", frame.loc(keyword.value), "write the keywords")
        names.append(keyword.arg)
    nodes = [*node.args, *(keyword.value for keyword in node.keywords)]
    if isinstance(function, Known) and any(function.value is taker for taker in TAKERS):
        nodes = [_as_list(part) for part in nodes]
    values = _spliced(b, frame, nodes)
    count = len(values) - len(node.keywords)
    args = Arguments(
        ast.unparse(node.func),
        values[:count],
        dict(zip(names, values[count:], strict=True)),
        frame.loc(node),
    )
    b.node = node
    if isinstance(function, Known) and isinstance(function.value, Closure):
        return call_closure(b, frame, function.value, args, node, evaluate)
    return call_value(b, frame, function, args, node)
