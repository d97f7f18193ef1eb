"""Find and rewrite the accesses to one array.

In: statements, an array.  Out: the statements that access it; statements with other accesses.
Refuses: a name of no array (PO0331), subscripts that values in memory decide (PO0332).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from polyopt.dataclass import replace
from polyopt.errors import ScheduleError
from polyopt.ir.expr import Expr, Load, rewrite
from polyopt.ir.scop import Array, Role, Scop, Statement


def find_array(scop: Scop, name: str, step: str, roles: Collection[Role] = tuple(Role)) -> Array:
    """Return the array called `name` if it has one of the roles; raises `ScheduleError` PO0331."""
    known = [a for a in scop.arrays if a.role is not Role.FAULT]
    found = [a for a in known if a.name == name]
    if not found:
        names = ", ".join(a.name for a in known if a.role in roles)
        raise ScheduleError(
            "PO0331", f"{step}: there is no array `{name}`", hint=f"arrays: {names or 'none'}"
        )
    if found[0].role not in roles:
        what = "a temporary" if found[0].role is Role.TEMP else "the caller's"
        raise ScheduleError(
            "PO0331",
            f"{step}: {name} is {what}, the step cannot change where its values are",
            hint=f"`pack({name}, LOOP)` makes a copy that the step can change",
        )
    return found[0]


def touching(scop: Scop, array: str) -> tuple[str, ...]:
    """Return the names of the statements that read or write the array."""
    return tuple(
        s.name for s in scop.statements if any(a.array == array for a in (s.write, *s.reads))
    )


def refuse_found(statements: Iterable[Statement], array: str, step: str) -> None:
    """Raise `ScheduleError` PO0332 where subscripts that depend on data find elements of `array`:
    no other place can be proven to hold them.
    """
    for statement in statements:
        if any(a.array == array and not a.exact for a in (statement.write, *statement.reads)):
            raise ScheduleError(
                "PO0332",
                f"{step}: subscripts that depend on data find elements of {array}",
                loc=statement.loc,
                hint=f"leave the step out: {array} stays where it is",
            )


def redirected(
    statement: Statement,
    array: str,
    place: Callable[[tuple[Expr, ...]], Load],
    kept: Collection[Load] = (),
) -> Statement:
    """Return the statement with each access of `array[index]` replaced by `place(index)`.

    Reads in `kept` stay as they are.
    """

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load) and part.array == array and part not in kept:
            return place(tuple(rewrite(i, rule) for i in part.index))
        return None

    index = tuple(rewrite(i, rule) for i in statement.target.index)
    target = place(index) if statement.target.array == array else statement.target
    if statement.target.array != array:
        target = replace(target, index=index)
    guard = None if statement.guard is None else rewrite(statement.guard, rule)
    return replace(statement, target=target, value=rewrite(statement.value, rule), guard=guard)
