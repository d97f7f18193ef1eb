"""Divide sums instead of their terms, as `fp="reassociate"` allows.

In: a Program with reassociable sums whose terms are products with quotients `a[r, j] / b[r]` of
exponentials below a maximum, which are at most 1: sums of them do not overflow.
Out: the sums of products with `a[r, j]`, which are divided by `b[r]` afterwards: the weights of a
softmax are not divided one by one, but what they are summed into.
Leaves alone: divisors that differ from term to term, quotients that others read, too, nests of more
than one statement, programs of several parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from polyopt.dataclass import replace
from polyopt.ir.affine import index_map
from polyopt.ir.budget import optional
from polyopt.ir.expr import Binary, BinaryOp, Call, Const, Expr, Iter, Load, integer, loads, rewrite
from polyopt.ir.names import fresh_name, iterators
from polyopt.ir.program import Program
from polyopt.ir.scop import Role, Scop, Statement
from polyopt.ir.showing import show
from polyopt.schedule.running_sums import LAWS, factor_of


def with_deferred_divisions(program: Program) -> Program:
    """Return `program` with sums divided where all of their terms are."""
    match program.parts:
        case (Scop() as scop,) if any(map(_is_quotient, scop.statements)):
            with optional("divisions after sums"):
                return replace(program, parts=(_changed(scop),))
        case _:
            pass
    return program


def _is_quotient(statement: Statement) -> bool:
    match statement.value:
        case Binary(op=BinaryOp.DIV, left=Load(), right=Load(), dtype=dtype):
            return dtype.is_float and statement.guard is None and statement.write.exact
        case _:
            return False


def _changed(scop: Scop) -> Scop:
    for quotient in filter(_is_quotient, scop.statements):
        scop = _without(scop, quotient) or scop
    return scop


def _without(scop: Scop, quotient: Statement) -> Scop | None:
    """Return the Scop with the sums of a quotient divided instead, or None."""
    value, target = quotient.value, quotient.target
    assert isinstance(value, Binary)
    dividend, divisor = value.left, value.right
    assert isinstance(dividend, Load)
    assert isinstance(divisor, Load)
    heads = Counter(s.order[0] for s in scop.statements)
    if not all(isinstance(head, Const) for head in heads) or heads[quotient.order[0]] > 1:
        return None
    place = scop.statements.index(quotient)
    before, after = scop.statements[:place], scop.statements[place + 1 :]
    if not _are_exponentials(before, dividend.array):
        return None
    in_place = dividend == target
    makers = {s.target.array for s in after}
    if scop.array(target.array).role is not Role.TEMP or makers & {dividend.array, divisor.array}:
        return None
    if any(s.target.array == target.array for s in (after if in_place else (*before, *after))):
        return None
    if not in_place and target.array in {a.array for a in quotient.reads} | {divisor.array}:
        return None
    sums = [s for s in after if any(a.array == target.array for a in s.reads)]
    divided = [_divided(scop, quotient, one, heads) for one in sums]
    if not sums or any(one is None for one in divided):
        return None
    new = dict(zip((s.name for s in sums), (one for one in divided if one), strict=True))
    statements: list[Statement] = []
    taken = {s.name for s in scop.statements}
    shift = 0
    for statement in scop.statements:
        if statement is quotient:
            continue
        pair = new.get(statement.name)
        statement = pair[0] if pair else statement
        statements.append(_moved(statement, shift))
        if pair:
            shift += 1
            name = fresh_name(pair[1].name, taken)
            taken.add(name)
            domain = pair[1].domain.set_tuple_name(name)
            statements.append(_moved(replace(pair[1], name=name, domain=domain), shift))
    used = {array for s in statements for array in s.arrays}
    arrays = tuple(a for a in scop.arrays if a.role is not Role.TEMP or a.name in used)
    return replace(scop, statements=tuple(statements), arrays=arrays)


def _are_exponentials(statements: Iterable[Statement], array: str) -> bool:
    """Tell whether all elements of an array are made as `exp(x - m)`."""
    made = [s.value for s in statements if s.target.array == array]
    return bool(made) and all(
        isinstance(value, Call)
        and value.func in LAWS
        and isinstance(value.args[0], Binary)
        and value.args[0].op is BinaryOp.SUB
        for value in made
    )


def _moved(statement: Statement, shift: int) -> Statement:
    head = statement.order[0]
    assert isinstance(head, Const)
    return statement.at((integer(int(head.value.real) + shift), *statement.order[1:]))


def _divided(
    scop: Scop, quotient: Statement, total: Statement, heads: Mapping[Expr, int]
) -> tuple[Statement, Statement] | None:
    """Return a sum of products with the dividends, and the division of its results, or None."""
    value, array = total.value, total.target.array
    assert isinstance(quotient.value, Binary)
    if not (
        total.is_reassociable
        and isinstance(value, Binary)
        and value.op is BinaryOp.ADD
        and value.left == total.target
        and total.guard is None
        and heads[total.order[0]] == 1
    ):
        return None
    factor = factor_of(value.right, quotient.target.array)
    start = _start(scop, total)
    if factor is None or start is None or any(a.array == array for a in quotient.reads):
        return None
    pairs = list(zip(quotient.target.index, factor.index, strict=True))
    names = {own.name: given for own, given in pairs if isinstance(own, Iter)}
    if len(names) != len(pairs) or set(names) != set(quotient.iters):
        return None

    def here(expr: Expr) -> Expr:
        return rewrite(expr, lambda e: names.get(e.name) if isinstance(e, Iter) else None)

    read = index_map(total.domain, factor.array, factor.index).range()
    if not read.is_subset(quotient.write.relation.range()):
        return None
    divisor = here(quotient.value.right)
    kept = {e.name: own for e, own in zip(total.target.index, start.target.index, strict=True)
            if isinstance(e, Iter)}  # fmt: skip
    if not iterators(divisor) <= set(kept):
        return None
    dividend = here(quotient.value.left)
    new = rewrite(value, lambda e: dividend if e == factor else None)
    below = rewrite(divisor, lambda e: kept.get(e.name) if isinstance(e, Iter) else None)
    result = start.target
    stored = index_map(start.domain, array, result.index)
    domain = stored.intersect_range(total.write.relation.range()).domain()
    divided = Binary(BinaryOp.DIV, result, below, result.dtype)
    order = (total.order[0], *start.order[1:])
    text = f"{show(result)} = {show(divided)}"
    after = replace(
        start, name=f"{total.name}_divided", domain=domain, value=divided, order=order,
        text=text, loc=quotient.loc,
    )  # fmt: skip
    return replace(total, value=new), after


def _start(scop: Scop, total: Statement) -> Statement | None:
    """Return the statement that sets a sum to zero, if nothing else touches it up to its end."""
    place = scop.statements.index(total)
    array = total.target.array
    users = [s for s in scop.statements[:place] if array in s.arrays]
    match users:
        case [Statement(value=Const(value=value), guard=None) as start] if value == 0:
            own = [e.name for e in start.target.index if isinstance(e, Iter)]
            is_plain = sorted(own) == sorted(start.iters) and len(own) == len(start.target.index)
            other = [e for e in total.target.index if isinstance(e, Iter)]
            is_plain = is_plain and len(set(other)) == len(total.target.index)
            return start if is_plain and not loads(start.value) else None
        case _:
            return None
