"""All dependences of a Scop at concrete sizes, by enumeration, and a verdict on any order.

In: a Scop, sizes, an order.  Out: the pairs it breaks.  Nothing of polyopt.schedule takes
part, and of isl only the coefficients of sets.
Refuses: subscripts that read arrays (`TypeError` from `evaluate`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, unique
from itertools import islice, product
from typing import Any, TypeAlias

from polyopt.ir.expr import Binary, Load, loads
from polyopt.ir.integers import evaluate
from polyopt.ir.interp import original_time
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop, Statement
from tests.oracle.domains import holds, pieces_of, set_points
from tests.oracle.tree_times import Place, tree_places

Instance: TypeAlias = tuple[str, tuple[int, ...]]
Cell: TypeAlias = tuple[str, tuple[int, ...]]
Timing: TypeAlias = Callable[[Statement, tuple[int, ...]], tuple[Any, ...]]


@unique
class PairKind(Enum):
    """What the earlier and the later instance do to the common element."""

    FLOW = "flow"
    ANTI = "anti"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two instances that touch `cell`, the earlier one first.

    `free`: they may change places.  `partial`: lanes may have partial results, both are of one
    reduction.
    """

    kind: PairKind
    source: Instance
    target: Instance
    cell: Cell
    free: bool
    partial: bool


@dataclass(frozen=True, slots=True)
class _Touch:
    instance: Instance
    writes: bool
    accumulator: str  # the statement whose reassociable accumulator this access is, or ""
    update: str = ""  # the operation, if any order of it makes the same bits, or ""


def _reads(statement: Statement) -> list[Load]:
    return [*loads(statement.value), *(loads(statement.guard) if statement.guard else ())]


def _reduces(statement: Statement) -> bool:
    """Tell whether the instances of a statement may run in any order, one after the other."""
    same = (statement.target.array, statement.target.index)
    return (
        statement.reduction is not None
        and statement.reduction.reassociable
        and [(load.array, load.index) for load in _reads(statement)].count(same) == 1
    )


_EXACT = {
    "b": {"&", "|", "^"},
    "i": {"+", "*", "min", "max", "&", "|", "^"},
    "u": {"+", "*", "min", "max", "&", "|", "^"},
}
"""Operators whose order nobody sees, by kind of NumPy's dtype."""
_LARGEST = 6  # sizes at which an update is looked at for reads of its own element


def _update(scop: Scop, statement: Statement) -> str:
    """Return the operator of an update whose order nobody sees; "" for other statements."""
    target, value = statement.target, statement.value
    is_join = statement.reduction and statement.origin and not statement.origin.statement
    if is_join or not isinstance(value, Binary) or value.dtype is not target.dtype:
        return ""
    if value.op.value not in _EXACT.get(target.dtype.numpy.kind, ()):
        return ""
    mine = [load for load in _reads(statement) if load.array == target.array]
    is_own = [load.index for load in mine].count(target.index) == 1
    if not is_own or target not in (value.left, value.right):
        return ""
    guard = loads(statement.guard) if statement.guard else ()
    if any(load.array == target.array for load in guard):
        return ""
    others = [load for load in mine if load.index != target.index]
    return "" if others and _meets_itself(scop, statement, others) else value.op.value


def _meets_itself(scop: Scop, statement: Statement, others: list[Load]) -> bool:
    """Tell whether an instance reads the element it updates by another subscript too."""
    for sizes in product(range(_LARGEST), repeat=len(scop.params)):
        params = dict(zip(scop.params, sizes, strict=True))
        for point in set_points(pieces_of(statement.domain), params):
            env = {**params, **dict(zip(statement.iters, point, strict=True))}
            place = tuple(evaluate(part, env) for part in statement.target.index)
            if any(tuple(evaluate(part, env) for part in one.index) == place for one in others):
                return True
    return False


def _touches(
    statement: Statement, point: tuple[int, ...], params: Mapping[str, int], update: str = ""
) -> Any:
    env = {**params, **dict(zip(statement.iters, point, strict=True))}
    instance = (statement.name, point)
    reads = _reads(statement)
    same = (statement.target.array, statement.target.index)
    open_order = _reduces(statement)

    def cell(load: Load) -> Cell:
        return (load.array, tuple(evaluate(part, env) for part in load.index))

    for load in reads:
        own = (load.array, load.index) == same
        name = statement.name if own and open_order else ""
        yield cell(load), _Touch(instance, False, name, update if own else "")
    name = statement.name if open_order else ""
    yield cell(statement.target), _Touch(instance, True, name, update)


def pairs_of(scop: Scop, params: Mapping[str, int]) -> Iterator[Pair]:
    """Yield every dependent pair at `params`; a pair appears once for each way it depends."""
    history: dict[Cell, list[_Touch]] = {}
    updates = {statement.name: _update(scop, statement) for statement in scop.statements}
    for statement, point in _in_order(scop, params):
        touches = _touches(statement, point, params, updates[statement.name])
        found = list(dict.fromkeys(touches))
        for cell, touch in found:
            for earlier in history.get(cell, ()):
                if earlier.writes or touch.writes:
                    partial = earlier.accumulator == touch.accumulator != ""
                    free = partial or earlier.update == touch.update != ""
                    kind, instances = _kind(earlier, touch), (earlier.instance, touch.instance)
                    yield Pair(kind, *instances, cell, free, partial)
        for cell, touch in found:
            history.setdefault(cell, []).append(touch)


