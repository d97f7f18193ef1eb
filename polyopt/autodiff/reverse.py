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

from polyopt.autodiff.definers import definers
from polyopt.autodiff.instances import Instances
from polyopt.autodiff.order import Adjoint, Bounds, Order, Step, Steps
from polyopt.autodiff.partials import (
    Contribution,
    NoDerivative,
    active_loads,
    contributions,
    needed,
    number,
    quotient,
    where,
)
from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Load,
    is_function,
    loads,
    rewrite,
    walk,
)
from polyopt.ir.names import iterators
from polyopt.ir.scop import Statement
from polyopt.ir.types import DType


class Refused(Exception):
    """Statement `number` has no derivative, for `reason`."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(reason)
        self.number = number
        self.reason = reason


@dataclass(frozen=True, eq=False)
class Sweep:
    """The way back, in `length` places from 0 on.

    `saved` maps statements to where the element goes that they overwrite.  The adjoints of the
    arrays `defined` get all of their elements here; those of others have to be there before.
    Adjoints in `redefined` may be set to zero where nobody reads it.
    """

    saved: Mapping[int, Load]
    adjoints: tuple[Adjoint, ...]
    length: int
    defined: frozenset[str]
    redefined: frozenset[str]


Keep = Callable[[int, str, DType, frozenset[str]], Load]
"""Returns an element of new memory: one for each instance of a statement, named after a text.

There is one element for all values of the iterators in the set.
"""


@dataclass(frozen=True, eq=False)
class Memory:
    """Where the sweep keeps what it computes.

    `adjoint` names the array with the derivative by an array; `kept` gives new memory.
    `elements` are all elements of an array; None where its shape is not known.  `bounds` are those
    of loops; `is_plain` tells whether a statement is under no conditions but these.
    """

    adjoint: Callable[[str], str]
    kept: Keep
    elements: Callable[[str], isl.Set | None]
    bounds: Bounds
    is_plain: Callable[[int], bool]


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
    `extremum`: the statement takes an extremum of many values.
    """

    gains: tuple[Contribution, ...]
    own: Expr | None
    apart: Load | None = None
    extremum: _Extremum | None = None


