"""Threads that combine what each of them has, as text.

In: a nest whose innermost loop is a reduction across threads.  Out: a value for every thread, the
neutral one where it has none, passed down to the first thread of each group, which updates.
All threads of a block come here, so that all lanes of a warp take part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cgen

from polyopt.emit.blocks import Branch, Nest
from polyopt.emit.gpu.combining import update_of
from polyopt.emit.gpu.dealing import Dealt
from polyopt.emit.gpu.limits import all_of
from polyopt.emit.gpu.nests import ThreadNest
from polyopt.emit.gpu.own import Own
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Binary, Expr, Load, Symbol, integer
from polyopt.ir.identity import identity
from polyopt.ir.loops import Assign, Body, If, Scope
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class Combination:
    """How a block's threads combine; `update` gives the text of an update of the target."""

    nest: ThreadNest
    dealt: Dealt
    own: Own
    threads: int
    scope: frozenset[str]
    update: Callable[[Load, Expr], str]

    def lines(self) -> list[cgen.Generable]:
        """Return the statements."""
        found = update_of(self.nest.body)
        assert found is not None
        target, op = found
        tests, value = _update(self.nest.body)
        neutral = identity(op, target.dtype)
        assert neutral is not None
        printer = self.dealt.printer
        kind = self.own.dialect.type_name(target.dtype)
        mine, other, has = self.names("own", "other", "has")
        guards = (*self.dealt.guards, *tests)
        is_there = [printer.text(all_of(guards))] if guards else []
        start = neutral if is_there else value
        lines: list[cgen.Generable] = [cgen.Line(f"{kind} {mine} = {printer.text(start)};")]
        if is_there:
            lines.append(Branch(is_there[0], [cgen.Line(f"{mine} = {printer.text(value)};")], []))
        steps: list[cgen.Generable] = []
        joined = Binary(op, Symbol(mine, target.dtype), Symbol(other, target.dtype), target.dtype)
        steps += self.passed(target.dtype, mine, other)
        steps.append(cgen.Line(f"{mine} = {printer.text(joined)};"))
        if tests:
            flag = self.own.dialect.type_name(DType.INT32)
            lines.append(cgen.Line(f"{flag} {has} = {is_there[0]};"))
            (more,) = self.names("more")
            steps += self.passed(DType.INT32, has, more)
            steps.append(cgen.Line(f"{has} |= {more};"))
            is_there = [has]
        width = self.nest.extents[-1]
        (by,) = self.names("by")
        lines.append(cgen.Pragma("unroll"))
        lines.append(Nest(f"for (int {by} = {width // 2}; {by} > 0; {by} /= 2)", steps))
        first = f"{self.own.thread} % {width} == 0"
        update = self.update(target, Binary(op, target, Symbol(mine, target.dtype), target.dtype))
        lines.append(Branch(" && ".join([first, *is_there]), [cgen.Line(update)], []))
        return lines

    def names(self, *wishes: str) -> list[str]:
        return [self.own.local(wish, self.scope) for wish in wishes]

    def passed(self, dtype: DType, name: str, other: str) -> list[cgen.Generable]:
        """Return statements that declare `other`: what `name` is so many threads further on."""
        dialect, thread = self.own.dialect, self.own.thread
        kind = dialect.type_name(dtype)
        (by,) = self.names("by")
        if dialect.shuffle:
            width = self.nest.extents[-1]
            text = dialect.shuffle.format(value=name, by=by, width=width)
            return [cgen.Line(f"const {kind} {other} = {text};")]
        array = Array(f"passed_{dtype.value}", dtype, (integer(self.threads),), Role.TEMP)
        passed = self.own.share(array, self.own.passed.setdefault(dtype, self.own.fresh("passed")))
        wait = dialect.barrier(Scope.BLOCK, orders_arrays=False)
        return [
            cgen.Line(f"{passed}[{thread}] = {name};"),
            cgen.Line(wait),
            cgen.Line(f"const {kind} {other} = {passed}[({thread} + {by}) % {self.threads}];"),
            cgen.Line(wait),
        ]


def _update(body: Body) -> tuple[tuple[Expr, ...], Expr]:
    """Return the conditions around an update, and the value that it adds."""
    match body:
        case (If(condition=condition, then=then),):
            tests, value = _update(then)
            return (condition, *tests), value
        case (Assign(value=Binary(right=right)),):
            return (), right
        case _:
            raise AssertionError("threads combine in one assignment")