def last_writes(scop: Scop, params: Mapping[str, int]) -> set[tuple[Instance, Instance]]:
    """Return every (last write, read) pair; a guarded write does not hide the writes before it."""
    writers: dict[Cell, list[Instance]] = {}
    found: set[tuple[Instance, Instance]] = set()
    for statement, point in _in_order(scop, params):
        touches = list(_touches(statement, point, params))
        for cell, touch in touches:
            if not touch.writes:
                found |= {(source, touch.instance) for source in writers.get(cell, ())}
        for cell, touch in touches:
            if touch.writes and statement.guard is None:
                writers[cell] = [touch.instance]
            elif touch.writes:
                writers.setdefault(cell, []).append(touch.instance)
    return found


def _in_order(scop: Scop, params: Mapping[str, int]) -> Iterator[tuple[Statement, tuple[int, ...]]]:
    timed = [
        (original_time(statement, point, params), position, statement, point)
        for position, statement in enumerate(scop.statements)
        for point in set_points(pieces_of(statement.domain), params)
    ]
    length = max((len(time) for time, *_ in timed), default=0)
    timed.sort(key=lambda t: (t[0] + (0,) * (length - len(t[0])), t[1], t[3]))
    for _, _, statement, point in timed:
        yield statement, point


def _kind(earlier: _Touch, later: _Touch) -> PairKind:
    if earlier.writes and later.writes:
        return PairKind.OUTPUT
    return PairKind.FLOW if earlier.writes else PairKind.ANTI


def judge(scop: Scop, params: Mapping[str, int], time: Timing) -> list[Pair]:
    """Return the pairs that `time` reverses or leaves without an order."""
    statements = {statement.name: statement for statement in scop.statements}

    def at(instance: Instance) -> tuple[Any, ...]:
        return time(statements[instance[0]], instance[1])

    broken = []
    for pair in pairs_of(scop, params):
        early, late = at(pair.source), at(pair.target)
        if early == late or (late < early and not pair.free):
            broken.append(pair)
    return broken


def judge_tree(scop: Scop, params: Mapping[str, int], tree: Any) -> list[Pair]:
    """Return the pairs a schedule tree reverses, leaves unordered or runs together."""
    places = tree_places(tree, scop, params)
    return [pair for pair in pairs_of(scop, params) if breaks(pair, places)]


class Labels:
    """Enumeration's verdict on many trees of one Scop; sizes of too many pairs are left out."""

    def __init__(self, scop: Scop, sizes: Sequence[Mapping[str, int]], limit: int = 40_000) -> None:
        self.scop = scop
        self.pairs: list[tuple[Mapping[str, int], list[Pair]]] = []
        for params in sizes:
            found = list(islice(pairs_of(scop, params), limit + 1))
            if len(found) <= limit:
                self.pairs.append((params, found))

    def broken(self, tree: Any) -> tuple[Mapping[str, int], Pair] | None:
        """Return sizes and a pair that `tree` breaks, or None."""
        for params, pairs in self.pairs:
            places = tree_places(tree, self.scop, params)
            for pair in pairs:
                if breaks(pair, places):
                    return params, pair
        return None


def breaks(pair: Pair, places: Mapping[Instance, tuple[Place, ...]]) -> bool:
    """Tell whether the two instances' places break the pair."""
    for early, late in zip(places[pair.source], places[pair.target], strict=False):
        if early.value == late.value:
            continue
        match early.kind:
            case LoopKind.PARALLEL | LoopKind.BLOCK | LoopKind.THREAD:
                return True
            case LoopKind.VECTOR:
                return not pair.partial
            case _:
                return late.value < early.value and not pair.free
    return True


def confirm_witness(scop: Scop, witness: Any, tree: Any) -> None:
    """Assert that a refusal's witness is a real dependent pair that `tree` really breaks."""
    params = dict(witness.params)
    (first, source), (second, target) = witness.source, witness.target
    for name, point in (witness.source, witness.target):
        assert holds(pieces_of(scop.statement(name).domain), point, params), (name, point, params)
    early = original_time(scop.statement(first), source, params)
    late = original_time(scop.statement(second), target, params)
    length = max(len(early), len(late))
    is_ordered = early + (0,) * (length - len(early)) < late + (0,) * (length - len(late))
    both = [_update(scop, scop.statement(name)) for name in (first, second)]
    is_free = (first == second and _reduces(scop.statement(first))) or both[0] == both[1] != ""
    assert is_ordered or is_free, witness
    touched = [
        {
            (cell, touch.writes)
            for cell, touch in _touches(scop.statement(name), point, params)
            if cell == (witness.array, witness.cell)
        }
        for name, point in (witness.source, witness.target)
    ]
    want = {"flow": (True, False), "anti": (False, True), "output": (True, True)}[witness.kind]
    for found, writes in zip(touched, want, strict=True):
        assert ((witness.array, witness.cell), writes) in found, (witness, found)
    places = tree_places(tree, scop, params, {witness.source, witness.target})
    cell = (witness.array, witness.cell)
    pair = Pair(
        PairKind(witness.kind), witness.source, witness.target, cell, free=False, partial=False
    )
    assert breaks(pair, places), (witness, places)
