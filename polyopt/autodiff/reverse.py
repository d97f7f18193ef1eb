"""Reverse sweeps: from the derivative by results to the derivative by inputs.

In: the statements of one part of a program, the arrays to differentiate by, those that are results.
Out: `Sweep`: what is saved on the way forward, and the statements of the way back.
Every instance has its adjoint instances, in the opposite order of each loop that carries a
dependence and in the same order of all others.  A value that is overwritten after an adjoint needs
it is saved before it is overwritten, and restored on the way back.
Source: A. Griewank and A. Walther, Evaluating Derivatives, 2nd edition, SIAM 2008, chapters 3, 5.
Refuses (`Refused`): operations without a derivative, at the statement that has them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property

import islpy as isl

from polyopt.autodiff.instances import Instances
from polyopt.autodiff.partials import (
    Contribution,
    NoDerivative,
    active_loads,
    contributions,
    number,
    varies,
)
from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Expr,
    Iter,
    Load,
    Unary,
    UnaryOp,
    integer,
    is_function,
    loads,
    rewrite,
    sub,
    substitute,
    walk,
)
from polyopt.ir.linear import normalize
from polyopt.ir.scop import Statement
from polyopt.ir.types import DType


class Refused(Exception):
    """Statement `number` has no derivative, for `reason`."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(reason)
        self.number = number
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Step:
    """`target = value`; `is_sum`: it adds to its target, in any order.

    `shifts`: iterators that run over other values than those of the statement, this much larger.
    """

    target: Load
    value: Expr
    is_sum: bool = False
    shifts: tuple[tuple[str, Expr], ...] = ()

    @property
    def arrays(self) -> frozenset[str]:
        """The arrays that it touches."""
        return frozenset((self.target.array, *(load.array for load in loads(self.value))))


@dataclass(frozen=True, slots=True)
class Adjoint:
    """A step for the instances of statement `source`, in the place `order`.

    `turned`: the loops, by their depth, that run the other way.
    """

    source: int
    order: tuple[Expr, ...]
    turned: frozenset[int]
    step: Step


@dataclass(frozen=True, eq=False)
class Sweep:
    """The way back, in `length` places from 0 on.

    `saved` maps statements to where the element goes that they overwrite.  The adjoints of the
    arrays `defined` get all of their elements here; those of others have to be there before.
    """

    saved: Mapping[int, Load]
    adjoints: tuple[Adjoint, ...]
    length: int
    defined: frozenset[str]


Keep = Callable[[int, str, DType], Load]
"""Returns an element of new memory with one for each instance of a statement, named after a text."""


@dataclass(frozen=True, eq=False)
class Memory:
    """Where the sweep keeps what it computes.

    `adjoint` names the array with the derivative by an array; `kept` gives new memory.
    `elements` are all elements of an array; None where its shape is not known.
    """

    adjoint: Callable[[str], str]
    kept: Keep
    elements: Callable[[str], isl.Set | None]


def active_arrays(
    statements: Sequence[Statement], inputs: Collection[str], results: Collection[str]
) -> frozenset[str]:
    """Return the arrays that depend on `inputs` and that `results` depend on."""
    forward, backward = set(inputs), set(results)
    while True:
        found = {
            s.target.array
            for s in statements
            if s.target.array not in forward and varies(s.value, forward.__contains__)
        }
        if not found:
            break
        forward |= found
    while True:
        read = {
            load.array
            for s in statements
            if s.target.array in backward
            for load in active_loads(s.value, forward.__contains__)
        }
        if read <= backward:
            break
        backward |= read
    return frozenset(forward & backward)


def reverse(
    statements: Sequence[Statement],
    depth: int,
    inputs: Collection[str],
    results: Collection[str],
    active: frozenset[str],
    memory: Memory,
) -> Sweep:
    """Return the way back of statements inside of `depth` common loops."""
    return _Reversal(statements, depth, inputs, results, active, memory).sweep()


@dataclass(frozen=True, slots=True)
class _Rule:
    """The adjoint of one statement: what others gain, and what remains of its own adjoint.

    `own` None: it remains as it is.  `apart`: its adjoint is read once, before anything changes.
    """

    gains: tuple[Contribution, ...]
    own: Expr | None
    apart: Load | None


