"""Use nontemporal stores for results that exceed the caches.

In: a `LoopFunction`, the machine.  Out: VECTOR loops marked with the arrays whose cache lines they
fill and never read (`For.streams`), under a condition on sizes that is computed before the nest.
An ordinary store reads the line from memory first (write-allocate): a third or a half of all that
such a loop moves (Drepper, "What every programmer should know about memory", 2007, section 6.1).
Leaves: arrays that the nest reads, writes in several statements, twice or not along rows; loops
that also write other arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from polyopt.dataclass import replace
from polyopt.emit.lanes import is_contiguous, is_unit_stride, row_arrays
from polyopt.emit.passes.rewriting import Names, bottom_up, trip_count
from polyopt.emit.ranges import extent_of, streamed_row
from polyopt.emit.regions import draws_words, expressions, whole_arrays, written_arrays
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Iter,
    Load,
    Symbol,
    VectorLoad,
    add,
    integer,
    mul,
    sub,
    walk,
)
from polyopt.ir.linear import normalize
from polyopt.ir.loops import Assign, Body, Declare, For, If, LoopFunction, LoopKind, Node, While
from polyopt.ir.nodes import all_nodes
from polyopt.ir.scop import Array, Role
from polyopt.ir.types import DType
from polyopt.machine import Machine

TIMES = 2
"""As much as that of the last cache is too large for any of it to be there when it is needed."""

STRIP = 512
"""Elements of a strip: few enough that threads have as many of them, whatever the size."""

_Loops = tuple[For, ...] | None
_KEPT = (Role.OUTPUT, Role.INOUT, Role.TEMP)


def use_nontemporal_stores(fn: LoopFunction, machine: Machine) -> LoopFunction:
    """Return `fn` with VECTOR loops marked that may use nontemporal stores."""
    names = Names(fn)
    known: dict[Expr, Symbol] = {}
    body: list[Node] = []
    rows, readers = row_arrays(fn), Counter(chain.from_iterable(map(_read, fn.body)))
    for nest in fn.body:
        told: dict[str, Symbol] = {}
        for array, large in _conditions(fn, nest, machine, rows, readers).items():
            symbol = known.get(large)
            if symbol is None:
                symbol = known[large] = Symbol(names.fresh("is_large"), DType.BOOL)
                body.append(Declare(symbol.name, DType.BOOL, 1, large))
            told[array] = symbol
        body += _marked(nest, told) if told else (nest,)
    return replace(fn, body=tuple(body))


def strip_mine_nontemporal(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with parallel loops over elements strip-mined if they may use such stores.

    So are those that use random words, which are made by rows.  Threads share the strips then, and
    inside are lanes, as along a row.
    """
    names, rows = Names(fn), row_arrays(fn)
    body: list[Node] = []
    for nest in fn.body:
        past = frozenset(nontemporal_arrays(fn, nest, rows))

        def rule(node: Node, past: frozenset[str] = past) -> Body:
            if not isinstance(node, For) or not _is_bare(node, rows):
                return (node,)
            streams = not past.isdisjoint(written_arrays(node.body))
            return (_strips(node, names) if streams or draws_words(node.body) else node,)

        body += bottom_up((nest,), rule) if past or draws_words((nest,)) else (nest,)
    return replace(fn, body=tuple(body))


def _is_bare(loop: For, rows: frozenset[str]) -> bool:
    """Tell whether threads share single elements, which become lanes of each."""
    is_single = loop.kind is LoopKind.PARALLEL and loop.step == 1 and not loop.reductions
    return is_single and is_contiguous(loop, rows) and trip_count(loop) is None


def _strips(loop: For, names: Names) -> For:
    """Return a loop over strips around a VECTOR loop over the elements of one."""
    strip = names.fresh(f"{loop.iter}_strip")
    first = add(loop.lower, mul(integer(STRIP), Iter(strip)))
    last = Binary(BinaryOp.MIN, loop.upper, normalize(add(first, integer(STRIP))), DType.INT64)
    count = normalize(add(sub(loop.upper, loop.lower), integer(STRIP - 1)))
    upper = Binary(BinaryOp.FLOORDIV, count, integer(STRIP), DType.INT64)
    lanes = replace(loop, lower=normalize(first), upper=last, kind=LoopKind.VECTOR)
    return replace(loop, iter=strip, lower=integer(0), upper=upper, body=(lanes,))


