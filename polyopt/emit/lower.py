"""Lower a program and its proven schedules to the loop AST.

In: a `Program`, a `Schedule` for each of its static control parts.  Out: a `LoopFunction` that runs
every instance once, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from polyopt.dataclass import dataclass, replace
from polyopt.emit.lower_scop import Lowered, lower_scop
from polyopt.ir.expr import Expr, Iter, Param, Symbol, Unary, UnaryOp, rewrite
from polyopt.ir.growth import outgrown
from polyopt.ir.loops import (
    AllocateArray,
    Body,
    Break,
    CallLibrary,
    Declare,
    DeclareArray,
    Fail,
    For,
    If,
    LoopFunction,
    LoopKind,
    Node,
    Space,
    While,
)
from polyopt.ir.names import params
from polyopt.ir.nodes import all_nodes, changed
from polyopt.ir.program import (
    Allocate,
    Bind,
    Invoke,
    Part,
    Parts,
    Program,
    Repeat,
    Require,
    all_parts,
)
from polyopt.ir.scop import Array, Role, Scop
from polyopt.ir.source import ScalarArg
from polyopt.ir.types import DType
from polyopt.never import assert_never
from polyopt.schedule.data_steps import DataStep
from polyopt.schedule.schedule import Schedule


def lower(
    schedules: Schedule | Sequence[Schedule],
    program: Program,
    *,
    moves: bool = True,
    by_thread: bool = False,
    at_call: bool = False,
) -> LoopFunction:
    """Return the loops that run a program, one schedule for each of its static control parts.

    Iterators are named after the source's.  Without `moves` all values stay where the source has
    them, and isl separates no loops.  `by_thread`: threads may have temporaries of their own;
    `at_call`: of extents that are known at the call only.
    """
    if isinstance(schedules, Schedule):
        schedules = (schedules,)
    sizes = _sizes(program, by_thread=by_thread, at_call=at_call)
    made = [
        lower_scop(schedule, _names(program), moves=moves, sizes=sizes.get(id(scop)))
        for scop, schedule in zip(program.scops, schedules, strict=True)
    ]
    bound = _bound_names(program.parts)
    local = {name for scop in made for name in scop.local} | _private(program.parts)
    arrays = _arrays(program, made, local)
    own = {
        id(scop) for scop, one in zip(program.scops, made, strict=True) if _has_own(program, one)
    }
    body = _Assembly(program, iter(made), bound, frozenset(own)).body(program.parts)
    return LoopFunction(
        program.name,
        tuple(_sized(array, bound) for array in arrays),
        _params(program),
        program.signature,
        body,
        tuple(str(step) for schedule in schedules for step in schedule.trace),
        reassociable=frozenset(name for scop in made for name in scop.reassociable),
        fusible=frozenset(name for scop in made for name in scop.fusible),
        laws=tuple(_by_laws(program, schedules)),
    )


def _by_laws(program: Program, schedules: Sequence[Schedule]) -> Iterator[Program]:
    """Yield the programs that steps made by a law of arithmetic, each of the one before."""
    for schedule in schedules:
        for one in schedule.history():
            step = one.trace[-1] if one.trace else None
            if isinstance(step, DataStep) and step.uses_law:
                temporaries = [a for a in one.scop.arrays if a.role is Role.TEMP]
                arrays = tuple(a for a in program.arrays if a.role is not Role.TEMP)
                program = replace(program, parts=(one.scop,), arrays=(*arrays, *temporaries))
                yield program


def outgrowing(
    schedule: Schedule,
    program: Program,
    scop: Scop,
    *,
    by_thread: bool = False,
    at_call: bool = False,
) -> frozenset[str]:
    """Return the temporaries of a schedule that take more memory than the program's own arrays.

    `schedule` is one of `scop`, a part of `program`; it is lowered where its arrays alone do not
    tell.
    """
    own = {array.name: array for array in program.arrays}
    temporaries = [array for array in schedule.scop.arrays if array.role is Role.TEMP]
    if not outgrown(_new(temporaries, own), own.values()):
        return frozenset()
    sizes = _sizes(program, by_thread=by_thread, at_call=at_call)
    made = lower_scop(schedule, _names(program), sizes=sizes.get(id(scop)))
    declared = (node for node in all_nodes(made.body) if isinstance(node, DeclareArray))
    by_threads = (node.array for node in declared if node.space is Space.THREAD)
    large = outgrown(_new(made.expanded, own), own.values())
    return large.union(*(outgrown((array,), own.values()) for array in by_threads))


def _new(arrays: Iterable[Array], own: Mapping[str, Array]) -> Iterator[Array]:
    """Yield the arrays that are not as the program has them."""
    for array in arrays:
        known = own.get(array.name)
        if known is None or known.shape != array.shape:
            yield array


def _sizes(program: Program, *, by_thread: bool, at_call: bool) -> dict[int, frozenset[str]]:
    """Return for each static control part, by `id`, the sizes that threads know."""
    params = frozenset(_params(program))
    known = _known_sizes(program, program.parts, params, is_shared=at_call)
    return dict(known) if by_thread else {}


def _has_own(program: Program, made: Lowered) -> bool:
    """Tell whether a part keeps values in memory that the program does not know of."""
    return any(array not in program.arrays for array in made.expanded)


def _names(program: Program) -> frozenset[str]:
    arguments = program.signature.arguments
    symbols = {a.symbol for a in arguments if isinstance(a, ScalarArg)}
    arrays = {array.name for array in program.arrays}
    return frozenset(symbols | arrays | {program.name} | set(_bound_names(program.parts)))


def _params(program: Program) -> tuple[str, ...]:
    """Return the sizes that come with a call."""
    if program.is_static:
        return program.scop.params
    signature = program.signature
    return tuple(size.param for size in (*signature.sizes, *signature.computed))


def _known_sizes(
    program: Program, parts: Parts, known: frozenset[str], *, is_shared: bool = False
) -> Iterator[tuple[int, frozenset[str]]]:
    """Yield for each static control part the sizes that are known where its threads begin.

    `is_shared`: threads run a region around `parts`, and begin there.
    """
    if program.is_static:
        yield id(program.scop), known
        return
    for part in parts:
        match part:
            case Scop():
                yield id(part), known
            case Bind() if not is_shared:
                known |= {part.param}
            case Repeat():
                inner = is_shared or part.parallel
                own = known if inner or part.upper is None else known | {part.param}
                yield from _known_sizes(program, part.body, own, is_shared=inner)
            case _:
                pass


def _arrays(program: Program, made: Sequence[Lowered], local: set[str]) -> list[Array]:
    """Return the arrays that are storage of the function; schedules may have changed them."""
    if program.is_static:
        return list(made[0].arrays)
    renewed: dict[str, Array] = {array.name: array for array in program.arrays}
    for scop in made:
        for array in scop.arrays:
            if array.name not in renewed or array.role is Role.TEMP:
                renewed[array.name] = array
    return [array for name, array in renewed.items() if name not in local]


# -- regions ----------------------------------------------------------------------------------


def _bound_names(parts: Parts) -> dict[str, Expr]:
    """Return what stands for each name bound by a region: a local, or a loop's iterator."""
    result: dict[str, Expr] = {}
    for part in all_parts(parts):
        match part:
            case Bind(param=param):
                result[param] = Symbol(param, DType.INT64)
            case Repeat(param=param):
                result[param] = Iter(param)
            case _:
                pass
    return result


