"""Mutants of copies, private values and reductions.

In: nothing.  Out: `MUTANTS`.  Local arrays on the stack stand for a GPU's shared memory.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

from polyopt.emit import cbody, lower_scop, storage_scope
from polyopt.emit.passes import panel_views
from polyopt.ir.expr import Const, add, integer
from polyopt.ir.loops import Body, DeclareArray, For, LoopKind
from polyopt.ir.nodes import bodies, map_bodies
from polyopt.ir.scop import Array
from polyopt.transforms import rfactor
from tests.mutants.case import Case
from tests.mutants.layers import Layer
from tests.mutants.mutant import Mutant
from tests.mutants.planting import Change

PROMOTE = import_module(
    "polyopt.emit.passes.scalar_replacement"
)  # a function of the package has that name
STORAGE = (Layer.PROOF, Layer.ENUMERATION, Layer.TEXT, Layer.RUN)


def _narrow(original: Any, array: Array, name: str, printer: Any) -> Any:
    """Print rows of a local array one element too short."""
    *outer, last = array.shape
    if outer:
        array = replace(array, shape=(*outer, add(last, integer(-1))))
    return original(array, name, printer)


def _lost(suffix: str) -> Change:
    """Do not run the copies of one direction."""

    def around(original: Any, lowering: Any, step: Any, names: Any) -> Any:
        return () if step.name.endswith(suffix) else original(lowering, step, names)

    return Change(lower_scop._Lowering, "call", around)


def _short(original: Any, *args: Any) -> Any:
    """Declare local arrays with a row too few."""
    body, local = original(*args)
    return _shortened(body), local


def _shortened(body: Body) -> Body:
    nodes = []
    for node in body:
        if isinstance(node, DeclareArray) and node.array.shape:
            first, *rest = node.array.shape
            shape = (add(first, integer(-1)), *rest)
            nodes.append(replace(node, array=replace(node.array, shape=shape)))
        elif bodies(node):
            nodes.append(map_bodies(node, _shortened))
        else:
            nodes.append(node)
    return tuple(nodes)


def _kept(original: Any, loop: Any, chosen: Any) -> Body:
    """Leave in registers what belongs into memory."""
    body: Body = original(loop, chosen)
    return body[: -len(chosen)]


def _shared(original: Any, *args: Any) -> Any:
    """Declare what each parallel iteration has for itself once, before the loop."""
    body, local = original(*args)
    found = []
    for node in body:
        if isinstance(node, For) and node.kind is LoopKind.PARALLEL:
            own = tuple(n for n in node.body if isinstance(n, DeclareArray))
            rest = tuple(n for n in node.body if not isinstance(n, DeclareArray))
            found += [*own, replace(node, body=rest)]
        else:
            found.append(node)
    return tuple(found), local


def _zero(original: Any, op: Any, dtype: Any) -> Any:
    found = original(op, dtype)
    return found if found is None else Const(0.0, dtype)


def _twice(original: Any, *args: Any) -> Any:
    """Start every partial result with the value that the sum starts with."""
    made = original(*args)
    local = args[0]
    _, index = local.elements(made.iters[: len(local.loops)])
    return replace(made, value=rfactor.Load(local.source.name, index, local.source.dtype))


def _swapped_steps(original: Any, panel: Any) -> Any:
    """Take a view's steps along each dimension for those along the next one."""
    place = original(panel)
    return place and replace(place, steps=(*place.steps[1:], place.steps[0]))


def _swapped_places(original: Any, array: Any, condition: Any, then: Any, otherwise: Any) -> Any:
    """Let views name panels where nothing is copied, operands where something is."""
    return original(array, condition, otherwise, then)


def _printed_swapped(original: Any, node: Any, printer: Any) -> Any:
    """Print a view's places in each other's place."""
    return original(replace(node, then=node.otherwise, otherwise=node.then), printer)