class _Reversal:
    """One reversal while it is made."""

    def __init__(
        self,
        statements: Sequence[Statement],
        depth: int,
        inputs: Collection[str],
        results: Collection[str],
        active: frozenset[str],
        memory: Memory,
    ) -> None:
        self._results = results
        self._statements = tuple(statements)
        self._depth = depth
        self._inputs = inputs
        self._active = active
        self._memory = memory
        self._instances = Instances(statements)

    def sweep(self) -> Sweep:
        """Return the whole way back."""
        rules = {n: self._rule(n) for n in self._differentiated}
        needs = {n: self._needs(n, rule) for n, rule in rules.items()}
        restored = self._overwriting(needs)
        for n, rule in rules.items():
            if n not in restored:
                rules[n] = self._with_result(n, rule)
                needs[n] = self._needs(n, rules[n])
        restored = self._overwriting(needs)
        saved = {
            n: self._memory.kept(n, f"{self._target(n).array}_was", self._target(n).dtype)
            for n in sorted(restored)
        }
        turned = self._turned(restored)
        steps: list[_Steps] = []
        for n in reversed(range(len(self._statements))):
            found = self._steps(n, rules.get(n), saved.get(n))
            if found:
                steps.append((n, found))
        return self._placed(*self._defining(steps), saved, turned)

    # -- what a statement's adjoint computes ------------------------------------------------------

    @cached_property
    def _differentiated(self) -> tuple[int, ...]:
        """The statements that write active arrays."""
        found = enumerate(self._statements)
        return tuple(n for n, s in found if s.target.array in self._active)

    def _target(self, n: int) -> Load:
        return self._statements[n].target

    def _is_active(self, array: str) -> bool:
        return array in self._active

    def _adjoint(self, load: Load) -> Load:
        return Load(self._memory.adjoint(load.array), load.index, load.dtype)

    def _rule(self, n: int) -> _Rule:
        statement = self._statements[n]
        adjoint = self._adjoint(statement.target)
        found = self._flow(n, adjoint)
        target = statement.target
        others = [load for load, _ in found if load != target]
        own: Expr | None = None
        for load, gain in found:
            if load == target:
                own = gain
        if any(self._instances.may_be_same(n, load, target) for load in others):
            apart = self._memory.kept(n, f"{target.array}_adjoint", target.dtype)
            found = self._flow(n, apart)
            gains = tuple((load, gain) for load, gain in found if load != target)
            left = next((gain for load, gain in found if load == target), None)
            return _Rule(gains, left or number(0.0, target.dtype), apart)
        gains = tuple((load, gain) for load, gain in found if load != target)
        if own == adjoint:
            return _Rule(gains, None, None)
        if own is None:
            zero = number(0.0, target.dtype)
            return _Rule(gains, zero if self._is_seen_before(n) else None, None)
        return _Rule(gains, own, None)

    def _flow(self, n: int, adjoint: Load) -> tuple[Contribution, ...]:
        try:
            return contributions(self._statements[n].value, adjoint, self._is_active)
        except NoDerivative as error:
            raise Refused(n, str(error)) from None

    def _is_seen_before(self, n: int) -> bool:
        """Tell whether anything before a statement uses the element that it overwrites."""
        target = self._target(n)
        if target.array in self._inputs:
            return True
        for other in self._differentiated:
            statement = self._statements[other]
            uses = {statement.target, *active_loads(statement.value, self._is_active)}
            if any(self._instances.is_used_before(other, use, n) for use in uses):
                return True
        return False

    def _with_result(self, n: int, rule: _Rule) -> _Rule:
        """Return the rule with the value that the statement computed in place of its expression."""
        statement = self._statements[n]
        value, target = statement.value, statement.target
        is_worth_it = is_function(value) or (isinstance(value, Binary) and value.op is BinaryOp.DIV)
        is_same = value.dtype is target.dtype and target not in loads(value)
        if not is_worth_it or not is_same or rule.apart is not None:
            return rule
        if not any(part == value for _, gain in rule.gains for part in walk(gain)):
            return rule
        writers = range(len(self._statements))
        if any(self._instances.is_read_before(n, target, w, after=True) for w in writers):
            return rule
        gains = tuple(
            (load, rewrite(gain, lambda part: target if part == value else None))
            for load, gain in rule.gains
        )
        return _Rule(gains, rule.own, rule.apart)

    # -- what must be there on the way back -------------------------------------------------------

    def _needs(self, n: int, rule: _Rule) -> tuple[tuple[Load, bool], ...]:
        """Return the elements that an adjoint reads as they were, and whether after its write."""
        statement = self._statements[n]
        exprs: list[Expr] = [gain for _, gain in rule.gains]
        exprs += [part for load, _ in rule.gains for part in load.index]
        exprs += [*statement.target.index]
        exprs += [] if rule.own is None else [rule.own]
        exprs += [] if statement.guard is None else [statement.guard]
        names = {self._memory.adjoint(array) for array in self._active}
        names |= set() if rule.apart is None else {rule.apart.array}
        found = {x: None for e in exprs for x in loads(e) if x.array not in names}
        own = statement.target
        is_old = own in loads(statement.value)
        return tuple((load, load == own and not is_old) for load in found)

    def _overwriting(self, needs: Mapping[int, Iterable[tuple[Load, bool]]]) -> frozenset[int]:
        """Return the statements that write over an element which an adjoint needs."""
        written = {s.target.array for s in self._statements}
        found: set[int] = set()
        for reader, elements in needs.items():
            for load, after in elements:
                if load.array not in written:
                    continue
                for writer in range(len(self._statements)):
                    if writer not in found and self._instances.is_read_before(
                        reader, load, writer, after
                    ):
                        found.add(writer)
        return frozenset(found)

    # -- the order of the way back ----------------------------------------------------------------

    def _turned(self, restored: frozenset[int]) -> dict[int, frozenset[int]]:
        """Return for each statement the depths of the loops that carry a dependence."""
        groups: dict[tuple[Expr, ...], list[int]] = {}
        for n, statement in enumerate(self._statements):
            for depth in range(self._depth, len(statement.iters)):
                groups.setdefault(statement.order[: 2 * depth + 2], []).append(n)
        found: dict[int, set[int]] = {n: set() for n in range(len(self._statements))}
        for prefix, members in groups.items():
            if self._carries(members, len(prefix) - 1, restored):
                for n in members:
                    found[n].add(len(prefix) // 2 - 1)
        return {n: frozenset(depths) for n, depths in found.items()}

    def _carries(self, members: Sequence[int], place: int, restored: frozenset[int]) -> bool:
        ordered = self._active | {self._target(n).array for n in restored}
        uses = [
            (n, load, kind)
            for n in members
            for load, kind in self._uses(n, restored)
            if load.array in ordered
        ]
        for position, (one, first, kind) in enumerate(uses):
            for two, second, other in uses[position:]:
                if first.array != second.array or (kind == other and kind != _WRITE):
                    continue
                if self._instances.is_carried((one, two), (first, second), place):
                    return True
        return False

    def _uses(self, n: int, restored: frozenset[int]) -> list[tuple[Load, str]]:
        """Return the elements that a statement reads, adds to and writes."""
        statement = self._statements[n]
        target = statement.target
        adds = n not in restored and self._adds_only(n)
        found = [(load, _READ) for load in loads(statement.value) if load != target or not adds]
        return [(target, _ADD if adds else _WRITE), *found]

    def _adds_only(self, n: int) -> bool:
        """Tell whether a statement only adds to its target."""
        statement = self._statements[n]
        match statement.value:
            case Binary(op=BinaryOp.ADD, left=left, right=right):
                own, rest = (left, right) if left == statement.target else (right, left)
            case Binary(op=BinaryOp.SUB, left=own, right=rest):
                pass
            case _:
                return False
        return own == statement.target and statement.target not in loads(rest)

    # -- statements -------------------------------------------------------------------------------

    def _steps(self, n: int, rule: _Rule | None, saved: Load | None) -> list[Step]:
        """Return what happens on the way back of a statement, in order."""
        target = self._target(n)
        found: list[Step] = []
        if saved is not None:
            found.append(Step(target, saved))
        if rule is None:
            return found
        adjoint = self._adjoint(target)
        if rule.apart is not None:
            found += [Step(rule.apart, adjoint), Step(adjoint, rule.own or rule.apart)]
        gains, factors = self._shared(n, rule.gains)
        found += factors
        for load, gain in gains:
            grown = self._adjoint(load)
            found.append(Step(grown, Binary(BinaryOp.ADD, grown, gain, grown.dtype), True))
        if rule.apart is None and rule.own is not None:
            found.append(Step(adjoint, rule.own))
        return found

    def _shared(
        self, n: int, gains: Sequence[Contribution]
    ) -> tuple[tuple[Contribution, ...], list[Step]]:
        """Return the gains with functions that several compute computed once, before them."""
        counts: dict[Expr, int] = {}
        for _, gain in gains:
            for part in {p for p in walk(gain) if is_function(p)}:
                counts[part] = counts.get(part, 0) + 1
        common = {part for part, count in counts.items() if count > 1}
        kept: dict[Expr, Load] = {}

        def rule(part: Expr) -> Expr | None:
            if part not in common:
                return None
            if part not in kept:
                kept[part] = self._memory.kept(n, "factor", part.dtype)
            return kept[part]

        renewed = tuple((load, rewrite(gain, rule)) for load, gain in gains)
        return renewed, [Step(load, part) for part, load in kept.items()]

    def _defining(self, steps: Sequence[_Steps]) -> tuple[list[_Steps], frozenset[str]]:
        """Let the first sum into an adjoint define it, where it reaches each element once."""
        renewed = [(n, [*found]) for n, found in steps]
        defined: set[str] = set()
        for array in sorted(self._active - frozenset(self._results)):
            name = self._memory.adjoint(array)
            touching = [
                (n, found, number)
                for n, found in renewed
                for number, step in enumerate(found)
                if name in step.arrays
            ]
            if not touching:
                continue
            n, found, number = touching[0]
            step = found[number]
            if self._place(n) in {self._place(other) for other, *_ in touching[1:]}:
                continue
            load = Load(array, step.target.index, step.target.dtype)
            whole = self._memory.elements(array)
            if not step.is_sum or not self._instances.defines(n, load, whole):
                continue
            assert isinstance(step.value, Binary)
            found[number] = Step(step.target, step.value.right)
            defined.add(array)
        return renewed, frozenset(defined)

    def _place(self, n: int) -> Expr:
        return self._statements[n].order[2 * self._depth]

    def _placed(
        self,
        steps: Sequence[_Steps],
        defined: frozenset[str],
        saved: Mapping[int, Load],
        turned: Mapping[int, frozenset[int]],
    ) -> Sweep:
        """Return the steps with their places in the order.

        Inside of the last loop that is turned each step has loops of its own: no dependence is
        carried there.
        """
        count = len(self._statements)
        last: dict[tuple[Expr, ...], int] = {}
        for n, statement in enumerate(self._statements):
            for depth in range(self._depth, len(statement.iters)):
                last[statement.order[: 2 * depth + 2]] = n
        width = max((len(found) for _, found in steps), default=1)
        adjoints: list[Adjoint] = []
        for n, found in steps:
            order = self._statements[n].order
            shared = max((self._depth, *(depth + 1 for depth in turned[n])))
            around: list[Expr] = [*order[: 2 * self._depth]]
            for depth in range(self._depth, shared):
                behind = count - 1 - last[order[: 2 * depth + 2]]
                time = order[2 * depth + 1]
                around.append(integer(behind * width))
                around.append(_opposite(time) if depth in turned[n] else time)
            own: list[Expr] = []
            for time in order[2 * shared + 1 :: 2]:
                own += [time, integer(0)]
            for number, step in enumerate(found):
                place = integer((count - 1 - n) * width + number)
                moved = self._moved(n, shared, step)
                adjoints.append(Adjoint(n, (*around, place, *own), turned[n], moved))
        return Sweep(saved, tuple(adjoints), count * width, defined)

    def _moved(self, n: int, shared: int, step: Step) -> Step:
        """Return a sum with the element that it adds to as its iterators, shifted to there."""
        iters = self._statements[n].iters
        if not step.is_sum:
            return step
        shifts = {
            name: shift
            for name in iters[shared:]
            if (shift := _shift(name, step.target.index, iters[shared:])) is not None
        }
        if not shifts:
            return step
        before = {name: sub(Iter(name), shift) for name, shift in shifts.items()}
        target = substitute(step.target, before)
        assert isinstance(target, Load)
        index = tuple(normalize(part) for part in target.index)
        value = rewrite(
            substitute(step.value, before),
            lambda e: (
                Load(e.array, tuple(map(normalize, e.index)), e.dtype)
                if isinstance(e, Load)
                else None
            ),
        )
        return Step(Load(target.array, index, target.dtype), value, True, tuple(shifts.items()))


def _shift(name: str, index: Sequence[Expr], inner: Sequence[str]) -> Expr | None:
    """Return `s` where the only subscript with iterator `name` is `name + s`, None where `s` is 0.

    `s` is the same in all iterations of the loops `inner`.
    """
    places = [part for part in index if Iter(name) in walk(part)]
    if len(places) != 1:
        return None
    rest = normalize(sub(places[0], Iter(name)))
    names = {part.name for part in walk(rest) if isinstance(part, Iter)}
    if names & {*inner} or rest == integer(0):
        return None
    return rest


_Steps = tuple[int, list[Step]]
_READ, _ADD, _WRITE = "read", "add", "write"


def _opposite(time: Expr) -> Expr:
    match time:
        case Iter():
            return Unary(UnaryOp.NEG, time, time.dtype)
        case Unary(op=UnaryOp.NEG):
            return time.operand
        case _:
            raise AssertionError("a loop's time is its iterator")
