"""isl's AST as our loop AST; the one module that walks isl's nodes.

In: an `isl.AstNode` or `isl.AstExpr`.  Out: `Expr`, and a plain tree of loops, guards and calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Iter,
    Param,
    Select,
    Unary,
    UnaryOp,
    add,
    integer,
    mul,
    sub,
)
from polyopt.ir.linear import normalize
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class AstFor:
    """`for iterator in range(lower, upper, step)`.

    `mark` is the innermost mark above the loop, `depth` the number of schedule dimensions above it.
    """

    iterator: str
    lower: Expr
    upper: Expr
    step: int
    mark: str
    depth: int
    body: AstBody


@dataclass(frozen=True, slots=True)
class AstIf:
    """`if condition: then else: otherwise`."""

    condition: Expr
    then: AstBody
    otherwise: AstBody


@dataclass(frozen=True, slots=True)
class AstCall:
    """Instance `arguments` of statement `name`."""

    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class AstLet:
    """A loop of one iteration: `iterator` is `value` in the body."""

    iterator: str
    value: Expr
    body: AstBody


AstStep: TypeAlias = AstFor | AstIf | AstCall | AstLet
AstBody: TypeAlias = tuple[AstStep, ...]


FOR = isl.ast_node_type.for_  # type: ignore[attr-defined]
IF = isl.ast_node_type.if_  # type: ignore[attr-defined]


DEPTH = "@"  # isl's iterator at depth 2 is called `@2`: no size can have that name


def with_iterators(build: isl.AstBuild, count: int) -> isl.AstBuild:
    """Return `build` with iterators named by their depth, as `ast_body` needs them."""
    names = isl.IdList.alloc(isl.DEFAULT_CONTEXT, count)
    for depth in range(count):
        names = names.add(isl.Id(f"{DEPTH}{depth}"))
    return build.set_iterators(names)


def ast_body(node: isl.AstNode, params: frozenset[str], mark: str = "") -> AstBody:
    """Return the loops of an isl AST; `params` tells parameters from iterators."""
    kinds = isl.ast_node_type
    kind: object = node.get_type()
    if kind == FOR:
        return (_loop(node, params, mark),)
    if kind == IF:
        condition = expression(node.if_get_cond(), params)
        then = ast_body(node.if_get_then_node(), params, mark)
        has_else = node.if_has_else_node()
        otherwise = ast_body(node.if_get_else_node(), params, mark) if has_else else ()
        return (AstIf(condition, then, otherwise),)
    if kind == kinds.block:
        children = node.block_get_children()
        steps: list[AstStep] = []
        for position in range(children.n_ast_node()):
            steps += ast_body(children.get_at(position), params, mark)
        return tuple(steps)
    if kind == kinds.mark:
        return ast_body(node.mark_get_node(), params, node.mark_get_id().get_name())
    if kind == kinds.user:
        call = node.user_get_expr()
        name = call.get_op_arg(0).get_id().get_name()
        arguments = tuple(
            expression(call.get_op_arg(position), params)
            for position in range(1, call.get_op_n_arg())
        )
        return (AstCall(name, arguments),)
    raise AssertionError(f"isl AST node {kind}")


def _loop(node: isl.AstNode, params: frozenset[str], mark: str) -> AstStep:
    iterator = node.for_get_iterator().get_id().get_name()
    lower = expression(node.for_get_init(), params)
    body = ast_body(node.for_get_body(), params, mark)
    if node.for_is_degenerate():
        return AstLet(iterator, lower, body)
    condition = node.for_get_cond()
    operator: object = condition.get_op_type()
    bound = expression(condition.get_op_arg(1), params)
    if operator == isl.ast_expr_op_type.le:
        bound = plus(bound, 1)
    step = int(node.for_get_inc().get_val().to_python())
    depth = int(iterator.removeprefix(DEPTH))
    return AstFor(iterator, lower, bound, step, mark, depth, body)


def plus(expr: Expr, value: int) -> Expr:
    """Return `expr + value`, moved inside minima and maxima so that bounds stay readable."""
    if isinstance(expr, Binary) and expr.op in (BinaryOp.MIN, BinaryOp.MAX):
        return Binary(expr.op, plus(expr.left, value), plus(expr.right, value), DType.INT64)
    return normalize(add(expr, integer(value)))


def expression(node: isl.AstExpr, params: frozenset[str]) -> Expr:
    """Return an isl AST expression as an INT64 or BOOL `Expr`."""
    kinds = isl.ast_expr_type
    kind: object = node.get_type()
    if kind == kinds.int:
        return integer(int(node.get_val().to_python()))
    if kind == kinds.id:
        name = node.get_id().get_name()
        return Param(name) if name in params else Iter(name)
    operator: object = node.get_op_type()
    arguments = [
        expression(node.get_op_arg(position), params) for position in range(node.get_op_n_arg())
    ]
    return _operation(operator, arguments)


_OPS = isl.ast_expr_op_type
_COMPARE: Mapping[object, CompareOp] = {
    _OPS.eq: CompareOp.EQ,
    _OPS.le: CompareOp.LE,
    _OPS.lt: CompareOp.LT,
    _OPS.ge: CompareOp.GE,
    _OPS.gt: CompareOp.GT,
}
_LOGIC: Mapping[object, BinaryOp] = {
    _OPS.and_: BinaryOp.AND,  # type: ignore[attr-defined]
    _OPS.or_: BinaryOp.OR,  # type: ignore[attr-defined]
    _OPS.and_then: BinaryOp.AND,
    _OPS.or_else: BinaryOp.OR,
}
_FLOORED: Mapping[object, BinaryOp] = {
    _OPS.div: BinaryOp.FLOORDIV,  # exact, so floor is right
    _OPS.fdiv_q: BinaryOp.FLOORDIV,
    _OPS.pdiv_q: BinaryOp.FLOORDIV,
    _OPS.pdiv_r: BinaryOp.MOD,
    _OPS.zdiv_r: BinaryOp.MOD,  # only compared with zero
}


def _operation(operator: object, arguments: list[Expr]) -> Expr:
    if operator in _COMPARE:
        return Compare(_COMPARE[operator], arguments[0], arguments[1])
    if operator in _LOGIC:
        return _chain(_LOGIC[operator], arguments, DType.BOOL)
    if operator in (_OPS.max, _OPS.min):
        op = BinaryOp.MAX if operator == _OPS.max else BinaryOp.MIN
        return _chain(op, arguments, DType.INT64)
    if operator in _FLOORED:
        return Binary(_FLOORED[operator], arguments[0], arguments[1], DType.INT64)
    if operator in (_OPS.cond, _OPS.select):
        return Select(arguments[0], arguments[1], arguments[2], DType.INT64)
    if operator == _OPS.minus:
        return normalize(Unary(UnaryOp.NEG, arguments[0], DType.INT64))
    if operator == _OPS.add:
        return normalize(add(arguments[0], arguments[1]))
    if operator == _OPS.sub:
        return normalize(sub(arguments[0], arguments[1]))
    if operator == _OPS.mul:
        return normalize(mul(arguments[0], arguments[1]))
    raise AssertionError(f"isl AST operation {operator}")


def _chain(op: BinaryOp, arguments: list[Expr], dtype: DType) -> Expr:
    result = arguments[0]
    for argument in arguments[1:]:
        result = Binary(op, result, argument, dtype)
    return result


def condition_expr(value: isl.Set, params: frozenset[str]) -> Expr:
    """Return a parameter set as a BOOL expression over `Param`."""
    build = isl.AstBuild.from_context(isl.Set.universe(value.get_space().params()))
    return expression(build.expr_from_set(value.params()), params)


def bound_expr(value: isl.PwAff, params: frozenset[str]) -> Expr:
    """Return a parametric bound as an INT64 expression over `Param`; 0 where it is undefined."""
    if value.domain().is_empty():
        return integer(0)
    build = isl.AstBuild.from_context(value.domain().params())
    return expression(build.expr_from_pw_aff(value), params)


def affine_expr(value: isl.PwAff, iters: tuple[str, ...], params: tuple[str, ...]) -> Expr:
    """Return a function of a statement's instances as an expression over its iterators."""
    ids = isl.IdList.alloc(isl.DEFAULT_CONTEXT, len(iters))
    for name in iters:
        ids = ids.add(isl.Id(name))
    space = value.domain().get_space()
    return bound_expr(value.bind_domain(isl.MultiId.from_id_list(space, ids)), frozenset(params))


def set_expr(value: isl.Set, iters: tuple[str, ...], params: tuple[str, ...]) -> Expr:
    """Return whether an instance of a statement is in `value` as a BOOL expression."""
    ids = isl.IdList.alloc(isl.DEFAULT_CONTEXT, len(iters))
    for name in iters:
        ids = ids.add(isl.Id(name))
    inside = value.bind(isl.MultiId.from_id_list(value.get_space(), ids))
    return condition_expr(inside, frozenset(params))