GEMM = Case(
    "for i in range(N):\n  for j in range(N):\n    for k in range(N):\n"
    "      C[i, j] += A[i, k] * B[k, j]",
    "C[N, N]; A[N, N]; B[N, N]",
    "tile(L0, 4, 4, 4); pack(B, k_tile)",
    sizes=({"N": 5}, {"N": 0}, {"N": 1}),
)
ROW = Case(
    "for i in range(N):\n  for j in range(4):\n    T[j] = A[i, j] + 1.0\n"
    "  for j in range(4):\n    B[i, j] = T[3 - j] * 2.0",
    "A[N, 4]; B[N, 4]; temp T[4]",
    "expand(T, i); parallelize(i)",
)
BLOCKS = replace(
    GEMM,
    steps="tile(L0, 8, 8, 16); tile(L0.point, 2, 4);"
    "interchange(L0.point.point[1], L0.point.point[2]);"
    "interchange(L0.point.point[0], L0.point.point[1]);"
    "unroll(L0.point.point[1]); vectorize(L0.point.point[2]);"
    "separate(L0.point.tile, L0.point.point, 2, 4);"
    "interchange(L0.point.tile.rest[0], L0.point.tile.rest[1]);"
    "separate(L0.point.point.rest, L0.point.point.rest, 0, 4)",
    sizes=({"N": 5}, {"N": 14}),
)
"""Blocks of B are copied at N = 14, and read in place at N = 5."""
PARTS = "tile(L0, 4); rfactor(S0, i_tile); parallelize(i_tile)"
MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        14,
        "rows of a packed array are too short",
        (Change(cbody, "array_declaration", _narrow),),
        (Layer.TEXT, Layer.RUN, Layer.SANITIZERS),
        GEMM,
        "stride of a promoted buffer",
    ),
    Mutant(
        15,
        "a packed array is not filled",
        (_lost("_in"),),
        (Layer.PROOF, Layer.ENUMERATION, Layer.TEXT),
        GEMM,
        "fill of a promoted buffer",
    ),
    Mutant(
        16,
        "an element kept in a register is not stored",
        (Change(PROMOTE, "_with_locals", _kept),),
        STORAGE,
        Case(
            "for i in range(N):\n  for j in range(N):\n    A[i] = A[i] + B[i, j]",
            "A[N]; B[N, N]",
        ),
        "drain of a promoted buffer",
    ),
    Mutant(
        20,
        "a packed array is a row too small",
        (Change(storage_scope, "declare_in_loops", _short),),
        (Layer.PROOF, Layer.ENUMERATION, Layer.TEXT, Layer.SANITIZERS),
        GEMM,
        "size of a shared buffer",
    ),
    Mutant(
        23,
        "an array private to an iteration is shared",
        (Change(storage_scope, "declare_in_loops", _shared),),
        (Layer.PROOF, Layer.ENUMERATION, Layer.TEXT, Layer.RACES),
        ROW,
    ),
    Mutant(
        24,
        "partial products start with zero",
        (Change(rfactor, "identity", _zero),),
        STORAGE,
        Case("for i in range(N):\n  P[0] *= A[i]", "P[1]; A[N]", PARTS),
    ),
    Mutant(
        25,
        "every partial sum starts with the first value",
        (Change(rfactor, "_start", _twice),),
        STORAGE,
        Case("for i in range(N):\n  P[0] += A[i]", "P[1]; A[N]", PARTS),
    ),
    Mutant(
        51,
        "a view goes through its operand in the wrong steps",
        (Change(panel_views, "_place", _swapped_steps),),
        (Layer.PROOF, Layer.ENUMERATION, Layer.TEXT),
        BLOCKS,
        "strides of a buffer read in place",
    ),
    Mutant(
        52,
        "a view names its copy where nothing was copied",
        (Change(panel_views, "DeclareView", _swapped_places),),
        (Layer.PROOF, Layer.ENUMERATION, Layer.TEXT),
        BLOCKS,
        "choice of a buffer or of its source",
    ),
    Mutant(
        53,
        "pointers are printed with the places of a view exchanged",
        (Change(cbody, "view_declaration", _printed_swapped),),
        (Layer.TEXT, Layer.RUN),
        BLOCKS,
        "choice of a buffer or of its source",
    ),
)
