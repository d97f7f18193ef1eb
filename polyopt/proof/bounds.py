"""Check that every access lies inside its array, for all sizes and all data.

In: the loops as they are printed.  Out: claims, one for each array.
Values that are not affine (elements, locals) count as unknown numbers; conditions that the loops
test on them before their use are known to hold, as long as nothing in between can change them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import islpy as isl

from polyopt.dataclass import dataclass, field, replace
from polyopt.ir.expr import (
    Call,
    Cast,
    Compare,
    CompareOp,
    Expr,
    Load,
    Param,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
    add,
    integer,
    loads,
    rewrite,
    walk,
)
from polyopt.ir.linear import Linear, from_linear, linear
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Body,
    CallLibrary,
    Declare,
    DeclareArray,
    For,
    If,
    LoopFunction,
    Node,
    While,
)
from polyopt.ir.names import iterators, params, reads, symbols
from polyopt.ir.nodes import all_nodes
from polyopt.ir.parameters import param_names, without_params
from polyopt.ir.scop import Array, Role, SizeFacts
from polyopt.ir.showing import show
from polyopt.ir.types import DType
from polyopt.proof import integer_ranges
from polyopt.proof.affine import Frame, NotAffine
from polyopt.proof.certificate import Claim, ClaimKind, Verdict
from polyopt.proof.integer_ranges import Spans, Unknowns, ValueRange
from polyopt.proof.nodes import (
    chosen_accesses,
    end_of,
    expressions,
    is_changed,
    set_locals,
    told_after,
    written,
)
from polyopt.proof.paths import conjuncts


@dataclass(frozen=True, eq=False)
class _Place:
    """Iterations that reach a node, over `frame`; unknown numbers are its parameters.

    `choices` hold, too: unions about unknown numbers, put in only where an access needs them.
    `data` are conditions on data, with unknown truth values, that hold; those that have subscripts,
    too, are put in where the truth values are known.
    """

    frame: Frame
    domain: isl.Set
    uppers: tuple[tuple[str, Expr], ...] = ()
    spans: Spans = field(default_factory=dict)
    choices: tuple[Expr, ...] = ()
    data: tuple[Expr, ...] = ()


_Waiting: TypeAlias = tuple[Node, Spans, tuple[Expr, ...]]
"""A node, the spans before it, and conditions that hold before it and that it changes."""


def check_bounds(
    function: LoopFunction,
    given: Mapping[str, Array],
    params: tuple[str, ...],
    context: isl.Set,
    is_wanted: Callable[[Node], bool] = lambda _: True,
) -> list[Claim]:
    """Return one claim for each array that the nodes `is_wanted` access.

    `given` are the program's own arrays.
    """
    frame = Frame(params)
    start = _Place(frame, frame.universe.intersect_params(context))
    held = _contents(function, start)
    checker = _Checker({a.name: a for a in function.arrays}, held)
    checker.sizes = frozenset(function.params)
    checker.given = frozenset(params)
    checker.is_wanted = is_wanted
    if not held and checker.sizes.issuperset(params):
        checker.start, checker.facts = start.domain, SizeFacts(context)
    checker.body(function.body, start)
    claims = []
    for name in checker.seen:
        fault = checker.faults.get(name) or checker.trusted.get(name)
        is_open = name in checker.faults or not _is_given(checker.arrays.get(name), given)
        verdict = Verdict.OPEN if is_open else Verdict.TRUSTED
        verdict = Verdict.PROVEN if fault is None else verdict
        shape = ", ".join(map(show, checker.arrays[name].shape)) if name in checker.arrays else ""
        claims.append(Claim(ClaimKind.BOUNDS, name, verdict, f"[{shape}]", fault or ""))
    return claims


def _is_given(array: Array | None, given: Mapping[str, Array]) -> bool:
    """Tell whether an array is one of the program's, with the program's extents."""
    if array is None or array.name not in given:
        return False
    shape = given[array.name].shape
    if len(shape) != len(array.shape):
        return False
    return all(_plain(a) == _plain(b) for a, b in zip(array.shape, shape, strict=True))


def _plain(extent: Expr) -> Expr:
    """Return `extent` with sizes computed at run time as parameters."""
    return rewrite(extent, lambda e: Param(e.name) if isinstance(e, Symbol) else None)


def _contents(function: LoopFunction, start: _Place) -> dict[str, isl.Set]:
    """Return the values that integer temporaries may hold: those written to them."""
    wanted = {
        array.name
        for array in function.arrays
        if array.role is Role.TEMP and array.dtype.is_integer
    }
    wanted &= {
        load.array
        for expr in expressions(function.body)
        for access in walk(expr)
        if isinstance(access, Load | VectorLoad)
        for index in access.index
        for load in loads(index)
    }
    wanted -= {
        array.name
        for node in all_nodes(function.body)
        if isinstance(node, CallLibrary)
        for array in node.outputs
    }
    if not wanted:
        return {}
    finder = _Contents({a.name: a for a in function.arrays}, {})
    finder.wanted = wanted
    finder.sizes = frozenset(function.params)
    finder.given = frozenset(start.frame.params)
    finder.body(function.body, start)
    return {name: values for name, values in finder.values.items() if values is not None}


class _Checker:
    def __init__(self, arrays: dict[str, Array], contents: dict[str, isl.Set]) -> None:
        self.arrays = arrays
        self.contents = contents
        self.unknowns = Unknowns()
        self.seen: dict[str, None] = {}
        self.faults: dict[str, str] = {}
        self.trusted: dict[str, str] = {}
        self.fresh = 0
        self.sizes = self.given = frozenset[str]()
        self.start: isl.Set | None = None
        self.facts: SizeFacts | None = None
        self.is_wanted: Callable[[Node], bool] = lambda _: True

    def body(self, body: Body, place: _Place, lasting: tuple[Expr, ...] = ()) -> None:
        """Check a body; after a node that ends the execution its condition is known to be false.

        Conditions in `lasting` hold until a node changes what they read.
        """
        waiting: list[_Waiting] = []
        ends = [(end_of(body, 0, known), known) for known in lasting]
        here = self.all_where(place, (known for end, known in ends if end > 0))
        for number, node in enumerate(body):
            match node:
                case DeclareArray() | AllocateArray():
                    self.arrays[node.array.name] = node.array
                case _:
                    pass
            ending = tuple(known for end, known in ends if end == 2 * number)
            if any(end <= 2 * number for end, _ in ends):
                self.nodes(waiting, here)
                waiting = []
                ends = [(end, known) for end, known in ends if end > 2 * number]
                here = self.all_where(place, (known for _, known in ends))
            waiting.append((node, place.spans, ending))
            named = [*self.named_after(node, body[number + 1 :], place.spans)]
            told = told_after(node, body[number + 1 :])
            spans = integer_ranges.ranges_after(node, place.spans)
            place, here = replace(place, spans=spans), replace(here, spans=spans)
            if named or told:
                self.nodes(waiting, here)
                waiting = []
                here = self.all_where(here, (*named, *told))
                place = self.all_where(place, named) if ends or told else here
                ends += ((end_of(body, number + 1, known), known) for known in told)
        self.nodes(waiting, here)

    def all_where(self, place: _Place, conditions: Iterable[Expr]) -> _Place:
        """Return the iterations at which all of some conditions hold."""
        for condition in conditions:
            place = self.where(place, condition)
        return place

    def nodes(self, waiting: Sequence[_Waiting], place: _Place) -> None:
        """Check nodes that run at the same iterations; ranges alone may change between them."""
        own: dict[tuple[Expr, ...], list[Load | VectorLoad]] = {}
        for node, spans, _ in waiting:
            for access, conditions in chosen_accesses(node) if self.is_wanted(node) else ():
                scalars = (part for index in access.index for part in walk(index))
                counted = tuple(integer_ranges.conditions(scalars, spans))
                own.setdefault((*conditions, *counted), []).append(access)
        for conditions, accesses in own.items():
            self.check(accesses, self.all_where(place, conditions))
        for node, spans, ending in waiting:
            place = replace(place, spans=spans)
            match node:
                case For():
                    self.body(node.body, self.inside(self.narrowed(place, node), node))
                case If():
                    negated = Unary(UnaryOp.INVERT, node.condition, DType.BOOL)
                    branches = (node.condition, node.then), (negated, node.otherwise)
                    for condition, part in branches:
                        known = (*ending, condition) if ending else ()
                        self.body(part, self.branch(place, condition, part), known)
                case While():
                    within = replace(place, spans=integer_ranges.ranges_inside(node, spans))
                    self.body(node.body, within)
                case _:
                    pass

    # -- iterations

    def narrowed(self, place: _Place, node: Node) -> _Place:
        """Return the place of a node with only the parameters it depends on, if all are known."""
        if self.facts is None or place.domain is not self.start or not self.facts.is_many:
            return place
        exprs = list(expressions((node,)))
        touched = written((node,)).union(*map(reads, exprs))
        local = [n.array for n in all_nodes((node,)) if isinstance(n, DeclareArray | AllocateArray)]
        for array in (*local, *(self.arrays[name] for name in touched if name in self.arrays)):
            exprs += array.shape
        parts = (part for expr in exprs for part in walk(expr))
        names = self.facts.linked(p.name for p in parts if isinstance(p, Param | Symbol))
        frame = Frame(names)
        domain = frame.universe.intersect_params(self.facts.alone(names))
        return replace(place, frame=frame, domain=domain)

    def inside(self, place: _Place, loop: For) -> _Place:
        """Return the iterations of `loop`."""
        lower, upper = map(self.unknowns.abstracted, (loop.lower, loop.upper))
        outer, domain = self.reached(place, lower, upper)
        frame = outer.inside(loop.iter)
        domain = isl.Set.align_params(domain.add_dims(isl.dim_type.set, 1), frame.space)
        for bound, own, make in ((lower, loop.lower, "at_least"), (upper, loop.upper, "below")):
            if is_changed(own, loop.body):
                continue  # what the bound was, when the loop started, it need not be later
            frame, domain = self.wider(frame, domain, bound)
            try:
                domain = domain.intersect(getattr(frame, make)(loop.iter, bound))
            except NotAffine:
                continue
        if loop.step != 1:
            with contextlib.suppress(NotAffine):
                domain = domain.intersect(frame.stepped(loop.iter, lower, loop.step))
        spans = integer_ranges.ranges_inside(loop, place.spans)
        uppers = (*place.uppers, (loop.iter, loop.upper))
        return replace(place, frame=frame, domain=domain, uppers=uppers, spans=spans)

    def branch(self, place: _Place, condition: Expr, body: Body) -> _Place:
        """Return where `condition` holds, except parts that `body` changes."""
        for part in conjuncts(condition):
            if not is_changed(part, body):
                place = self.where(place, part)
        return place

    def where(self, place: _Place, condition: Expr) -> _Place:
        """Return the iterations at which `condition` holds, as far as that is known."""
        for part in conjuncts(condition):
            plain = self.unknowns.abstracted(part)
            frame, domain = self.wider(place.frame, place.domain, plain)
            try:
                here = frame.condition(plain)
            except NotAffine:
                place = replace(place, data=(*place.data, self.unknowns.decided(part)))
                continue
            if here.n_basic_set() > 1 and self.found_names(plain):
                place = replace(place, choices=(*place.choices, plain))
            else:
                place = replace(place, frame=frame, domain=domain.intersect(here))
        return place

    def found_names(self, *exprs: Expr) -> frozenset[str]:
        """Return the names in expressions that are neither sizes nor numbers bound before."""
        return (iterators(*exprs) | params(*exprs) | symbols(*exprs)) - self.given

    def reached(self, place: _Place, *exprs: Expr) -> tuple[Frame, isl.Set]:
        """Return a frame with all names in `exprs`, and the iterations as far as these matter."""
        frame, domain = place.frame, place.domain
        rest, needed = place.choices, list(exprs)
        names = self.found_names(*exprs) or params(*exprs)  # a fixed element: by the sizes
        while more := [c for c in rest if not names.isdisjoint(params(c) | self.found_names(c))]:
            rest = tuple(c for c in rest if c not in more)
            names |= self.found_names(*more)
            needed += more
        needed += self.decided(place, names)
        for expr in needed:
            frame, domain = self.wider(frame, domain, expr)
        for choice in needed[len(exprs) :]:
            domain = domain.intersect(frame.condition(choice))
        return frame, domain

    def decided(self, place: _Place, names: frozenset[str]) -> list[Expr]:
        """Return the conditions on data and on `names`, if other ones decide the data in them."""
        truths = {condition: self.found_names(condition) for condition in place.data}
        truths = {c: own for c, own in truths.items() if own & self.unknowns.truths}
        known = {
            c: own for c, own in truths.items() if len(own) == 1 and own <= self.unknowns.truths
        }
        told = [
            condition
            for condition, own in truths.items()
            if not names.isdisjoint(own - self.unknowns.truths)
            and (own & self.unknowns.truths).issubset(frozenset[str]().union(*known.values()))
        ]
        about = frozenset[str]().union(*(truths[condition] for condition in told))
        return [*told, *(condition for condition, own in known.items() if own <= about)]

    def wider(self, frame: Frame, domain: isl.Set, expr: Expr) -> tuple[Frame, isl.Set]:
        """Return frame and domain with every name in `expr` known."""
        names = {p.name for p in walk(expr) if isinstance(p, Param | Symbol)}
        new = sorted(names - set(frame.params) - set(frame.dims))
        if not new:
            return frame, domain
        frame = Frame((*frame.params, *new), frame.dims)
        domain = isl.Set.align_params(domain, frame.space)
        for unknown, name in self.unknowns.names.items():
            if name not in new:
                continue
            if isinstance(unknown, Load) and unknown.array in self.contents:
                domain = domain.intersect_params(_holding(self.contents[unknown.array], name))
            limits = integer_ranges.limits_of(unknown)
            for op, bound in zip((CompareOp.GE, CompareOp.LE), limits or (), strict=False):
                domain = domain.intersect(frame.condition(Compare(op, Param(name), integer(bound))))
        return frame, domain

    # -- accesses

    def check(self, accesses: list[Load | VectorLoad], place: _Place) -> None:
        """Check accesses at one place, those that differ by constants together."""
        groups: dict[tuple[str, int, tuple[tuple[Expr, int], ...]], ValueRange] = {}
        for access in accesses:
            self.seen[access.array] = None
            last = len(access.index) - 1
            for dim, index in enumerate(access.index):
                width = access.span if isinstance(access, VectorLoad) and dim == last else 1
                value = linear(self.unknowns.abstracted(index))
                key = (access.array, dim, value.terms)
                low, high = value.constant, value.constant + width - 1
                known = groups.setdefault(key, ValueRange(low, high))
                known.low, known.high = min(known.low, low), max(known.high, high)
        for (name, dim, terms), bounds in groups.items():
            if name in self.faults or name not in self.arrays:
                continue
            extent = self.unknowns.abstracted(self.arrays[name].shape[dim])
            first = from_linear(Linear(bounds.low, terms))
            last_ = from_linear(Linear(bounds.high, terms))
            if self.is_inside(place, first, last_, extent):
                continue
            reason = f"subscript {dim} may leave it: {show(first)}"
            if self.unknowns.products & params(first):
                self.trusted[name] = f"a product of sizes: {reason}"
            elif self.is_data(first, extent, place):
                self.trusted[name] = f"found on the way: {reason}"
            else:
                self.faults[name] = reason

    def is_data(self, first: Expr, extent: Expr, place: _Place) -> bool:
        """Tell whether a subscript, its bounds or its array's extent depend on data."""
        uppers = dict(place.uppers)
        parts = [first, extent]
        parts += (uppers[name] for name in iterators(first) if name in uppers)
        names = params(*parts) | symbols(*parts)
        if not names and (set(place.frame.params) - self.sizes or place.choices):
            return True  # a fixed element, where something found on the way is large enough
        return bool(names - self.sizes - self.unknowns.truths)

    def named_after(self, node: Node, rest: Body, spans: Spans) -> Iterator[Expr]:
        """Yield the conditions that hold after a node that names a value."""
        match node:
            case Declare(dtype=DType.INT64, lanes=1) if node.name not in set_locals(rest):
                value, name = node.value, Symbol(node.name, node.dtype)
                yield from integer_ranges.conditions(
                    (name,), integer_ranges.ranges_after(node, spans)
                )
                if is_changed(value, rest):
                    value = self.frozen(value, set_locals(rest))
                yield Compare(CompareOp.EQ, name, value)
            case _:
                pass

    def frozen(self, value: Expr, changed: frozenset[str]) -> Expr:
        """Return `value` with its elements, and the locals `changed`, as separate unknowns."""

        def rule(part: Expr) -> Expr | None:
            is_set = isinstance(part, Symbol) and part.name in changed
            counts = isinstance(part, Cast) and part.operand.dtype.is_integer  # has limits
            if is_set or (isinstance(part, Load | VectorLoad | Call | Cast) and not counts):
                self.fresh += 1
                return Symbol(f"?now{self.fresh}", part.dtype)
            return None

        return rewrite(value, rule)

    def is_inside(self, place: _Place, first: Expr, last: Expr, extent: Expr) -> bool:
        """Tell whether `0 <= first` and `last < extent` at every iteration."""
        frame, domain = self.reached(place, first, last, extent)
        # of a fixed element, any condition on iterators may say that sizes are larger
        for choice in () if self.found_names(first, last) else place.choices:
            frame, domain = self.wider(frame, domain, choice)
            domain = domain.intersect(frame.condition(choice))
        try:
            low = frame.pw(first).lt_set(frame.pw(integer(0)))
            if not low.is_disjoint(domain):
                return False
            high = frame.pw(add(last, integer(1))).gt_set(frame.pw(extent))
        except NotAffine:
            return False
        return bool(high.is_disjoint(domain))


