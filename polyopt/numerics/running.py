"""Running error analysis: a kernel's loops, extended to compute a bound beside every inexact value.

In: loops in the source's order, before any pass; what is inexact in them.  Out: the same loops with
arrays of bounds, one element for each element (Higham, "Accuracy and Stability of Numerical
Algorithms", 2002, section 3.3).  Bounds hold between any two orders of an open reduction.
Refuses: vectors and PARALLEL loops, which only passes make.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt.dataclass import dataclass, field, replace
from polyopt.ir.expr import (
    Binary,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Symbol,
    children,
    integer,
    walk,
    with_children,
)
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    AwaitCopies,
    Barrier,
    Body,
    Break,
    CallLibrary,
    Comment,
    CommitCopies,
    Declare,
    DeclareArray,
    DeclareView,
    Fail,
    For,
    If,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    SetLocal,
    While,
)
from polyopt.ir.scop import Array, Role
from polyopt.ir.sums import is_polynomial, is_product, products
from polyopt.ir.types import DType
from polyopt.never import assert_never
from polyopt.numerics.bound_names import Names, unused_prefix
from polyopt.numerics.flow import LAYOUT_DEPENDENT, Flow
from polyopt.numerics.open_sums import open_sums, partial_before
from polyopt.numerics.propagate import Operand, apart, error_of, mass_of, unknown
from polyopt.numerics.reals import (
    INFINITY,
    ONE,
    REAL,
    ZERO,
    at_most,
    larger,
    largest,
    less,
    number,
    pick,
    plus,
    roundings,
    size,
    times,
    unit,
)

TF32 = 2.0**-10 + 2.0**-20
"""Relative error of a product whose factors were rounded to 11 bits, to the nearest."""

RISE = 1.5
"""Pairs of roundings when a maximum rises: a factor within one unit, its product with the sum."""


@dataclass(frozen=True, eq=False)
class Extended:
    """The extended loops; `sums` are the arrays and locals that open sums accumulate in."""

    function: LoopFunction
    names: Names
    sums: frozenset[str]


def with_bounds(
    fn: LoopFunction,
    found: Flow,
    reordered: frozenset[str],
    narrow: Mapping[str, DType],
    rounded: frozenset[str] = frozenset(),
    fusible: frozenset[str] = frozenset(),
    carried: frozenset[str] = frozenset(),
) -> Extended:
    """Return `fn` with a bound beside every value that `found` calls inexact.

    `reordered` are the statements whose sums run in an unknown order, `narrow` the types that the
    reference may round their partial results to, `rounded` those whose factors may become tf32,
    `fusible` those in whose values sums of products may be regrouped, `carried` those whose
    sums may be multiplied by the rises of a maximum.
    """
    names = Names(unused_prefix(fn))
    reordered |= found.rounded - fusible
    sums = frozenset(open_sums(fn.body, reordered))
    extender = _Extender(fn, found, reordered, names, sums, narrow, rounded, fusible, carried)
    body = (Assign(Load(names.lost, (), REAL), ZERO), *extender.body(fn.body))
    arrays = [*fn.arrays, Array(names.lost, REAL, (), Role.OUTPUT)]
    for array in fn.arrays:
        arrays += extender.companions(array)
    function = replace(fn, arrays=tuple(arrays), body=body, reassociable=frozenset())
    return Extended(function, names, sums)


@dataclass(slots=True)
class _Extender:
    fn: LoopFunction
    found: Flow
    reordered: frozenset[str]
    names: Names
    sums: frozenset[str]
    narrow: Mapping[str, DType]
    rounded: frozenset[str]
    fusible: frozenset[str]
    carried: frozenset[str]
    count: int = 0
    statement: str = ""  # of the node whose values are extended
    pending: list[Node] = field(default_factory=list)

    # -- nodes --------------------------------------------------------------------------------

    def body(self, body: Body) -> Body:
        result: list[Node] = []
        for node in body:
            result += self.node(node)
        return tuple(result)

    def node(self, node: Node) -> Body:  # noqa: C901 - one case per node
        match node:
            case Assign(target=Load() as target):
                return self.assign(node, target, None)
            case SetLocal():
                return self.assign(node, Symbol(node.name, node.dtype), None)
            case Declare():
                return self.declare(node)
            case If():
                return self.branch(node)
            case While():
                check = self.check(node.condition)
                return (*check, replace(node, body=(*self.body(node.body), *self.again(node))))
            case For():
                return self.loop(node)
            case DeclareArray():
                own = self.companions(node.array)
                return (node, *(replace(node, array=array) for array in own))
            case AllocateArray():
                return (node, *map(AllocateArray, self.companions(node.array)))
            case CallLibrary():
                return self.library(node)
            case Kernel():
                return (replace(node, body=self.body(node.body), finish=self.body(node.finish)),)
            case Break() | Fail() | Comment() | Barrier() | CommitCopies() | AwaitCopies():
                return (node,)
            case Assign() | DeclareView():
                raise AssertionError("vectors and views are made by passes")
            case _:
                assert_never(node)

    def companions(self, array: Array) -> list[Array]:
        """Return the arrays of bounds of `array`, which live where it does."""
        if not self.found.is_inexact(array.name):
            return []
        made = [Array(self.names.error(array.name), REAL, array.shape, array.role)]
        if array.name in self.sums:
            role = Role.TEMP if array.role is Role.OUTPUT else array.role
            for name in (self.names.terms(array.name), self.names.mass(array.name)):
                made.append(Array(name, REAL, array.shape, role))
        return made

    def declare(self, node: Declare) -> Body:
        if not self.found.is_inexact(node.name):
            return (node,)
        value, before = self.evaluated(node.value, node.statement)
        kinds = [Declare(self.names.error(node.name), REAL, 1, value.error)]
        if node.name in self.sums:
            kinds.append(Declare(self.names.terms(node.name), REAL, 1, ZERO))
            kinds.append(Declare(self.names.mass(node.name), REAL, 1, size(value.value)))
        return (*before, *kinds, replace(node, value=value.value))

    def loop(self, node: For) -> Body:
        assert node.kind is not LoopKind.PARALLEL
        assert not node.reductions
        checks = (*self.check(node.lower), *self.check(node.upper))
        kind = LoopKind.SEQUENTIAL
        return (*checks, replace(node, kind=kind, body=self.body(node.body)))

    def again(self, node: While) -> Body:
        return self.check(node.condition)

    def check(self, condition: Expr) -> Body:
        """Return the nodes that note when `condition` depends on the error of a value."""
        if not self.found.reaches(condition):
            return ()
        value, before = self.evaluated(condition)
        return (*before, *self.lose(value.error))

    def lose(self, error: Expr) -> Body:
        lost = Load(self.names.lost, (), REAL)
        return (Assign(lost, larger(lost, unknown(error))),) if error != ZERO else ()

    # -- conditions ---------------------------------------------------------------------------

    def branch(self, node: If) -> Body:
        """Return a branch; where the condition is uncertain, what it assigns is."""
        if not self.found.reaches(node.condition):
            then, otherwise = self.body(node.then), self.body(node.otherwise)
            return (replace(node, then=then, otherwise=otherwise),)
        condition, before = self.evaluated(node.condition)
        match node.then, node.otherwise:
            case (Assign(target=Load() as target) as single,), () if self.is_placed(target):
                return (*before, *self.assign(single, target, condition))
            case (SetLocal() as single,), ():
                local = Symbol(single.name, single.dtype)
                return (*before, *self.assign(single, local, condition))
            case _:
                then, otherwise = self.body(node.then), self.body(node.otherwise)
                inner = replace(node, condition=condition.value, then=then, otherwise=otherwise)
                return (*before, *self.lose(condition.error), inner)

    def is_placed(self, target: Load) -> bool:
        """Tell whether the element exists whether or not the branch is taken."""
        fault = any(a.name == target.array and a.role is Role.FAULT for a in self.fn.arrays)
        parts = (part for index in target.index for part in walk(index))
        return not fault and not any(isinstance(part, Load | Symbol) for part in parts)

    # -- assignments --------------------------------------------------------------------------

    def assign(
        self, node: Assign | SetLocal, target: Load | Symbol, condition: Operand | None
    ) -> Body:
        name = target.array if isinstance(target, Load) else target.name
        if not self.found.is_inexact(name):
            assert condition is None
            return (node,)
        since = partial_before(node.value, target) if node.statement in self.reordered else None
        if since is not None:
            assert isinstance(node.value, Binary)
            assert isinstance(since, Load | Symbol)
            return self.sum(node, node.value, target, since, condition)
        value, before = self.evaluated(node.value, node.statement)
        lost: Body = ()
        if isinstance(target, Load):
            index, extra = self.evaluated_index(target.index)
            before, lost = (*before, *extra), self.lose(index)
        old = Operand(target, self.companion(self.names.error(name), target))
        kept: list[Node] = []
        error = self.narrowed(node, value)
        value = replace(value, error=error)
        if condition is not None:
            error = pick(condition.value, value.error, old.error)
            if condition.error != ZERO:
                error = pick(less(ZERO, condition.error), apart(value, old), error)
        kept.append(self.store(self.names.error(name), target, error))
        if name in self.sums:
            for companion, new in (
                (self.names.terms(name), ZERO),
                (self.names.mass(name), size(value.value)),
            ):
                if condition is not None:
                    new = pick(condition.value, new, self.companion(companion, target))
                kept.append(self.store(companion, target, new))
        write: Node = replace(node, value=value.value)
        if condition is not None:
            write = If(condition.value, (write,))
        return (*before, *lost, *kept, write)

    def narrowed(self, node: Assign | SetLocal, value: Operand) -> Expr:
        """Return the bound of a partial product, which the reference may round to 16 bits."""
        narrow = self.narrow.get(node.statement)
        if narrow is None:
            return value.error
        error = plus(value.error, roundings(value.value, narrow, 1))
        inside = at_most(plus(size(value.value), error), number(largest(narrow)))
        return pick(inside, error, INFINITY)

    def sum(
        self,
        node: Assign | SetLocal,
        value: Binary,
        target: Load | Symbol,
        since: Load | Symbol,
        when: Operand | None,
    ) -> Body:
        """Extend one step of an open sum, which goes on from `since`.

        Any order of n terms is within n roundings of the sum of magnitudes, and so is the
        reference's: the bound grows to `2 * n * u * sum(|terms|)`, besides the terms' own errors.
        A term that adds products counts as many: they may be added one by one.  Each term may raise
        the maximum that a sum is carried along with.
        """
        name = target.array if isinstance(target, Load) else target.name
        added = value.right if value.left == since else value.left
        term, before = self.evaluated(added, node.statement)
        new_total = Binary(value.op, since, term.value, value.dtype)
        total = self.temporary(new_total)
        parts = [product for _, product in products(added)]
        several = [self.operand(p).value for p in parts] if len(parts) > 1 else [term.value]
        sized = plus(*map(size, several))
        steps = len(several) + (RISE if node.statement in self.carried else 0)
        count = number(float(steps))
        error, terms, mass = (
            self.companion(kind(name), since)
            for kind in (self.names.error, self.names.terms, self.names.mass)
        )
        own = term.error
        if any(map(is_product, walk(added))):  # one side may round products and sums once
            times_rounded = max(2, len(several))
            own = plus(own, *(roundings(v, value.dtype, times_rounded) for v in several))
        if node.statement in self.rounded:
            own = plus(own, times(number(TF32), sized))
        more = plus(mass, times(plus(terms, count), sized))
        narrow = self.narrow.get(node.statement)
        twice = 2 * unit(value.dtype) if narrow is None else unit(value.dtype) + unit(narrow)
        if node.statement in self.rounded:
            twice *= 2  # matrix instructions cut partial sums off
        rounding = times(number(twice * _parts(value.dtype)), more)
        grown = plus(error, own, rounding)
        if narrow is not None:  # the reference's partial sums may be infinite
            inside = at_most(plus(mass, sized, grown), number(largest(narrow)))
            grown = pick(inside, grown, INFINITY)
        updates = [
            (self.names.error(name), grown, error),
            (self.names.terms(name), plus(terms, count), terms),
            (self.names.mass(name), plus(mass, sized), mass),
        ]
        kept: list[Node] = []
        saved: list[tuple[str, Expr]] = []
        for companion, new, old in updates:
            if when is not None:
                chosen = pick(when.value, new, old)
                if when.error != ZERO and companion == self.names.error(name):
                    chosen = pick(less(ZERO, when.error), plus(grown, sized), chosen)
                new = chosen
            saved.append((companion, self.temporary(new).value))
        kept += [self.store(companion, target, new) for companion, new in saved]
        write: Node = replace(node, value=total.value)
        if when is not None:
            write = If(when.value, (write,))
        return (*before, *self.taken(), *kept, write)

    def companion(self, name: str, target: Load | Symbol) -> Expr:
        match target:
            case Load():
                return Load(name, target.index, REAL)
            case Symbol():
                return Symbol(name, REAL)
            case _:
                assert_never(target)

    def store(self, name: str, target: Load | Symbol, value: Expr) -> Node:
        match target:
            case Load():
                return Assign(Load(name, target.index, REAL), value)
            case Symbol():
                return SetLocal(name, REAL, 1, value)
            case _:
                assert_never(target)

    # -- library ------------------------------------------------------------------------------

    def library(self, node: CallLibrary) -> Body:
        """A library function of exact arrays is the reference's own; of others nothing is known."""
        doubtful = [array for array in node.inputs if self.found.is_inexact(array.name)]
        results = [array for array in node.outputs if self.found.is_inexact(array.name)]
        if not results:
            return (node,)
        function = self.fn.signature.library[node.site].function
        known = ONE if function.startswith(LAYOUT_DEPENDENT) else ZERO
        self.count += 1
        worst = self.names.temporary(self.count)
        total = Symbol(worst, REAL)
        nodes: list[Node] = [Declare(worst, REAL, 1, known)]
        for array in doubtful:
            nodes += self.over_all(
                array,
                lambda i, a=array: SetLocal(
                    worst, REAL, 1, larger(total, Load(self.names.error(a.name), i, REAL))
                ),
            )
        for array in results:
            nodes += self.over_all(
                array,
                lambda i, a=array: Assign(Load(self.names.error(a.name), i, REAL), unknown(total)),
            )
        return (*nodes, node)

    def over_all(self, array: Array, inner: object) -> Body:
        """Return loops over the elements of `array`."""
        names = []
        for _ in array.shape:
            self.count += 1
            names.append(self.names.temporary(self.count))
        body: Node = inner(tuple(map(Iter, names)))  # type: ignore[operator]
        for name, extent in reversed(list(zip(names, array.shape, strict=True))):
            body = For(name, integer(0), extent, 1, LoopKind.SEQUENTIAL, (body,))
        return (body,)

    # -- expressions --------------------------------------------------------------------------

    def evaluated(self, expr: Expr, statement: str = "") -> tuple[Operand, Body]:
        """Return the value and bound of `expr`, and the nodes that must run before."""
        self.statement = statement
        operand = self.operand(expr)
        self.statement = ""
        return operand, self.taken()

    def evaluated_index(self, index: tuple[Expr, ...]) -> tuple[Expr, Body]:
        errors = [self.operand(part).error for part in index if self.found.reaches(part)]
        return plus(*errors), self.taken()

    def taken(self) -> Body:
        nodes, self.pending = tuple(self.pending), []
        return nodes

    def temporary(self, value: Expr, error: Expr = ZERO) -> Operand:
        """Return `value` as a local."""
        if isinstance(value, Const | Iter | Param | Symbol):
            return Operand(value, error)
        self.count += 1
        name = self.names.temporary(self.count)
        self.pending.append(Declare(name, value.dtype, 1, value))
        return Operand(Symbol(name, value.dtype), error)

    def operand(self, expr: Expr) -> Operand:
        """Return the value of `expr`, without operations where it is inexact, and its bound."""
        if not self.found.reaches(expr, self.statement):
            return Operand(expr, ZERO)
        match expr:
            case Symbol():
                return Operand(expr, Symbol(self.names.error(expr.name), REAL))
            case Iter():
                return Operand(expr, ZERO)
            case Load():
                error: Expr = ZERO
                if self.found.is_inexact(expr.array):
                    error = Load(self.names.error(expr.array), expr.index, REAL)
                doubtful = [i for i in expr.index if self.found.reaches(i)]
                moved = plus(*(self.operand(i).error for i in doubtful))
                if moved != ZERO:
                    error = pick(less(ZERO, moved), INFINITY, error)
                return self.noted(expr, error)
            case _ if self.statement in self.fusible and is_polynomial(expr):
                return self.regrouped(expr)
            case _:
                parts = tuple(self.simple(child) for child in children(expr))
                result = self.temporary(with_children(expr, tuple(p.value for p in parts)))
                return self.noted(result.value, error_of(expr, parts, result.value))

    def regrouped(self, expr: Expr) -> Operand:
        """Return a sum of products that one side may compute in another form, and its bound.

        A term takes part in as many roundings as there are operations at most, and in two of its
        constants; where terms overflow, one side may.
        """
        operand, mass = self.massed(expr)
        count = 2.0 + sum(map(is_polynomial, walk(expr)))
        error = plus(operand.error, roundings(mass, expr.dtype, count))
        finite = at_most(mass, number(largest(expr.dtype)))
        return self.noted(operand.value, pick(finite, error, INFINITY))

    def massed(self, expr: Expr) -> tuple[Operand, Expr]:
        """Return a sum of products as it is written, and the sum of its products' magnitudes."""
        if not is_polynomial(expr):
            operand = self.simple(expr)
            return operand, size(operand.value)
        found = [self.massed(child) for child in children(expr)]
        parts = tuple(part for part, _ in found)
        value = self.temporary(with_children(expr, tuple(p.value for p in parts))).value
        operand = self.noted(value, error_of(expr, parts, value))
        return operand, mass_of(expr, tuple(self.temporary(mass).value for _, mass in found))

    def simple(self, expr: Expr) -> Operand:
        """Return an operand whose value is no operation."""
        operand = self.operand(expr)
        return self.temporary(operand.value, operand.error)

    def noted(self, value: Expr, error: Expr) -> Operand:
        """Return the operand with value and bound as locals."""
        return Operand(self.temporary(value).value, self.temporary(error).value)


def _parts(dtype: DType) -> float:
    """Complex sums round two parts."""
    return 2.0 if dtype.is_complex else 1.0