def _private(parts: Parts) -> set[str]:
    return {name for part in all_parts(parts) if isinstance(part, Repeat) for name in part.private}


def _sized(array: Array, bound: Mapping[str, Expr]) -> Array:
    return replace(array, shape=tuple(_outside(extent, bound) for extent in array.shape))


def _outside(expr: Expr, bound: Mapping[str, Expr]) -> Expr:
    if not bound:
        return expr
    return rewrite(expr, lambda e: bound.get(e.name) if isinstance(e, Param) else None)


@dataclass(frozen=True, eq=False)
class _Assembly:
    """Puts the loops of static control parts, in order, into the control around them.

    Parts in `own` have memory of their own: a region around them that was judged to be parallel has
    iterations that share it, and runs in order.
    """

    program: Program
    bodies: Iterator[Lowered]
    bound: Mapping[str, Expr]
    own: frozenset[int]

    def body(self, parts: Parts) -> Body:
        return tuple(node for part in parts for node in self.part(part))

    def part(self, part: Part) -> Body:
        match part:
            case Scop():
                return self.scop(next(self.bodies))
            case Bind():
                return (Declare(part.param, DType.INT64, 1, self.outside(part.value)),)
            case Require():
                return (If(_negated(self.outside(part.condition)), (Fail(part.fault),)),)
            case Allocate():
                return (AllocateArray(self.sized(part.array)),)
            case Invoke():
                inputs = tuple(map(self.sized, part.inputs))
                return (CallLibrary(part.site, inputs, tuple(map(self.sized, part.outputs))),)
            case Repeat():
                return (self.repeat(part),)
            case _:
                assert_never(part)

    def scop(self, made: Lowered) -> Body:
        """Return the loops of a part, after memory for temporaries of dynamic size."""
        if not self.bound:
            return made.body
        parts = all_parts(self.program.parts)
        placed = {part.array for part in parts if isinstance(part, Allocate)}
        late = (a for a in made.expanded if a.name not in placed and self._is_dynamic(a))
        storage = tuple(AllocateArray(_sized(array, self.bound)) for array in late)
        return (*storage, *(changed(node, self._rule) for node in made.body))

    def repeat(self, part: Repeat) -> Node:
        body = self.body(part.body)
        if part.upper is None:
            assert part.going is not None
            return While(part.going, body)
        private = tuple(DeclareArray(self.program.array(name)) for name in part.private)
        leave = () if part.going is None else (If(_negated(part.going), (Break(),)),)
        together = part.parallel and not any(id(p) in self.own for p in all_parts(part.body))
        return For(
            part.param,
            self.outside(part.lower),
            self.outside(part.upper),
            part.step,
            LoopKind.PARALLEL if together else LoopKind.SEQUENTIAL,
            (*private, *leave, *body),
            part.label,
        )

    def sized(self, name: str) -> Array:
        return _sized(self.program.array(name), self.bound)

    def outside(self, expr: Expr) -> Expr:
        return _outside(expr, self.bound)

    def _rule(self, expr: Expr) -> Expr | None:
        return self.bound.get(expr.name) if isinstance(expr, Param) else None

    def _is_dynamic(self, array: Array) -> bool:
        return not params(*array.shape).isdisjoint(self.bound)


def _negated(condition: Expr) -> Expr:
    return Unary(UnaryOp.INVERT, condition, DType.BOOL)