class _Contents(_Checker):
    """A walk that only collects the values written into integer temporaries."""

    wanted: set[str]

    def __init__(self, arrays: dict[str, Array], contents: dict[str, isl.Set]) -> None:
        super().__init__(arrays, contents)
        self.values: dict[str, isl.Set | None] = {}

    def nodes(self, waiting: Sequence[_Waiting], place: _Place) -> None:
        """Collect values, then go on below."""
        for node, *_ in waiting:
            if isinstance(node, Assign) and node.target.array in self.wanted:
                self.add(node.target.array, node.value, place)
        super().nodes(waiting, place)

    def check(self, accesses: list[Load | VectorLoad], place: _Place) -> None:
        """Check nothing."""

    def add(self, name: str, value: Expr, place: _Place) -> None:
        """Record that `value` is written at `place`."""
        plain = self.unknowns.abstracted(value)
        unknown = set(self.unknowns.names.values())
        if not params(plain).isdisjoint(unknown):
            self.values[name] = None
            return
        frame, domain = self.reached(place, plain)
        try:
            here = isl.Map.from_pw_aff(frame.pw(plain)).intersect_domain(domain).range()
        except NotAffine:
            self.values[name] = None
            return
        here = _with_sizes(here, self.sizes)
        if name not in self.values:
            self.values[name] = here
            return
        known = self.values[name]
        if known is not None:
            self.values[name] = known.union(here)


def _with_sizes(value: isl.Set, sizes: frozenset[str]) -> isl.Set:
    """Return `value` for any values of the names that are not in `sizes`."""
    return without_params(value, [n for n in reversed(param_names(value)) if n not in sizes])


def _holding(values: isl.Set, name: str) -> isl.Set:
    """Return the sizes at which the number called `name` is one of `values`."""
    position = values.dim(isl.dim_type.param)
    moved = values.move_dims(isl.dim_type.param, position, isl.dim_type.set, 0, 1)
    return moved.set_dim_name(isl.dim_type.param, position, name).params()
