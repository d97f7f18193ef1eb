"""The polyhedral program: arrays, statements with exact domains and accesses, and their order.

In: statements from a front end.  Out: immutable records over isl sets and maps.
Spaces: a domain is `[params] -> { S0[i, j] }`, an access `{ S0[i, j] -> A[i, j + 1] }`.
What is known of some of very many sizes, without the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from enum import Enum, unique
from functools import cached_property

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import Loc
from polyopt.ir.affine import FEW, covering_map, param_space, time_map
from polyopt.ir.array import Array as Array
from polyopt.ir.array import Role as Role
from polyopt.ir.expr import BinaryOp, Expr, Load, loads, rewrite
from polyopt.ir.extremum import chosen
from polyopt.ir.names import params_of
from polyopt.ir.parameters import bare, mentioned, param_names
from polyopt.ir.showing import show
from polyopt.ir.types import DType


@unique
class AccessKind(Enum):
    """Read or write; a MAY_WRITE of an instance may leave the element as it was."""

    READ = "read"
    MUST_WRITE = "must-write"
    MAY_WRITE = "may-write"


@dataclass(frozen=True, eq=False)
class Access:
    """One access of one statement: `relation` is instance -> element, restricted to the domain.

    `exact` is False where a subscript is not affine: in that dimension the relation covers all.
    """

    ref: str
    array: str
    kind: AccessKind
    index: tuple[Expr, ...]
    relation: isl.Map
    exact: bool


@dataclass(frozen=True, slots=True)
class Reduction:
    """The statement is `target = target op rest`, `target` being the left operand of its value.

    Or it chooses an extremum (`ir.choice`), `op` being MAX or MIN.
    `reassociable`: the source leaves the order of the operations open (`np.sum`, `@`).
    `narrow`: NumPy may round each partial result to that type, here they are rounded once.
    `rounds`: FLOAT32 factors of its terms may be rounded to tf32 (11 bits) before they are used.
    `carried`: its terms are multiples of exponentials below the maximum of their row; they may be
    taken below a maximum so far, and multiplied by the exponentials of its rises.
    """

    op: BinaryOp
    reassociable: bool
    rounds: bool = False
    narrow: DType | None = None
    carried: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """The source's statement, and its instance over `iters`, whose value an instance computes.

    `statement` "" is a copy or another instance that the source does not have.
    """

    statement: str
    instance: tuple[Expr, ...] = ()


@dataclass(frozen=True, eq=False)
class Statement:
    """`target = value`, once for every instance in `domain`.

    `iters` name the domain's dimensions, outermost first.  `order` is the instance's position in
    the source's execution as a vector over iterators: constants for textual positions, `i` or `-i`
    for loops (`(0, i, 1, j, 0)`).  `guard` (BOOL, may read arrays) makes the write conditional.
    `text` is the source line.  `origin` is None for a statement of the source itself.
    `loops`: where the source has the loops of `iters`; None for a loop it does not write.
    `written`: of a function that polyopt has in place of NumPy's, whose roundings may be others.
    `regroups`: the terms of `a[i] = a[i - 1] op x` may be combined in any grouping.
    `fuses`: sums of products in the value may be regrouped, each product and sum rounded once.
    """

    name: str
    iters: tuple[str, ...]
    domain: isl.Set
    order: tuple[Expr, ...]
    target: Load
    value: Expr
    loc: Loc | None
    text: str
    reduction: Reduction | None = None
    guard: Expr | None = None
    origin: Origin | None = None
    loops: tuple[Loc | None, ...] = ()
    written: bool = False
    regroups: bool = False
    fuses: bool = False

    @cached_property
    def write(self) -> Access:
        """The access that writes `target`."""
        kind = AccessKind.MUST_WRITE if self.guard is None else AccessKind.MAY_WRITE
        return self._access(0, self.target, kind)

    @cached_property
    def reads(self) -> tuple[Access, ...]:
        """The reads of `value`, of `guard` and of the target's subscripts, in source order."""
        return tuple(
            self._access(number, load, AccessKind.READ)
            for number, load in enumerate(self.loads, start=1)
        )

    @property
    def loads(self) -> tuple[Load, ...]:
        """What `reads` are the accesses of."""
        guard = () if self.guard is None else (self.guard,)
        exprs = (self.value, *guard, *self.target.index)
        return tuple(load for expr in exprs for load in loads(expr))

    def time(self, length: int) -> isl.Map:
        """Return instance -> original execution time, padded to `length`."""
        if length not in self._times:
            self._times[length] = time_map(self.domain, self.order, length)
        return self._times[length]

    @cached_property
    def _times(self) -> dict[int, isl.Map]:
        return {}

    def at(self, order: tuple[Expr, ...]) -> Statement:
        """Return the same statement in another place of the order; what it accesses is known."""
        if order == self.order:
            return self
        accesses = {"write": self.write, "reads": self.reads}
        moved = replace(self, order=order)
        vars(moved).update(accesses)  # where cached properties are
        return moved

    def rewritten(self, rule: Callable[[Expr], Expr | None]) -> Statement:
        """Return the same statement with `rule` applied to its target, value and guard."""
        target = rewrite(self.target, rule)
        assert isinstance(target, Load)
        guard = None if self.guard is None else rewrite(self.guard, rule)
        return replace(self, target=target, value=rewrite(self.value, rule), guard=guard)

    @cached_property
    def is_reassociable(self) -> bool:
        """A reduction whose order is open and that reads its accumulator nowhere else."""
        if self.reduction is None or not self.reduction.reassociable:
            return False
        cell = (self.target.array, self.target.index)
        own = [a for a in self.reads if (a.array, a.index) == cell]
        return len(own) == 1 or (
            len(own) == 2 and chosen(self.value, self.target) is self.reduction.op
        )

    @cached_property
    def arrays(self) -> frozenset[str]:
        """The arrays that it touches."""
        return frozenset((self.write.array, *(read.array for read in self.reads)))

    @cached_property
    def sizes(self) -> frozenset[str]:
        """The sizes that its instances, their order and what they compute mention."""
        exprs = [self.target, self.value, *self.order]
        exprs += () if self.guard is None else (self.guard,)
        exprs += () if self.origin is None else self.origin.instance
        return params_of(exprs).union(mentioned(self.domain, self.domain.get_space()))

    def _access(self, number: int, load: Load, kind: AccessKind) -> Access:
        ref = f"{self.name}_{number}"
        relation, exact = covering_map(self.domain, load.array, load.index)
        if kind is AccessKind.MUST_WRITE and not exact:
            kind = AccessKind.MAY_WRITE
        return Access(ref, load.array, kind, load.index, relation, exact)

    def __str__(self) -> str:
        head = f"{self.name}[{', '.join(self.iters)}]"
        rule = f"{show(self.target)} = {show(self.value)}"
        if self.guard is not None:
            rule += f"  if {show(self.guard)}"
        return f"{head}: {rule}"