@dataclass(frozen=True, slots=True)
class _Extremum:
    """Of all the values `term` over the iterators `over`, `ties` counts those that are the result.

    These share the adjoint of the result.  Where there are none, the value before is the result.
    """

    term: Expr
    over: frozenset[str]
    ties: Load


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
        self._extrema = frozenset(n for n, rule in rules.items() if rule.extremum is not None)
        needs = {n: self._needs(n, rule) for n, rule in rules.items()}
        restored = self._overwriting(needs)
        for n, rule in rules.items():
            if n not in restored:
                rules[n] = self._with_result(n, rule)
                needs[n] = self._needs(n, rules[n])
        restored = self._overwriting(needs)
        saved = {
            n: self._memory.kept(n, f"{self._target(n).array}_was", self._target(n).dtype, _ALL)
            for n in sorted(restored)
        }
        steps: list[Steps] = []
        for n in reversed(range(len(self._statements))):
            found = self._steps(n, rules.get(n), saved.get(n))
            if found:
                steps.append((n, found))
        steps, defined = self._defining(steps)
        changed = self._active | {self._target(n).array for n in restored}
        order = Order(
            self._instances, self._depth, changed, restored, self._extrema, self._memory.bounds
        )
        steps, redefined = self._redefining(steps, rules, order.turned)
        return Sweep(saved, *order.placed(steps), defined, redefined)

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

    def _extremum(self, n: int) -> _Rule | None:
        """Return the rule of `x = max(x, term)` in loops of its own, whose final value says all."""
        statement = self._statements[n]
        target, value = statement.target, statement.value
        if statement.reduction is None or statement.guard is not None:
            return None
        match value:
            case Binary(op=BinaryOp.MAX | BinaryOp.MIN, left=left, right=term) if left == target:
                pass
            case _:
                return None
        used = iterators(*target.index)
        own = range(self._depth, len(statement.iters))
        over = frozenset(statement.iters[d] for d in own if statement.iters[d] not in used)
        first = next((d for d in own if statement.iters[d] in over), None)
        if first is None or target in loads(term) or not self._memory.is_plain(n):
            return None
        prefix = statement.order[: 2 * first + 2]
        is_alone = [s for s in self._statements if s.order[: len(prefix)] == prefix] == [statement]
        bounds = [self._memory.bounds(n, d) for d in own if statement.iters[d] in used]
        if not is_alone or over & frozenset[str]().union(*bounds):
            return None
        ties = self._memory.kept(n, "ties", target.dtype, over)
        adjoint = self._adjoint(target)
        zero = number(0.0, target.dtype)
        is_result = Compare(CompareOp.EQ, term, target)
        share = quotient(adjoint, ties)
        gains = contributions(term, share, self._is_active, is_result)
        own_part = where(Compare(CompareOp.GT, ties, zero), zero, adjoint)
        return _Rule(gains, own_part, None, _Extremum(term, over, ties))

    def _rule(self, n: int) -> _Rule:
        statement = self._statements[n]
        try:
            extremum = self._extremum(n)
        except NoDerivative as error:
            raise Refused(n, str(error)) from None
        if extremum is not None:
            return extremum
        adjoint = self._adjoint(statement.target)
        found = self._flow(n, adjoint)
        target = statement.target
        others = [load for load, _ in found if load != target]
        own: Expr | None = None
        for load, gain in found:
            if load == target:
                own = gain
        if any(self._instances.may_be_same(n, load, target) for load in others):
            apart = self._memory.kept(n, f"{target.array}_adjoint", target.dtype, _ALL)
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
        if not is_worth_it or not is_same or rule.apart is not None or rule.extremum is not None:
            return rule
        if not any(part == value for _, gain in rule.gains for part in walk(gain)):
            return rule
        if self._instances.overwriting(n, target, after=True):
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
        names |= set() if rule.extremum is None else {rule.extremum.ties.array}
        found = {x: None for e in exprs for x in loads(e) if x.array not in names}
        own = statement.target
        is_old = own in loads(statement.value) and rule.extremum is None
        return tuple((load, load == own and not is_old) for load in found)

    def _overwriting(self, needs: Mapping[int, Iterable[tuple[Load, bool]]]) -> frozenset[int]:
        """Return the statements that write over an element which an adjoint needs."""
        found: set[int] = set()
        for reader, elements in needs.items():
            for load, after in elements:
                first = self._instances.overwriting(reader, load, after)
                is_result = reader in self._extrema and load == self._target(reader)
                found |= first - {reader} if is_result else first
        return frozenset(found)

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
        extremum = rule.extremum
        if extremum is not None:
            ties, zero = extremum.ties, number(0.0, target.dtype)
            is_result = Compare(CompareOp.EQ, extremum.term, target)
            one = where(is_result, number(1.0, target.dtype), zero)
            found.append(Step(ties, zero, without=extremum.over))
            found.append(Step(ties, Binary(BinaryOp.ADD, ties, one, ties.dtype), True))
        gains, factors = self._shared(n, rule.gains)
        found += factors
        for load, gain in gains:
            grown = self._adjoint(load)
            value = Binary(BinaryOp.ADD, grown, gain, grown.dtype)
            found.append(Step(grown, value, True, when=self._when(n, load, gain)))
        if rule.apart is None and rule.own is not None:
            over = _ALL if extremum is None else extremum.over
            found.append(Step(adjoint, rule.own, without=over))
        return found

    def _when(self, n: int, load: Load, gain: Expr) -> tuple[Expr, ...]:
        """Return what holds where an element gains, if it may not be there elsewhere."""
        conditions = needed(gain)
        if conditions and self._instances.is_within(n, load, self._memory.elements(load.array)):
            return ()
        return conditions

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
                kept[part] = self._memory.kept(n, "factor", part.dtype, _ALL)
            return kept[part]

        renewed = tuple((load, rewrite(gain, rule)) for load, gain in gains)
        return renewed, [Step(load, part) for part, load in kept.items()]

    def _defining(self, steps: Sequence[Steps]) -> tuple[list[Steps], frozenset[str]]:
        """Let the first sum into an adjoint define it, where it reaches each element once."""

        def place(n: int) -> Expr:
            return self._statements[n].order[2 * self._depth]

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
            if place(n) in {place(other) for other, *_ in touching[1:]}:
                continue
            load = Load(array, step.target.index, step.target.dtype)
            whole = self._memory.elements(array)
            if not step.is_sum or step.when or not self._instances.defines(n, load, whole):
                continue
            assert isinstance(step.value, Binary)
            found[number] = Step(step.target, step.value.right)
            defined.add(array)
        return renewed, frozenset(defined)

    def _redefining(
        self,
        steps: Sequence[Steps],
        rules: Mapping[int, _Rule],
        turned: Mapping[int, frozenset[int]],
    ) -> tuple[list[Steps], frozenset[str]]:
        """Let sums define adjoints of temporaries that have been zero since their last use."""
        temporaries = self._active - frozenset(self._results) - frozenset(self._inputs)
        reads = [(n, load) for n, rule in rules.items() for load, _ in rule.gains]
        plain = [n for n, rule in rules.items() if self._replaces(n, rule)]
        found = definers(self._instances, temporaries, reads, plain, turned)
        renewed: list[Steps] = []
        for n, own in steps:
            targets = {self._adjoint(load) for m, load in found if m == n}
            changed = [
                Step(step.target, step.value.right)
                if isinstance(step.value, Binary)
                and step.is_sum
                and not step.when
                and step.target in targets
                else step
                for step in own
            ]
            renewed.append((n, changed))
        return renewed, frozenset(self._memory.adjoint(load.array) for _, load in found)

    def _replaces(self, n: int, rule: _Rule) -> bool:
        """Tell whether a statement surely writes, without regard to what was there."""
        statement = self._statements[n]
        is_plain = rule.apart is None and rule.extremum is None and statement.guard is None
        reads = active_loads(statement.value, self._is_active)
        return is_plain and statement.target not in reads and self._is_exact(n)

    def _is_exact(self, n: int) -> bool:
        return self._instances.is_exact(n, self._target(n))


_ALL: frozenset[str] = frozenset()
