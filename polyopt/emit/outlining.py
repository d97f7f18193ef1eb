"""Outline parts of a body as functions of their own.

In: the body of a parallel loop, or one with very many nests.  Out: the functions, in
`BodyEmitter.regions`, and the statements that call them.
A compiler's time grows superlinearly with the size of a function: each gets a few nests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from polyopt.dataclass import replace
from polyopt.emit.c_statements import (
    Branch,
    Code,
    Function,
    Line,
    calling,
    identifiers,
)
from polyopt.emit.cexpr import ExprPrinter
from polyopt.emit.early_exits import (
    STATUS,
    Exit,
    ExitKind,
    fails_in_parallel,
    leaves_early,
)
from polyopt.emit.frame import ENTRY_PREFIX, extent_text
from polyopt.emit.helpers import Helper, HelperKind
from polyopt.emit.openmp import any_asks
from polyopt.emit.regions import Free, free_names, thread_arrays, written_arrays
from polyopt.emit.views import View
from polyopt.ir.expr import Expr
from polyopt.ir.loops import AllocateArray, Body, CallLibrary, Declare, For, Node
from polyopt.ir.nodes import all_nodes
from polyopt.ir.source import CParamKind
from polyopt.ir.types import DType

if TYPE_CHECKING:
    from polyopt.emit.cbody import BodyEmitter


TOGETHER = 16
"""Nests in one function, where there are more than twice as many."""


def outline_region(
    emitter: BodyEmitter, loop: For, free: Free, *, fails: bool, left: str = ""
) -> list[Code]:
    """Outline the body of a parallel loop and return the call; `left` tells its threads to end."""
    label = loop.label or "region"
    if emitter.frame.edition.is_handed_over:
        label = emitter.name(loop.iter)
    name, arguments = outlined(emitter, loop.body, label, free, fails=fails, left=left)
    return [Line(line) for line in calling(name, arguments, ";")]


def outline_sections(emitter: BodyEmitter, body: Body) -> list[Code]:
    """Return the statements of a body; if it has very many nests, as calls of outlined sections."""
    if sum(isinstance(node, For) and _is_outlinable(node) for node in body) <= 2 * TOGETHER:
        return emitter.body(body)
    emitter = emitter.of(body)
    lines: list[Code] = []
    for part in _sections(body):
        lines += _section(emitter, part) if len(part) > 1 else emitter.statements(part)
    return lines


def _sections(body: Body) -> Iterator[Body]:
    """Yield runs of nests that declare nothing for later ones, and the nodes between them."""
    if any(isinstance(node, AllocateArray) for node in body):
        yield body  # all after it is inside it
        return
    last: dict[str, int] = {}
    for number, node in enumerate(body):
        free = free_names((node,))
        last |= dict.fromkeys((*(local.name for local in free.locals), *free.set_locals), number)
    run: list[Node] = []
    for number, node in enumerate(body):
        is_apart = _is_outlinable(node)
        if is_apart:
            run.append(node)
        ends = number + 1 == len(body) or sum(isinstance(n, For) for n in run) == TOGETHER
        if run and (ends or not is_apart):
            behind = number + is_apart
            declared = (n.name for n in run if isinstance(n, Declare))
            is_closed = all(last.get(name, 0) < behind for name in declared)
            yield from (tuple(run),) if is_closed else ((one,) for one in run)
            run = []
        if not is_apart:
            yield (node,)


def _is_outlinable(node: Node) -> bool:
    if not isinstance(node, For):
        return isinstance(node, Declare)
    if fails_in_parallel((node,)) or thread_arrays((node,)):
        return False
    needs_whole = any(
        isinstance(inner, AllocateArray | CallLibrary) for inner in all_nodes((node,))
    )
    return not needs_whole and not free_names((node,)).set_locals


def _section(emitter: BodyEmitter, body: Body) -> list[Code]:
    """Outline some nests and return the call, and the exit if these may leave early."""
    asked = not emitter.frame.edition.is_handed_over and any_asks(body)
    leaves = leaves_early(body) or asked
    inside = replace(emitter, exit=Exit(ExitKind.RETURN))
    name, arguments = outlined(inside, body, "part", free_names(body), leaves=leaves)
    if not leaves:
        return [Line(line) for line in calling(name, arguments, ";")]
    status = f"{name}_status"
    call = [Line(line) for line in calling(f"const int {status} = {name}", arguments, ";")]
    return [*call, Branch(status, emitter.exit.lines(status, emitter.printer), [])]


def outlined(
    emitter: BodyEmitter,
    content: Body,
    label: str,
    free: Free,
    *,
    fails: bool = False,
    leaves: bool = False,
    left: str = "",
) -> tuple[str, list[str]]:
    """Outline `content` as a function and return its name and the arguments.

    `fails`: it takes a pointer to a status; `leaves`: it returns a status, 0 at its end.
    """
    frame, printer = emitter.frame, emitter.printer
    taken = frame.taken | emitter.names
    part = label.replace(".", "_").replace("[", "_").removesuffix("]")
    name = frame.identifier(f"{frame.entry.removeprefix(ENTRY_PREFIX)}_{part}", taken)
    emitter.names.add(name)
    arrays = [n for n in frame.views if n in free.arrays]
    written = written_arrays(content)
    views = dict(frame.views)
    for array in arrays:
        views[array] = _view_inside(views[array], array in written, printer)
    inside = replace(
        emitter, frame=replace(frame, views=views), printer=replace(printer, views=views)
    )
    lines = inside.body(content)
    body = [*inside.frame.row_declarations(lines, inside.printer), *lines]
    shapes = tuple(extent for array in arrays for extent in views[array].array.shape[1:])
    scalars = _scalars(inside, free, identifiers(body), shapes)
    params = [f"{ctype} {c}" for ctype, c in scalars]
    memories: dict[str, list[str]] = {}  # arrays that take turns in one memory are one argument
    for array in arrays:
        memories.setdefault(views[array].pointer, []).append(array)
    arguments = [c for _, c in scalars]
    for first, *others in memories.values():
        is_written = any(views[array].written for array in (first, *others))
        params.append(replace(views[first], written=is_written).parameter())
        outer = frame.views[first]
        arguments.append(outer.name if views[first].is_plain else outer.memory)
    if fails:
        params.append(f"int *{STATUS}")
        arguments.append(f"&{STATUS}")
    if left:
        params.append("int *po_left")
        arguments.append(f"&{left}".removeprefix("&*"))
        body.insert(0, Line("(void)po_left;"))
    if leaves:
        body.append(Line("return 0;"))
    kind = "int" if leaves else "void"
    emitter.regions.append(
        Function(f"__attribute__((noinline)) static {kind} {name}", params, body)
    )
    return name, arguments


def _scalars(
    emitter: BodyEmitter, free: Free, used: frozenset[str], shapes: tuple[Expr, ...]
) -> list[tuple[str, str]]:
    """Return C type and name of the scalar arguments of a text with the words `used`.

    `shapes` are the extents of its arrays.
    """
    bodies = (Declare("", DType.INT64, 1, extent) for extent in shapes)
    sizes = free_names(tuple(bodies))
    sized = tuple(s for s in sizes.locals if emitter.name(s.name) in used)
    counted = tuple(i for i in sizes.iters if emitter.name(i) in used)
    free = replace(
        free,
        locals=tuple(dict.fromkeys((*free.locals, *sized))),
        iters=tuple(dict.fromkeys((*free.iters, *counted))),
    )
    kinds = (CParamKind.SIZE, CParamKind.STRIDE, CParamKind.SCALAR)
    values = [p for p in emitter.frame.params if p.kind in kinds]
    found = [(p.dtype.value_ctype, p.text) for p in values if p.text in used]
    known = {c for _, c in found}
    for local in free.locals:
        c = emitter.name(local.name)
        if c not in known:
            width = Helper(HelperKind.VECTOR, local.dtype, local.lanes)
            alone = local.lanes == 1
            ctype = local.dtype.value_ctype if alone else emitter.printer.helper(width)
            found.append((ctype, c))
            known.add(c)
    for iterator in free.iters:
        found.append(("int64_t", emitter.name(iterator)))
    return found


def _view_inside(view: View, written: bool, printer: ExprPrinter) -> View:
    if view.is_plain:  # a value where it is only read
        return replace(view, is_plain=not written, written=written)
    if view.pointer == view.name and len(view.array.shape) > 1 and not view.strides:
        extents = tuple(extent_text(e, printer) for e in view.array.shape[1:])
        return replace(view, pointer=f"po_{view.name}", extents=extents, written=written)
    return replace(view, written=written)
