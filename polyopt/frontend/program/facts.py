"""What one reading of a function teaches the next: equal sizes, widths of variables, merges.

In: facts found while reading.  Out: the same object, grown; the reading is repeated until it stays.
"""

from __future__ import annotations

import ast
from typing import TypeAlias, TypeVar

from polyopt.capture.reads import Recording
from polyopt.dataclass import dataclass, field
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import is_size
from polyopt.frontend.integers.ranges import INDEX, SIZE, Name, Span, range_of
from polyopt.frontend.program.drafts import is_dynamic_name
from polyopt.frontend.syntax.pysource import PyFunction
from polyopt.frontend.values.promote import joined, unrounded
from polyopt.ir.expr import Const, Expr, Param, rewrite
from polyopt.ir.linear import normalize
from polyopt.ir.types import DType

MOST_ROUNDS = 3
"""How often ranges are looked at again; every round is right, later ones are tighter."""
Kinds: TypeAlias = dict[tuple[DType, bool], Const | None]
"""The types that a variable holds numbers of, and the only value of each if there is one."""
_Place = TypeVar("_Place")
Occurrence: TypeAlias = tuple[object, ...]  # call sites, line, column, name


@dataclass
class Facts:
    """`recording`: gives what names stand for.
    `counts_from_end`: negative subscripts do, as in Python; or else they are outside.
    `any_sizes`: arrays may end before loops, where data or empty loops prevent that it matters.
    `equal`: size parameters that are expressions over others.  `widths`: dtype and weakness of
    variables kept in memory across iterations or branches.  `merged`: names that need memory where
    branches meet; `partial`: those that a branch may leave unset.
    `kinds`: of what types the numbers in variables are; `tagged`: those where it matters which of
    them it is now; `inexact`: those that hold floats of Python's that a narrower type does not.
    `stored_conditions`: branches whose condition must be computed once.
    `compacted`: where names are bound to elements under a mask that must lie side by side.
    `filtered`: comprehensions of which only the run knows how many items they have.
    `lengths`: arrays bound again to others of a length that only the running kernel knows.
    `written_back`: names bound again whose memory is a copy that is written meanwhile.
    `bounded`: calls whose result is returned and must be no longer than they say themselves.
    `unsure`: views that are written and that only the layout in memory tells from copies.
    `grown`: where lists are made that grow, and the room each append needs.
    `ranges`: of Python's integers in memory; `sized`: integer arguments that are sizes or bounds.
    `computed`: size parameters that a call computes from others (`computed.as_affine`).
    `strides`: of one-dimensional arguments, products of sizes that iterators are multiplied by in
    their subscripts; `flat`: those that other subscripts keep in one dimension.
    `asked`: where the program says that a size parameter is what `equal` holds."""

    recording: Recording
    counts_from_end: bool = True
    any_sizes: bool = False
    equal: dict[str, Expr] = field(default_factory=dict)
    asked: dict[str, Loc] = field(default_factory=dict)
    widths: dict[Occurrence, tuple[DType, bool]] = field(default_factory=dict)
    kinds: dict[Occurrence, Kinds] = field(default_factory=dict)
    kind_rounds: int = 0  # how often they were learned anew
    tagged: set[Occurrence] = field(default_factory=set)
    inexact: set[Occurrence] = field(default_factory=set)
    merged: set[Occurrence] = field(default_factory=set)
    partial: set[Occurrence] = field(default_factory=set)
    stored_conditions: set[Occurrence] = field(default_factory=set)
    compacted: set[Occurrence] = field(default_factory=set)
    filtered: set[Occurrence] = field(default_factory=set)
    lengths: set[Occurrence] = field(default_factory=set)
    written_back: set[Occurrence] = field(default_factory=set)
    bounded: set[Occurrence] = field(default_factory=set)
    unsure: set[Occurrence] = field(default_factory=set)
    ranges: dict[Occurrence, Span] = field(default_factory=dict)
    sized: frozenset[str] = frozenset()
    rounds: int = 0  # how often ranges were learned
    computed: dict[str, Expr] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    functions: dict[object, PyFunction] = field(default_factory=dict)
    closures: dict[ast.AST, ast.FunctionDef] = field(default_factory=dict)
    guarded: dict[ast.AST, ast.If] = field(default_factory=dict)  # loops over tuples, left early
    answers: dict[object, bool] = field(default_factory=dict)  # of isl, from reading to reading
    annotations_read: bool = False
    rotations: dict[Occurrence, tuple[tuple[str, ...], int]] = field(default_factory=dict)
    shapes: dict[Occurrence, tuple[Expr, ...]] = field(default_factory=dict)
    grown: dict[Occurrence, dict[Occurrence, Expr]] = field(default_factory=dict)
    conditions: dict[Expr, None] = field(default_factory=dict)  # branched on, known by a call
    flags: dict[str, None] = field(default_factory=dict)  # arguments that are truth values, too
    written: frozenset[str] | None = None  # arguments, once somebody asked
    strides: dict[str, frozenset[tuple[Expr, ...]]] = field(default_factory=dict)
    flat: set[str] = field(default_factory=set)
    depth: int = 0  # which equations may be solved: 0 size = size, 1 sums, 2 any expression
    deferred: bool = False  # an equation waits for a greater depth
    version: int = 0

    def resolve(self, expr: Expr) -> Expr:
        """Return `expr` over the parameters that remain."""
        if not self.equal:
            return expr
        found = rewrite(expr, lambda e: self.equal.get(e.name) if isinstance(e, Param) else None)
        return normalize(found) if found.dtype is DType.INT64 else found

    def set_equal(self, param: str, value: Expr, loc: Loc | None = None) -> None:
        """Learn that `param` is `value` (over parameters that remain); `loc` says so."""
        if loc is not None:
            self.asked[param] = loc
        self.equal = {name: _replace(old, param, value) for name, old in self.equal.items()}
        self.equal[param] = value
        whole = self.expanded(value)
        self.computed = {name: _replace(old, param, whole) for name, old in self.computed.items()}
        self.version += 1

    def expanded(self, expr: Expr) -> Expr:
        """Return `expr` with computed sizes replaced by what they are computed from."""
        return rewrite(expr, lambda e: self.computed.get(e.name) if isinstance(e, Param) else None)

    def span_of(self, param: str) -> Span | None:
        """Return what values a parameter may have, None: any of 64 bits."""
        if param in self.computed:
            return range_of(self.computed[param], self._span)
        if is_dynamic_name(param) or param in self.sized:
            return INDEX
        return SIZE if is_size(param) else None

    def _span(self, name: Name) -> Span | None:
        return self.span_of(name.name) if isinstance(name, Param) else None

    def set_ranges(self, ranges: dict[Occurrence, Span], sized: frozenset[str]) -> None:
        """Learn tighter ranges of variables, and which integer arguments are sizes."""
        if self.rounds < MOST_ROUNDS and (ranges != self.ranges or not sized <= self.sized):
            self.ranges, self.sized = ranges, self.sized | sized
            self.rounds += 1
            self.version += 1

    def set_written(self, arguments: frozenset[str]) -> None:
        """Learn which arguments the function writes."""
        if self.written is None or not arguments <= self.written:
            self.written = arguments | (self.written or frozenset())
            self.version += 1

    def set_width(self, place: Occurrence, dtype: DType, weak: bool, loc: Loc | None) -> None:
        """Learn that the variable at `place` holds numbers of `dtype`, beside what it holds."""
        held = self.widths.get(place)
        wide = (dtype, weak) if held is None else joined(held, (dtype, weak), loc)
        if wide != held:
            self.widths[place] = wide
            self.version += 1

    def width(self, place: Occurrence) -> tuple[DType, bool] | None:
        """Return what type, and weakness, holds all numbers of the variable at `place`."""
        held = self.widths.get(place)
        if held is None or place not in self.inexact:
            return held
        return unrounded(held[0]), held[1]

    def set_kinds(self, kinds: dict[Occurrence, Kinds]) -> None:
        """Learn the types of numbers in variables; the first readings may see some too many."""
        if self.kind_rounds < MOST_ROUNDS and kinds != self.kinds:
            self.kinds = kinds
            self.kind_rounds += 1
            self.version += 1
        for place, found in kinds.items():
            known = self.kinds.setdefault(place, {})
            for kind, only in found.items():
                held = known.get(kind, only)
                if kind not in known or held not in (None, only):
                    known[kind] = only if held == only else None
                    self.version += 1

    def set_shape(self, place: Occurrence, shape: tuple[Expr, ...]) -> None:
        """Learn that the variable at `place` is an array of this shape."""
        if place not in self.shapes:
            self.shapes[place] = shape
            self.version += 1

    def set_room(self, place: Occurrence, site: Occurrence, room: Expr) -> None:
        """Learn that the list made at `place` may get `room` items at `site`."""
        sites = self.grown.setdefault(place, {})
        if site in sites and self.resolve(sites[site]) != self.resolve(room):
            site = (*site, self.resolve(room))  # one statement, read for several items
        if site not in sites:
            sites[site] = room
            self.version += 1

    def set_rotation(self, place: Occurrence, names: tuple[str, ...], period: int) -> None:
        """Learn that `names` change places in the loop at `place`."""
        if place not in self.rotations:
            self.rotations[place] = (names, period)
            self.version += 1

    def drop_rotation(self, place: Occurrence) -> None:
        """Learn that names do not come back to their arrays in the loop at `place`."""
        self.rotations[place] = ((), 1)
        self.version += 1

    def add(self, places: set[_Place], place: _Place) -> None:
        """Learn a member of `merged` or `stored_conditions`."""
        if place not in places:
            places.add(place)
            self.version += 1


def _replace(expr: Expr, param: str, value: Expr) -> Expr:
    found = rewrite(expr, lambda e: value if e == Param(param) else None)
    return normalize(found)
