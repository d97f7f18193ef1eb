"""Print reductions across the lanes of a warp.

In: a nest whose innermost loop is a reduction across threads.  Out: a value for every thread, the
neutral one where it has none, shuffled down to the first lane of each group, which updates.
All threads of a block run this code, so that all lanes of a warp take part.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.dataclass import dataclass
from polyopt.emit.c_statements import Branch, Code, Compound, Line, Pragma
from polyopt.emit.dialect import AND
from polyopt.emit.gpu.bound_tests import all_of
from polyopt.emit.gpu.declarations import KernelDeclarations
from polyopt.emit.gpu.lane_reductions import WARP, reduction_of
from polyopt.emit.gpu.nests import ThreadNest
from polyopt.emit.gpu.thread_iterators import DistributedNest
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import BinaryOp, Expr, Load, Symbol, integer
from polyopt.ir.extremum import Update
from polyopt.ir.identity import identity
from polyopt.ir.loops import Body, If, Scope
from polyopt.ir.names import has_iterator
from polyopt.ir.types import DType

_OTHERS = ("other", "more")
_ANY = Update(BinaryOp.OR, integer(0), False)


@dataclass(frozen=True, slots=True)
class ReductionPrinter:
    """Prints one reduction; `update` gives the text of an update of the target."""

    nest: ThreadNest
    distributed: DistributedNest
    declarations: KernelDeclarations
    threads: int
    scope: frozenset[str]
    update: Callable[[Load, Expr], str]

    def lines(self) -> list[Code]:
        """Return the statements."""
        found = reduction_of(self.nest.body)
        assert found is not None
        target, by = found
        value = by.fresh
        tests = _tests(self.nest.body)
        neutral = identity(by.op, target.dtype)
        assert neutral is not None
        printer = self.distributed.printer
        kind = self.declarations.dialect.type_name(target.dtype)
        mine, has = self.names("own", "has")
        guards = (*self.distributed.guards, *tests)
        is_there = [printer.text(all_of(guards), AND)] if guards else []
        start = neutral if is_there else value
        lines: list[Code] = [Line(f"{kind} {mine} = {printer.text(start)};")]
        if is_there:
            lines.append(Branch(is_there[0], [Line(f"{mine} = {printer.text(value)};")], []))
        passed = {mine: (target.dtype, by)}
        if any(self.differs(test) for test in tests):
            flag = self.declarations.dialect.type_name(DType.INT32)
            lines.append(Line(f"{flag} {has} = {is_there[0]};"))
            passed[has] = (DType.INT32, _ANY)
            is_there = [has]
        lines += (
            self.shuffled(passed) if self.declarations.dialect.shuffle else self.exchanged(passed)
        )
        update = self.update(target, by.of(target, Symbol(mine, target.dtype)))
        lines.append(Branch(" && ".join([self.is_first, *is_there]), [Line(update)], []))
        return lines

    @property
    def width(self) -> int:
        """How many threads combine."""
        return self.nest.extents[-1]

    @property
    def is_first(self) -> str:
        """Tell whether a thread is the first of its group, as text."""
        return f"{self.declarations.thread} % {self.width} == 0"

    def differs(self, test: Expr) -> bool:
        """Tell whether a condition may differ between threads that combine."""
        last = self.nest.loops[-1].iter
        return has_iterator(test, (last,))

    def names(self, *wishes: str) -> list[str]:
        return [self.declarations.local(wish, self.scope) for wish in wishes]

    def shuffled(self, passed: dict[str, tuple[DType, Update]]) -> list[Code]:
        """Return what leaves with the first thread what all have.

        That is an instruction where a whole warp combines and there is one, or a tree of shuffles.
        """
        at_once = {
            name: function
            for name, (dtype, by) in passed.items()
            if self.width == WARP
            and (function := self.declarations.dialect.warp.get((by.op, dtype)))
        }
        lines: list[Code] = [
            Line(f"{name} = {function.call(name, passed[name][0])};")
            for name, function in at_once.items()
        ]
        passed = {name: passed[name] for name in passed if name not in at_once}
        return [*lines, *self.tree(passed)] if passed else lines

    def tree(self, passed: dict[str, tuple[DType, Update]]) -> list[Code]:
        """Return a tree of shuffles."""
        (by,) = self.names("by")
        steps: list[Code] = []
        for other, name in zip(_OTHERS, passed, strict=False):
            text = self.declarations.dialect.shuffle.format(value=name, by=by, width=self.width)
            steps += self.joined(name, other, text, *passed[name])
        head = f"for (int {by} = {self.width // 2}; {by} > 0; {by} /= 2)"
        return [Pragma("unroll"), Compound(head, steps)]

    def exchanged(self, passed: dict[str, tuple[DType, Update]]) -> list[Code]:
        """Return an exchange through shared memory, where the first thread reads what all have."""
        thread = self.declarations.thread
        (count,) = self.names("k")
        wait = Line(self.declarations.dialect.barrier(Scope.BLOCK, orders_arrays=False))
        writes: list[Code] = []
        reads: list[Code] = []
        for other, name in zip(_OTHERS, passed, strict=False):
            dtype, by = passed[name]
            key = other, dtype
            if key not in self.declarations.passed:
                self.declarations.passed[key] = self.declarations.fresh("passed")
            array = Array(self.declarations.passed[key], dtype, (integer(self.threads),), Role.TEMP)
            place = self.declarations.share(array, array.name)
            writes.append(Line(f"{place}[{thread}] = {name};"))
            reads += self.joined(name, other, f"{place}[{thread} + {count}]", dtype, by)
        head = f"for (int {count} = 1; {count} < {self.width}; {count}++)"
        return [*writes, wait, Branch(self.is_first, [Compound(head, reads)], []), wait]

    def joined(self, name: str, wish: str, text: str, dtype: DType, by: Update) -> list[Code]:
        """Return statements that combine a value with another, which `text` computes."""
        (other,) = self.names(wish)
        whole = by.of(Symbol(name, dtype), Symbol(other, dtype))
        kind = self.declarations.dialect.type_name(dtype)
        line = f"{name} = {self.distributed.printer.text(whole)};"
        return [Line(f"const {kind} {other} = {text};"), Line(line)]


def _tests(body: Body) -> tuple[Expr, ...]:
    """Return the conditions around an update."""
    match body:
        case (If(condition=condition, then=then),):
            return (condition, *_tests(then))
        case _:
            return ()