@dataclass(frozen=True, eq=False)
class Scop:
    """A static control part.

    `params` are the isl parameters in order; `context` (a parameter set) is what is known of them.
    Statements stand in textual order.  A TEMP array is undefined at entry and dead at exit.
    """

    params: tuple[str, ...]
    context: isl.Set
    arrays: tuple[Array, ...]
    statements: tuple[Statement, ...]

    @cached_property
    def order(self) -> isl.UnionMap:
        """instance -> original execution time, all padded to one length."""
        return self.order_of(frozenset(statement.name for statement in self.statements))

    def order_of(self, names: Collection[str]) -> isl.UnionMap:
        """Return the part of `order` of the statements with these names."""
        length = max((len(s.order) for s in self.statements), default=1)
        result = isl.UnionMap.empty(self.context.get_space())
        for statement in self.statements:
            if statement.name in names:
                result = result.union(isl.UnionMap.from_map(statement.time(length)))
        return result

    @cached_property
    def domain(self) -> isl.UnionSet:
        """All statement instances."""
        result = isl.UnionSet.empty(self.context.get_space())
        for statement in self.statements:
            result = result.union(isl.UnionSet.from_set(statement.domain))
        return result

    @cached_property
    def sizes(self) -> SizeFacts:
        """What `context` says of some of the sizes."""
        return SizeFacts(self.context)

    def part(self, statements: Sequence[Statement], names: Collection[str] = ()) -> Scop:
        """Return some of the statements, with the sizes alone that they and the context mention.

        `names` are more sizes that matter.
        """
        arrays = {array: None for s in statements for array in s.arrays}
        found = tuple(array for array in self.arrays if array.name in arrays)
        extents = (extent for array in found for extent in array.shape)
        own = (s.sizes for s in statements)
        params = self.sizes.linked(frozenset(names).union(params_of(extents), *own))
        space = param_space(params)
        domains = (isl.Set.align_params(bare(s.domain), space) for s in statements)
        renewed = (replace(s, domain=d) for s, d in zip(statements, domains, strict=True))
        return Scop(params, self.sizes.alone(params), found, tuple(renewed))

    @cached_property
    def known(self) -> dict[object, object]:
        """What analyses have found out and need not ask again; forgotten with the Scop."""
        return {}

    def array(self, name: str) -> Array:
        """Return the array called `name`; raises `KeyError`."""
        return self._arrays[name]

    def statement(self, name: str) -> Statement:
        """Return the statement called `name`; raises `KeyError`."""
        return self._statements[name]

    @cached_property
    def _arrays(self) -> dict[str, Array]:
        return {array.name: array for array in reversed(self.arrays)}

    @cached_property
    def _statements(self) -> dict[str, Statement]:
        return {statement.name: statement for statement in reversed(self.statements)}

    def __str__(self) -> str:
        lines = [f"params {', '.join(self.params)}  context {self.context}"]
        for array in self.arrays:
            shape = ", ".join(show(s) for s in array.shape)
            lines.append(f"{array.role.value} {array.name}: {array.dtype}[{shape}]")
        for statement in self.statements:
            lines.append(str(statement))
            lines.append(f"    domain {statement.domain}")
            lines.append(f"    order  [{', '.join(show(e) for e in statement.order)}]")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class SizeFacts:
    """The constraints of a context; they are told apart where it is one convex piece."""

    context: isl.Set

    @property
    def is_many(self) -> bool:
        """Whether there are so many sizes that it matters how many a question is about."""
        return self.context.dim(isl.dim_type.param) > FEW

    def about(self, names: Iterable[str]) -> isl.Set:
        """Return what is known of `names`, or the whole context where it has few sizes."""
        if not self.is_many or self._groups is None:
            return self.context
        numbers = {self._numbers[name] for name in names if name in self._numbers}
        found = isl.BasicSet.universe(self.context.get_space())
        for constraint in (c for n in sorted(numbers) for c in self._groups[n][1]):
            found = found.add_constraint(constraint)
        return isl.Set.from_basic_set(found)

    def linked(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return, in order, `names` and the sizes that are known of together with one of them."""
        if self._groups is None:
            return tuple(self._places)
        found = set(names) & self._places.keys()
        for number in {self._numbers[name] for name in found if name in self._numbers}:
            found |= self._groups[number][0]
        return tuple(sorted(found, key=self._places.__getitem__))

    def alone(self, names: tuple[str, ...]) -> isl.Set:
        """Return what is known of `names`, all that are linked, and of no other size."""
        return isl.Set.align_params(bare(self.about(names)), param_space(names))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(param_names(self.context))}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: n for n, (names, _) in enumerate(self._groups or ()) for name in names}

    @cached_property
    def _groups(self) -> list[tuple[frozenset[str], list[isl.Constraint]]] | None:
        """Sets of sizes that share no constraint, each with its constraints; None: all may."""
        pieces = self.context.get_basic_sets()
        if len(pieces) != 1 or pieces[0].dim(isl.dim_type.div):
            return None
        groups: dict[str, tuple[frozenset[str], list[isl.Constraint]]] = {}
        for constraint in pieces[0].get_constraints():
            own = mentioned(constraint, self.context.get_space())
            if not own:
                return None  # there are no such sizes
            known = {id(groups[name]): groups[name] for name in own if name in groups}
            names = frozenset(own).union(*(others for others, _ in known.values()))
            before = [one for _, constraints in known.values() for one in constraints]
            groups.update(dict.fromkeys(names, (names, [*before, constraint])))
        return list({id(one): one for one in groups.values()}.values())
