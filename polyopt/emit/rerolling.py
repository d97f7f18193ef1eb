"""Print runs of unrolled statements as loops, for readers.

In: a body.  Out: code in which each run of statements that differ by constants stands once, in one
loop or two nested ones of constant length; locals that passes numbered are arrays there.  Compilers
unroll these loops and keep the arrays in registers.
Refuses: runs whose constants do not grow by equal steps; they are printed as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from polyopt.dataclass import replace
from polyopt.emit.c_statements import Code, Compound, Line
from polyopt.emit.frame import family_of
from polyopt.emit.runs import LEAST, TEXT, Run, Straight, element_of, filled, run_of
from polyopt.ir.expr import Expr
from polyopt.ir.loops import AllocateArray, Assign, Body, Declare, For, LoopKind, Node, SetLocal
from polyopt.ir.names import symbols
from polyopt.ir.nodes import all_nodes, own_expressions

if TYPE_CHECKING:
    from polyopt.emit.cbody import BodyEmitter

_S = TypeVar("_S", bound=Straight)
UNROLL = "PO_UNROLL"
UNROLLING = (
    (f'#define {UNROLL} _Pragma("clang loop unroll(full)")',),
    (f'#define {UNROLL} _Pragma("GCC unroll 64")',),
)
"""Lines for clang, and for gcc; other compilers ignore the pragma."""


def rerolled(emitter: BodyEmitter, body: Body) -> list[Code] | None:
    """Return the statements of `body` with its runs as loops; None where it has no runs."""
    if (
        emitter.printer.held
        or len(body) < LEAST
        or any(_needs_names(node) for node in all_nodes(body))
    ):
        return None
    printing = _Printing(emitter)
    number = 0
    while number < len(body):
        end = _segment_end(body, number)
        if end - number < LEAST or not printing.segment(body, number, end):
            end = max(end, number + 1)
            printing.plainly(body, number, end)
        number = end
    return printing.lines if printing.has_loops else None


def _needs_names(node: Node) -> bool:
    """Tell whether a node becomes a function, of which elements of arrays are no parameters."""
    is_parallel = isinstance(node, For) and bool(
        node.kind is LoopKind.PARALLEL or node.reductions or node.streams
    )
    return is_parallel or isinstance(node, AllocateArray)


def _segment_end(body: Body, begin: int) -> int:
    """Return the end of the run of declarations and updates, or of stores, from `begin` on."""
    kinds = (Assign,) if isinstance(body[begin], Assign) else (Declare, SetLocal)
    end = begin
    while end < len(body) and isinstance(body[end], kinds):
        end += 1
    return end


class _Printing:
    """Prints the parts of a body in order; arrays that it declares are known to later parts."""

    def __init__(self, emitter: BodyEmitter) -> None:
        self.emitter = emitter
        self.lines: list[Code] = []
        self.has_loops = False

    def plainly(self, body: Body, begin: int, end: int) -> None:
        """Print nodes one by one."""
        for number in range(begin, end):
            self.lines += self.emitter.noted(body, number)

    def segment(self, body: Body, begin: int, end: int) -> bool:
        """Print a segment with its runs as loops, and tell whether there are any."""
        nodes = body[begin:end]
        declared = [node for node in nodes if isinstance(node, Declare)]
        updates = [node for node in nodes if isinstance(node, Assign | SetLocal)]
        if not updates:
            return self._arrays(declared)
        if not _may_be_first(declared, updates, body[end:]):
            return False
        return self._updates(declared, updates, self.emitter.notes(body, begin))

    def _arrays(self, declared: list[Declare]) -> bool:
        """Print declarations as arrays, each filled by a loop."""
        families = _families(declared)
        runs = {name: self._run(ones) for name, ones in families.items()}
        if not any(runs.values()):
            return False
        for name, ones in families.items():
            run = runs[name]
            if run is None:
                self.plainly(tuple(ones), 0, len(ones))
                continue
            counters = self._counters(run)
            array = self._fill(name, ones[0], run, counters)
            places = zip(ones, _places(run), strict=True)
            self._call({one.name: array + place for one, place in places})
        return True

    def _updates(
        self, declared: list[Declare], updates: Sequence[Straight], comments: list[Code]
    ) -> bool:
        """Print updates or stores as a loop; what they use is set before it, or in its rows."""
        families = {n: ones for n, ones in _families(declared).items() if len(ones) > 1}
        elements = {
            one.name: f"{family}@[{number}]"
            for family, ones in families.items()
            for number, one in enumerate(ones)
        }
        run = self._run(updates, elements)
        if run is None:
            return False
        uses = {family: run.use(f"{family}@") for family in families}
        runs: dict[str, Run] = {}
        for family, ones in families.items():
            length = {"row": run.rows, "column": run.columns}.get(uses[family], 0)
            filling = self._run(ones, least=2)
            if filling is None or length != len(ones) or filling.columns > 1:
                return False
            runs[family] = filling
        self.lines += comments
        for one in declared:
            if one.name not in elements:
                self.lines += self.emitter.node(one)
        counters = self._counters(run)
        inside: list[Code] = []
        texts: dict[str, str] = {}
        for family, ones in families.items():
            if uses[family] == "row":
                text = texts[f"{family}@"] = self._base(family)
                item = self._filled(ones[0], runs[family], counters)
                value = self._printer(item).initial(item)
                line = f"const {self.emitter.type_of(item)} {text} = {value};"
                inside.append(Line(line))
            else:
                array = self._fill(family, ones[0], runs[family], counters[1:])
                texts[f"{family}@"] = f"{array}[{counters[1]}]"
        form = self._filled(updates[0], run, counters, elements, texts)
        self._loops(run, counters, [*inside, *self._printer(form).node(form)])
        return True

    def _fill(self, family: str, first: Declare, run: Run, counters: tuple[str, ...]) -> str:
        """Print the declaration of an array and the loop that fills it; return its name."""
        array = self._base(family)
        extents = "".join(f"[{extent}]" for extent in run.extents)
        self.lines.append(Line(f"{self.emitter.type_of(first)} {array}{extents};"))
        form = self._filled(first, run, counters)
        element = array + "".join(
            f"[{name}]" for name, _ in zip(counters, run.extents, strict=True)
        )
        value = self.emitter.initial(form)
        self._loops(run, counters, [Line(f"{element} = {value};")])
        return array

    def _loops(self, run: Run, counters: tuple[str, ...], body: list[Code]) -> None:
        """Print the loops over rows and columns; only the last line of `body` is in both."""
        self.has_loops = True
        heads = [
            f"{UNROLL} for (int {name} = 0; {name} < {extent}; {name}++)"
            for name, extent in zip(counters, run.extents, strict=True)
        ]
        *before, last = body
        inner: Code = last
        if len(heads) > 1:
            inner = Compound(heads[1], [last])
        self.lines.append(Compound(heads[0], [*before, inner]))

    def _run(
        self,
        nodes: Sequence[Straight],
        elements: Mapping[str, str] | None = None,
        least: int = LEAST,
    ) -> Run | None:
        return run_of(nodes, self._elements(elements), least)

    def _elements(self, more: Mapping[str, str] | None) -> dict[str, str]:
        known = {name: text for name, text in self.emitter.frame.names.items() if "[" in text}
        return {**known, **(more or {})}

    def _filled(
        self,
        node: _S,
        run: Run,
        counters: tuple[str, ...],
        elements: Mapping[str, str] | None = None,
        texts: Mapping[str, str] | None = None,
    ) -> _S:
        """Return the node that a run's loops repeat."""
        return filled(node, run, counters, self._elements(elements), texts or {})

    def _printer(self, form: Node) -> BodyEmitter:
        """Return what prints a form, in which names stand for texts."""
        texts = {n: n.removeprefix(TEXT) for n in _symbols(form) if n.startswith(TEXT)}
        return _knowing(self.emitter, texts)

    def _counters(self, run: Run) -> tuple[str, ...]:
        wishes = ("r", "c")[: len(run.extents)]
        return tuple(self.emitter.own(wish) for wish in wishes)

    def _base(self, family: str) -> str:
        """Return a name for a family that hides nothing."""
        seen = {element_of(text)[0] for text in self._elements(None).values()}
        return self.emitter.frame.identifier(family, self.emitter.frame.taken | seen)

    def _call(self, names: Mapping[str, str]) -> None:
        """Let later parts know locals by other texts."""
        self.emitter = _knowing(self.emitter, names)


