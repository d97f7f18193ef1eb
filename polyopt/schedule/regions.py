"""Analyse dataflow between the parts of a program: private arrays, parallel regions.

In: a `Program`.  Out: the same program with loops of regions marked parallel where that is proven,
and arrays that only one part uses as its temporaries.
Dynamic sizes and inner loops of a region may have any value: a conflict for any of them counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.affine import index_box
from polyopt.ir.expr import Const, Expr, Load, loads
from polyopt.ir.names import reads
from polyopt.ir.parameters import without_params
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
from polyopt.ir.scop import Access, AccessKind, Array, Role, Scop
from polyopt.never import assert_never
from polyopt.schedule.dependences import exposed_reads

MAX_PRIVATE = 4096  # elements of an array that every iteration has its own copy of
_PARAM = isl.dim_type.param


def settle_regions(program: Program) -> Program:
    """Return `program` with parallel loops of regions and temporaries of parts marked."""
    if program.is_static:
        return program
    analysis = _RegionAnalysis(program)
    return replace(program, parts=analysis.temporaries(analysis.loops(program.parts), False))


def independent(program: Program, loop: Repeat) -> bool:
    """Tell whether the iterations of `loop`, a part of `program`, are proven independent."""
    return _RegionAnalysis(program).independent(loop) is not None


def touched(part: Part) -> frozenset[str]:
    """Return the arrays that a part accesses, including parts inside it."""
    match part:
        case Scop():
            return frozenset(a.array for s in part.statements for a in (s.write, *s.reads))
        case Bind():
            return reads(part.value)
        case Require():
            return frozenset()
        case Allocate():
            return frozenset([part.array])
        case Invoke():
            return frozenset((*part.inputs, *part.outputs))
        case Repeat():
            found = frozenset().union(*map(touched, part.body))
            return found if part.going is None else found | {part.going.array}
        case _:
            assert_never(part)


@dataclass(frozen=True, eq=False)
class _RegionAnalysis:
    program: Program

    # -- temporaries of one part ----------------------------------------------------------------

    def temporaries(self, parts: Parts, repeated: bool) -> Parts:
        """Return the parts with arrays that are dead after a part as TEMP there."""
        result: list[Part] = []
        for part in parts:
            match part:
                case Scop():
                    result.append(self._scop(part, repeated))
                case Repeat() if not part.parallel:
                    result.append(replace(part, body=self.temporaries(part.body, True)))
                case _:
                    result.append(part)
        return tuple(result)

    def _scop(self, scop: Scop, repeated: bool) -> Scop:
        arrays = []
        for array in scop.arrays:
            own = self.program.array(array.name).role is Role.TEMP
            own = own and self._users(array.name) == 1
            if own and (not repeated or exposed_reads(scop, array.name).is_empty()):
                array = replace(array, role=Role.TEMP)
            arrays.append(array)
        return replace(scop, arrays=tuple(arrays))

    def _users(self, array: str) -> int:
        """Return the number of parts, not counting loops of regions, that access an array."""
        return sum(
            array in touched(part)
            if not isinstance(part, Repeat)
            else part.going is not None and part.going.array == array
            for part in all_parts(self.program.parts)
        )

    # -- independent iterations -----------------------------------------------------------------

    def loops(self, parts: Parts) -> Parts:
        """Return the parts with the outermost independent loops parallel."""
        result: list[Part] = []
        for part in parts:
            if isinstance(part, Repeat):
                private = self.independent(part)
                if private is None:
                    part = replace(part, body=self.loops(part.body))
                else:
                    part = replace(part, parallel=True, private=private)
            result.append(part)
        return tuple(result)

    def independent(self, loop: Repeat) -> tuple[str, ...] | None:
        """Return the arrays private to an iteration, None when iterations depend on each other."""
        inside = tuple(all_parts(loop.body))
        if loop.going is not None or any(isinstance(p, Invoke | Allocate) for p in inside):
            return None
        private: list[str] = []
        for name in sorted(touched(loop)):
            array = self.program.array(name)
            if array.role in (Role.INPUT, Role.FAULT):
                continue
            if self._is_private(loop, array):
                private.append(name)
            elif not self._is_apart(loop, array):
                return None
        return tuple(private)

    def _is_private(self, loop: Repeat, array: Array) -> bool:
        """Tell whether every iteration writes all it reads, and the array is dead afterwards."""
        if array.role is not Role.TEMP or not _is_small(array):
            return False
        inside = sum(array.name in touched(part) for part in all_parts(loop.body))
        everywhere = sum(array.name in touched(part) for part in all_parts(self.program.parts))
        around = sum(
            array.name in touched(part)
            for part in all_parts(self.program.parts)
            if isinstance(part, Repeat) and any(p is loop for p in all_parts((part,)))
        )
        if everywhere != inside + around:
            return False
        return _is_written_first(loop.body, array, False) is not None

    def _is_apart(self, loop: Repeat, array: Array) -> bool:
        """Tell whether no element written in one iteration is accessed in another."""
        writes, all_ = None, None
        for access, cells in _cells(loop.body, array.name):
            one = _by_iteration(cells, loop.param, loop.body)
            all_ = one if all_ is None else all_.union(one)
            if access is not AccessKind.READ:
                writes = one if writes is None else writes.union(one)
        if writes is None or all_ is None:
            return True
        pairs = writes.apply_range(all_.reverse())
        same = isl.Map.identity(pairs.get_space())
        return bool(pairs.subtract(same).is_empty())


def _is_small(array: Array) -> bool:
    size = 1
    for extent in array.shape:
        if not isinstance(extent, Const):
            return False
        size *= max(1, int(extent.value.real))
    return size <= MAX_PRIVATE


def _is_written_first(  # noqa: C901 - one case per part
    parts: Parts, array: Array, written: bool
) -> bool | None:
    """Return whether `parts` write all of `array`; None if it may be read before."""
    for part in parts:
        if array.name not in touched(part):
            continue
        match part:
            case Scop():
                if not written and not exposed_reads(part, array.name).is_empty():
                    return None
                written = written or _writes_all(part, array)
            case Bind():
                if not written:
                    return None
            case Repeat():
                if part.going is not None and part.going.array == array.name and not written:
                    return None
                if _is_written_first(part.body, array, written) is None:
                    return None
            case Require():
                pass
            case Allocate() | Invoke():
                return None
            case _:
                assert_never(part)
    return written


def _writes_all(scop: Scop, array: Array) -> bool:
    """Tell whether a part surely writes every element."""
    whole = index_box(array.name, array.shape, scop.params)
    for statement in scop.statements:
        write = statement.write
        if write.array == array.name and write.kind is AccessKind.MUST_WRITE:
            whole = whole.subtract(_range(write, scop))
    return bool(whole.intersect_params(scop.context).is_empty())


def _range(access: Access, scop: Scop) -> isl.Set:
    return access.relation.intersect_params(scop.context).range()


def _cells(parts: Parts, array: str) -> Iterator[tuple[AccessKind, isl.Set]]:
    """Yield the elements of an array that parts access, as sets over parameters."""
    for part in all_parts(parts):
        match part:
            case Scop():
                for statement in part.statements:
                    for access in (statement.write, *statement.reads):
                        if access.array == array:
                            yield access.kind, _range(access, part)
            case Bind(value=value):
                yield from _elements((value,), array)
            case Repeat(going=Load() as going):
                yield from _elements((going,), array)
            case _:
                pass


def _elements(exprs: tuple[Expr, ...], array: str) -> Iterator[tuple[AccessKind, isl.Set]]:
    """Yield the 0-d arrays that control reads."""
    for expr in exprs:
        for load in loads(expr):
            if load.array == array:
                yield AccessKind.READ, index_box(array, (), ())


def _by_iteration(cells: isl.Set, param: str, body: Parts) -> isl.Map:
    """Return iteration -> element; names bound inside the body may have any value."""
    bound = {part.param for part in all_parts(body) if isinstance(part, Bind | Repeat)}
    relation = isl.Map.from_range(without_params(cells, sorted(bound))).insert_dims(
        isl.dim_type.in_, 0, 1
    )
    position = relation.find_dim_by_name(_PARAM, param)
    if position < 0:
        return relation
    equal = isl.Constraint.alloc_equality(isl.LocalSpace.from_space(relation.get_space()))
    equal = equal.set_coefficient_val(isl.dim_type.in_, 0, isl.Val(1))
    equal = equal.set_coefficient_val(_PARAM, position, isl.Val(-1))
    return relation.add_constraint(equal).project_out(_PARAM, position, 1)
