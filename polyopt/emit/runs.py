"""Find runs of statements that differ by constants, which grow by equal steps.

In: statements in a row, the elements of arrays that locals stand for.  Out: `Run`, and the one
statement that loops over it repeat.
What differs are constants in subscripts and in those elements; all else has to be equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import Expr, Iter, Load, Symbol, VectorLoad, add, integer, mul, rewrite, sub
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import Assign, Declare, SetLocal
from polyopt.never import assert_never

LEAST = 3
"""Statements that are worth a loop."""

TEXT = "="
"""Begins what stands for a text in a name; no name begins so."""
Straight: TypeAlias = Assign | Declare | SetLocal
"""Statements that runs are of."""
_S = TypeVar("_S", bound=Straight)
Numbers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """`rows` times `columns` statements; the constants of one are `first + r * row + c * column`.

    `bases` are the arrays of whose subscripts constants are, "" for those in subscripts of memory.
    """

    rows: int
    columns: int
    first: Numbers
    row: Numbers
    column: Numbers
    bases: tuple[str, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """The lengths of the loops."""
        return (self.rows, self.columns) if self.columns > 1 else (self.rows,)

    def use(self, base: str) -> str:
        """Return whether an array's subscript is the "row" or the "column"; "" if it is neither."""
        steps = {
            (start, row, column)
            for start, row, column, name in zip(
                self.first, self.row, self.column, self.bases, strict=True
            )
            if name == base
        }
        if steps == {(0, 1, 0)}:
            return "row"
        return "column" if steps == {(0, 0, 1)} else ""


def run_of(
    nodes: Sequence[Straight], elements: Mapping[str, str], least: int = LEAST
) -> Run | None:
    """Return the run that statements are, all of them; None if they are none."""
    if len(nodes) < least:
        return None
    shapes = [_shape(node, elements) for node in nodes]
    form, bases, _ = shapes[0]
    if any(other != form or names != bases for other, names, _ in shapes):
        return None
    return _fitted([numbers for _, _, numbers in shapes], bases)


def _fitted(numbers: list[Numbers], bases: tuple[str, ...]) -> Run | None:
    """Return the run with these constants, or None."""
    first = numbers[0]
    column = _less(numbers[1], first)
    columns = 1
    while columns < len(numbers) and _less(numbers[columns], numbers[columns - 1]) == column:
        columns += 1
    if columns == len(numbers):
        return Run(columns, 1, first, column, (0,) * len(first), bases)
    rows, left = divmod(len(numbers), columns)
    row = _less(numbers[columns], first)
    fits = left == 0 and all(
        numbers[r * columns + c]
        == tuple(f + r * a + c * b for f, a, b in zip(first, row, column, strict=True))
        for r in range(rows)
        for c in range(columns)
    )
    return Run(rows, columns, first, row, column, bases) if fits and columns > 1 else None


def _less(one: Numbers, other: Numbers) -> Numbers:
    return tuple(a - b for a, b in zip(one, other, strict=True))


def _shape(
    node: Straight, elements: Mapping[str, str]
) -> tuple[Straight, tuple[str, ...], Numbers]:
    """Return a statement without the constants that may differ, and these with their arrays."""
    bases: list[str] = []
    numbers: list[int] = []

    def hole(base: str, number: int) -> Expr:
        bases.append(base)
        numbers.append(number)
        return integer(0)

    form = _mapped(node, elements, hole, lambda base, index: base)
    return form, tuple(bases), tuple(numbers)


def filled(
    node: _S,
    run: Run,
    counters: tuple[str, ...],
    elements: Mapping[str, str],
    texts: Mapping[str, str],
) -> _S:
    """Return the statement of a run's loops, of which `counters` are the iterators.

    `node` is the first statement.  `texts` are the texts of some arrays' elements, whole.  Names of
    elements are texts behind `TEXT`.
    """
    holes: Iterator[Expr] = iter(
        [
            affine(start, steps, counters)
            for start, *steps in zip(run.first, run.row, run.column, strict=True)
        ]
    )

    def element(base: str, index: tuple[Expr, ...]) -> str:
        if base in texts:
            return TEXT + texts[base]
        return TEXT + base + "".join(f"[{_text(one)}]" for one in index)

    return _mapped(node, elements, lambda base, number: next(holes), element)


def affine(start: int, steps: Sequence[int], counters: Sequence[str]) -> Expr:
    """Return `start + steps[0] * counters[0] + ...`."""
    total: Expr = integer(start)
    for step, name in zip(steps, counters, strict=False):
        total = add(total, mul(integer(step), Iter(name)))
    return normalize(total)


def _text(expr: Expr) -> str:
    """Return C of an affine expression of counters."""
    found = linear(expr)
    terms = [f"{factor} * {atom.name}" if factor != 1 else atom.name
             for atom, factor in found.terms if isinstance(atom, Iter)]  # fmt: skip
    if found.constant or not terms:
        terms.append(str(found.constant))
    return " + ".join(terms).replace("+ -", "- ")


def element_of(text: str) -> tuple[str, Numbers]:
    """Return the array and the subscripts of an element.

    >>> element_of("C_acc[1][12]")
    ('C_acc', (1, 12))
    """
    base, *rest = re.split(r"[\[\]]+", text.rstrip("]"))
    return base, tuple(map(int, rest))


def _mapped(
    node: _S,
    elements: Mapping[str, str],
    hole: Callable[[str, int], Expr],
    element: Callable[[str, tuple[Expr, ...]], str],
) -> _S:
    """Return a statement with each constant that may differ replaced by what `hole` returns.

    Names of locals that are elements are replaced by what `element` returns.
    """

    def named(name: str) -> str:
        if name not in elements:
            return name
        base, index = element_of(elements[name])
        return element(base, tuple([hole(base, number) for number in index]))

    def subscript(index: Expr) -> Expr:
        constant = linear(index).constant
        return normalize(add(sub(index, integer(constant)), hole("", constant)))

    def rule(expr: Expr) -> Expr | None:
        match expr:
            case Load() | VectorLoad():
                return replace(expr, index=tuple([subscript(index) for index in expr.index]))
            case Symbol():
                return replace(expr, name=named(expr.name))
            case _:
                return None

    fields: dict[str, Any] = {"instance": (), "steps": (), "value": rewrite(node.value, rule)}
    match node:
        case Assign():
            fields["target"] = rewrite(node.target, rule)
        case SetLocal():
            fields["name"] = named(node.name)
        case Declare():
            fields["name"] = ""
        case _:
            assert_never(node)
    return replace(node, **fields)