def _knowing(emitter: BodyEmitter, names: Mapping[str, str]) -> BodyEmitter:
    """Return an emitter to which some names stand for other texts."""
    names = {**emitter.frame.names, **names}
    printer, frame = replace(emitter.printer, names=names), replace(emitter.frame, names=names)
    return replace(emitter, printer=printer, frame=frame)


def _places(run: Run) -> list[str]:
    """Return the subscripts of a run's elements, in order."""
    if run.columns == 1:
        return [f"[{row}]" for row in range(run.rows)]
    return [f"[{row}][{column}]" for row in range(run.rows) for column in range(run.columns)]


def _families(declared: Sequence[Declare]) -> dict[str, list[Declare]]:
    """Return declarations by the name that passes numbered, and by form; others are alone."""
    found: dict[str, list[Declare]] = {}
    forms: dict[str, dict[type[Expr], str]] = {}
    for one in declared:
        family = family_of(one.name)
        if not family:
            found[one.name] = [one]
            continue
        known = forms.setdefault(family, {})
        name = known.setdefault(type(one.value), f"{family}_{len(known) + 1}" if known else family)
        found.setdefault(name, []).append(one)
    return found


def _may_be_first(declared: Sequence[Declare], updates: Sequence[Straight], after: Body) -> bool:
    """Tell whether all declarations may stand before all updates, and in a block with them."""
    own = {one.name for one in declared}
    set_here = own | {node.name for node in updates if isinstance(node, SetLocal)}
    if own & {node.name for node in updates if isinstance(node, SetLocal)}:
        return False
    used = {name for one in declared for name in _symbols(one)}
    later = {name for node in all_nodes(after) for name in _symbols(node)}
    return not used & set_here and not later & own


def _symbols(node: Node) -> frozenset[str]:
    found = symbols(*own_expressions(node))
    return found | ({node.name} if isinstance(node, SetLocal) else set())
