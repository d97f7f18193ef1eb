"""Print calls of library functions: those that Python makes for the kernel, and those of BLAS.

In: the emitter of the text around, a node.  Out: a block of C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.dataclass import replace
from polyopt.emit.c_statements import Block, Branch, Code, Line
from polyopt.emit.helpers import Helper, HelperKind
from polyopt.ir.blas import LibraryProduct, NoProduct, ProductNest, nest_of, place_of
from polyopt.ir.expr import Expr, Load, substitute
from polyopt.ir.expr import sub as difference
from polyopt.ir.linear import normalize
from polyopt.ir.loops import CallLibrary, For, LoopKind, Node
from polyopt.ir.nodes import map_bodies

if TYPE_CHECKING:
    from polyopt.emit.cbody import BodyEmitter


def library_call(emitter: BodyEmitter, node: CallLibrary) -> Code:
    """Return the call of `po_library` on the arrays of a node."""
    assert not emitter.is_parallel, "Python is called from the calling thread"
    arrays = (*node.inputs, *node.outputs)
    data = [f"(void *){emitter.frame.views[array.name].memory}" for array in arrays]
    extents = [emitter.printer.text(extent) for array in arrays for extent in array.shape]
    call = f"po_library({node.site}, po_data, po_extents) != 0"
    return Block(
        [
            Line(f"void *const po_data[] = {{{', '.join(data) or 'NULL'}}};"),
            Line(f"const int64_t po_extents[] = {{{', '.join(extents) or '0'}}};"),
            Branch(call, emitter.exit.lines("-1", emitter.printer), []),
        ]
    )


def product_call(emitter: BodyEmitter, loop: For) -> list[Code]:
    """Return a product of BLAS, and the loops that run where no library is linked.

    Parts of threads, and what is no product any more, are loops only.
    """
    in_order = emitter.loop(_in_order(loop))
    try:
        nest = nest_of(loop)
    except NoProduct:
        return in_order
    if emitter.is_parallel:
        return in_order
    return [Branch(f"!{_call(emitter, nest)}", in_order, [])]


def _in_order(loop: For) -> For:
    """Return a nest with its loops as ones that a library has nothing to do with."""

    def plain(node: Node) -> Node:
        renewed = map_bodies(node, lambda body: tuple(map(plain, body)))
        return replace(renewed, kind=LoopKind.SEQUENTIAL) if isinstance(renewed, For) else renewed

    found = plain(loop)
    assert isinstance(found, For)
    return found


def _call(emitter: BodyEmitter, nest: ProductNest) -> str:
    product = nest.product
    loops = (product.rows, *([product.columns] if product.columns else []), product.terms)
    counts = [emitter.printer.text(_count(nest.loops[name])) for name in loops]
    kind = HelperKind.GEMM if product.columns else HelperKind.GEMV
    name = emitter.printer.helper(Helper(kind, product.target.dtype))
    sign = "-1" if product.is_subtracted else "1"
    operands = [
        word
        for load, loops in _operands(product)
        for word in (
            _first(emitter, load, nest.loops),
            *(_stride(emitter, load, one) for one in loops),
        )
    ]
    return f"{name}({', '.join((*counts, sign, *operands))})"


def _operands(product: LibraryProduct) -> tuple[tuple[Load, tuple[str, ...]], ...]:
    """Return the arrays with the loops whose strides the helper takes."""
    rows, terms = product.rows, product.terms
    if product.columns is None:
        left = (product.left, (rows, terms))
        return left, (product.right, (terms,)), (product.target, (rows,))
    return (
        (product.left, (rows, terms)),
        (product.right, (terms, product.columns)),
        (product.target, (rows, product.columns)),
    )


def _count(loop: For) -> Expr:
    return normalize(difference(loop.upper, loop.lower))


def _first(emitter: BodyEmitter, load: Load, loops: dict[str, For]) -> str:
    """Return the address of the first element that the nest accesses."""
    starts: dict[str, Expr] = {name: loop.lower for name, loop in loops.items()}
    index = tuple(normalize(substitute(one, starts)) for one in load.index)
    return f"&{emitter.printer.element(load.array, index)}"


def _stride(emitter: BodyEmitter, load: Load, loop: str) -> str:
    """Return the elements from one iteration of a loop to the next."""
    place, view = place_of(load, loop), emitter.frame.views[load.array]
    if view.strides:
        return view.strides[place]
    extents = [emitter.printer.text(extent) for extent in view.array.shape[place + 1 :]]
    return " * ".join(f"({extent})" for extent in extents) or "1"
