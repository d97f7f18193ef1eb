"""Comprehensions that keep some items, or run over several ranges: lists that grow in loops.

In: a comprehension's tree, what it runs over first.  Out: the list's items in memory, counted.
Refuses: items that are arrays (PO0152), targets that do not fit (PO0114).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import FALSE, TRUE, ZERO, is_affine
from polyopt.frontend.numpy.call_arguments import Arguments
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import settled
from polyopt.frontend.reader.comprehensions import bind_target, iterated, unrolled
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import array_or_number
from polyopt.frontend.values.values import Growing, Known, Number, Sequence, Value
from polyopt.frontend.variables.call_frames import Frame
from polyopt.frontend.variables.growing import HINT, as_array, grow, made

Evaluate = Callable[[Builder, Frame, ast.expr], Value]
Truth = Callable[[Builder, Value, Loc | None], Known | Number]


def filtered(
    b: Builder,
    frame: Frame,
    node: ast.ListComp | ast.GeneratorExp,
    source: Value,
    evaluate: Evaluate,
    truth: Truth,
) -> Value:
    """Return the items as a list in memory; `source` is what the first `for` runs over.

    The loops append the items that pass.  The first reading learns their type and how many there
    may be; `frame` is the comprehension's own.
    """
    loc, place = frame.loc(node), frame.place(node, "(items)")
    home = b.scope
    found = made(b, "items", place, ()) if place in b.facts.grown else None
    sites = 0

    def append() -> None:
        nonlocal sites
        sites += 1
        item = settled(b, array_or_number(b, evaluate(b, frame, node.elt), loc))
        if not isinstance(item, Number):
            refuse("PO0152", "a list of arrays grows by conditions or in several loops", loc, HINT)
        places = (place, frame.place(node, f"(append{sites})"))
        grow(b, "the list", places, home, item, found)

    def level(depth: int, items: Value) -> None:
        part = node.generators[depth]
        for item in _each(b, frame, items, frame.loc(part.iter)):
            bind_target(frame, part.target, item)
            with _kept(b, frame, part.ifs, evaluate, truth):
                if depth + 1 == len(node.generators):
                    append()
                else:
                    level(depth + 1, evaluate(b, frame, node.generators[depth + 1].iter))

    level(0, source)
    if found is None and place not in b.facts.grown:
        return Sequence((), True)
    result: Growing = found or made(b, "items", place, ())
    return as_array(b, result, loc)


def _each(b: Builder, frame: Frame, source: Value, loc: Loc | None) -> Iterator[Value]:
    """Yield the items; one alone, inside a loop, where their number is not known."""
    items = unrolled(b, source, loc)
    if items is not None:
        yield from items
        return
    each = iterated(b, source, Arguments("for", (), {}, loc))
    loops, index = b.fresh_loops((each.count,))
    if not loops:
        yield each.item(ZERO)
        return
    (loop,) = loops
    with b.loop(loop):
        yield each.item(index[0])


@contextmanager
def _kept(
    b: Builder, frame: Frame, tests: list[ast.expr], evaluate: Evaluate, truth: Truth
) -> Iterator[None]:
    """Everything inside happens where all the conditions hold."""
    if not tests:
        yield
        return
    first, *rest = tests
    test = truth(b, evaluate(b, frame, first), frame.loc(first))
    if isinstance(test, Known):
        with b.under((), TRUE if test.value else FALSE), _kept(b, frame, rest, evaluate, truth):
            yield
        return
    affine = is_affine(test.expr)
    with (
        b.under((test.expr,) if affine else (), TRUE if affine else test.expr),
        _kept(b, frame, rest, evaluate, truth),
    ):
        yield