def nontemporal_arrays(fn: LoopFunction, nest: Node, rows: frozenset[str]) -> tuple[str, ...]:
    """Return the arrays that one nest of `fn` fills and neither reads nor writes twice.

    `rows` are the function's `row_arrays`.
    """
    found: dict[str, list[tuple[_Loops, Assign]]] = {}
    for loops, store in _stores((nest,), ()):
        found.setdefault(store.target.array, []).append((loops, store))
    touched = _read(nest)
    chosen = []
    for array in fn.arrays if found else ():
        own = found.get(array.name, ())
        if not own or array.role not in _KEPT or array.name in touched:
            continue
        once = all(loops is not None and _is_once(loops, store, rows) for loops, store in own)
        if _is_sized(array) and once and len({store.statement for _, store in own}) == 1:
            chosen.append(array.name)
    return tuple(chosen)


def _conditions(
    fn: LoopFunction, nest: Node, machine: Machine, rows: frozenset[str], readers: Counter[str]
) -> dict[str, Expr]:
    """Return the arrays for nontemporal stores of a nest, and when these pay.

    What another nest reads has to be too large for the caches by itself; `readers` says how many
    nests read an array, and the nest reads none of those that it fills.
    """
    chosen = nontemporal_arrays(fn, nest, rows)
    if not chosen:
        return {}
    arrays = {array.name: array for array in fn.arrays}
    used = {part.array for part in _loads((nest,))} | written_arrays((nest,))
    moved = [arrays[name] for name in arrays if name in used and _is_sized(arrays[name])]
    found: dict[str, Expr] = {}
    for name in chosen:
        size = _bytes([arrays[name]] if readers[name] else moved)
        found[name] = Compare(CompareOp.GE, size, integer(TIMES * machine.l3))
    return found


def _marked(nest: Node, told: dict[str, Symbol]) -> Body:
    """Return a nest with its loops in lanes marked."""

    def rule(node: Node) -> Body:
        if not isinstance(node, For) or node.kind is not LoopKind.VECTOR or node.reductions:
            return (node,)
        longest = extent_of(node)
        if longest is not None and longest.size < streamed_row(node):
            return (node,)
        written = written_arrays(node.body)
        if not written <= told.keys():
            return (node,)  # lines that wait to be written are flushed early by other stores
        marks = tuple((name, told[name]) for name in written)
        return (node.annotated(streams=tuple(sorted(marks, key=lambda mark: mark[0]))),)

    return bottom_up((nest,), rule)


def _stores(
    body: Body, loops: tuple[For, ...] | None
) -> Iterator[tuple[tuple[For, ...] | None, Assign]]:
    """Yield every assignment with its loops; None where these are not counted loops."""
    for node in body:
        match node:
            case Assign():
                yield loops, node
            case For():
                yield from _stores(node.body, None if loops is None else (*loops, node))
            case If():
                yield from _stores((*node.then, *node.otherwise), loops)
            case While():
                yield from _stores(node.body, None)
            case _:
                pass


def _loads(body: Body) -> Iterator[Load | VectorLoad]:
    """Yield what `body` reads, not what it writes."""
    for node in all_nodes(body):
        values = (node.value, *node.target.index) if isinstance(node, Assign) else expressions(node)
        parts = chain.from_iterable(map(walk, values))
        yield from (part for part in parts if isinstance(part, Load | VectorLoad))


def _read(nest: Node) -> set[str]:
    """Return the arrays that a nest reads or passes as a whole."""
    whole = {name for node in all_nodes((nest,)) for name in whole_arrays(node)}
    return whole | {load.array for load in _loads((nest,))}


def _is_once(loops: tuple[For, ...], store: Assign, rows: frozenset[str]) -> bool:
    """Tell whether every iteration of the loops stores elsewhere, the innermost along rows."""
    lanes = next((one for one in reversed(loops) if one.kind is LoopKind.VECTOR), None)
    if lanes is None and loops and _is_bare(loops[-1], rows):
        lanes = loops[-1]
    if lanes is None or lanes.reductions or lanes.step != 1:
        return False
    if not is_unit_stride(store.target, lanes.iter, rows):
        return False
    parts = {part for index in store.target.index for part in walk(index)}
    if Iter(lanes.iter) not in parts:
        return False
    for loop in reversed(loops):
        if Iter(loop.iter) in parts:
            parts |= {*walk(loop.lower), *walk(loop.upper)}
        elif trip_count(loop) != 1:
            return False
    return True


def _is_sized(array: Array) -> bool:
    return bool(array.shape) and all(map(_is_size, array.shape))


def _is_size(extent: Expr) -> bool:
    """Tell whether an extent is known from the start."""
    return not any(isinstance(part, Iter | Symbol | Load | VectorLoad) for part in walk(extent))


def _bytes(arrays: list[Array]) -> Expr:
    """Return how large arrays are together."""
    total: Expr = integer(0)
    for array in arrays:
        size: Expr = integer(array.dtype.size)
        for extent in array.shape:
            size = mul(size, extent)
        total = add(total, size)
    return normalize(total)
