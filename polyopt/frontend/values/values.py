"""What Python expressions stand for while a function is read: numbers, lazy arrays, known objects.

In: expressions of the IR.  Out: immutable values; an array gives its element for any subscript, so
slices, transposes and broadcasts are subscript maps and elementwise chains stay one expression.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Iter,
    Load,
    Select,
    Unary,
    children,
    walk,
)
from polyopt.ir.source import Layout
from polyopt.ir.types import DType

Index: TypeAlias = tuple[Expr, ...]
IndexMap: TypeAlias = Callable[[Index], Index]


@dataclass(eq=False)
class Buffer:
    """Storage: an argument (`argument` names it) or an array made by the kernel.

    `faults`: the array of faults met, one element for each; its shape is known at the end.
    `is_list`: it holds the items of a Python list, which was made at `made_at`; `weak`: they are
    Python's own numbers.
    `length` names the variable that says how many entries of dimension `counted` are returned.
    `home`: the place in the order where it is made, if that always runs.
    `in_order`: NumPy is sure to lay its elements out in C order.
    `kinds`: the types, and weakness, of the numbers that a variable holds, with the only value of
    each if there is one; `tag`: the variable that holds which of them it is now.
    """

    name: str
    dtype: DType
    shape: Index
    argument: str | None = None
    layout: Layout = Layout.C
    returned: bool = False
    faults: bool = False
    is_list: bool = False
    weak: bool = False
    made_at: tuple[object, ...] | None = None
    length: str | None = None
    counted: int = 0
    home: Index | None = None
    in_order: bool = True
    kinds: tuple[tuple[tuple[DType, bool], Const | None], ...] = ()
    tag: Load | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """A number; `weak` for Python's own, which do not decide the dtype of a mixed operation.

    `sides`: what it is one of, where these are of different types.
    """

    expr: Expr
    weak: bool
    sides: Sides | None = None

    @property
    def dtype(self) -> DType:
        """The element type it is computed in."""
        return self.expr.dtype


@dataclass(frozen=True, slots=True)
class Sides:
    """`then` where the BOOL `condition` holds, `otherwise` elsewhere."""

    condition: Expr
    then: Number
    otherwise: Number


@dataclass(frozen=True, eq=False)
class View:
    """Element `index(i)` of a buffer for every subscript `i` of the view.

    `is_fixed`: NumPy does not write through it.
    """

    buffer: Buffer
    index: IndexMap
    is_fixed: bool = False


@dataclass(frozen=True, eq=False)
class Fold:
    """A reduction not yet computed: element `i` is `op` over all `r` of `term(i, r)`.

    `identity` starts it; None starts with the first term (maximum and minimum).  `narrow`: the type
    that NumPy may round partial results to.
    """

    op: BinaryOp
    dtype: DType
    shape: Index
    extents: Index
    term: Callable[[Index, Index], Expr]
    identity: Const | None
    narrow: DType | None = None


@dataclass(frozen=True, eq=False)
class Tensor:
    """An array value: a view of a buffer, an elementwise expression, or a `Fold`.

    A negative extent means an empty dimension.  `cost` weighs the operations of one element.
    `merged` tells of dimensions that are neighbouring ones of another array in one.  `in_order`: in
    memory of its own the elements are in C order.  `part_of`: the array of complex numbers of which
    these are the real or imaginary parts, or one that NumPy may not copy.
    """

    shape: Index
    dtype: DType
    at: Callable[[Index], Expr]
    view: View | None = None
    fold: Fold | None = None
    cost: int = 0
    weak: bool = False
    undefined: bool = False  # np.empty: memory, but no elements yet
    merged: Merged | None = None
    in_order: bool = False
    part_of: Tensor | None = None

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)


@dataclass(frozen=True, eq=False)
class Merged:
    """Dimension `d` is the next `counts[d]` dimensions of `source`, row-major, in one."""

    source: Tensor
    counts: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Masked:
    """The elements of `tensor` where `mask` (of the same shape) holds.

    `bound` is the place where they got a name.
    """

    tensor: Tensor
    mask: Tensor
    bound: tuple[object, ...] | None = None


@dataclass(frozen=True, eq=False)
class Sequence:
    """A Python tuple or list of values; `kind` is the class of a named tuple."""

    items: tuple[Value, ...]
    is_list: bool = False
    kind: type | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """What the items of a named tuple are called."""
        names: tuple[str, ...] = getattr(self.kind, "_fields", ())
        return names


@dataclass(frozen=True, eq=False)
class Known:
    """A Python object known while compiling: a number, None, a dtype, a module, a function."""

    value: object


@dataclass(frozen=True, slots=True)
class Range:
    """`range(start, stop, step)`."""

    start: Expr
    stop: Expr
    step: int


@dataclass(frozen=True, eq=False)
class Growing:
    """A list of numbers that grows while the kernel runs: the first `count` places of a buffer."""

    buffer: Buffer
    count: Load
    weak: bool


@dataclass(frozen=True, eq=False)
class Slice:
    """`slice(start, stop, step)`; each a number or None."""

    start: Value
    stop: Value
    step: Value


@dataclass(frozen=True, eq=False)
class Iterated:
    """What `for` may run over besides a range: `count` items, item `i` being `item(i)`.

    `as_array` makes NumPy's array of a list.
    """

    count: Expr
    item: Callable[[Expr], Value]
    as_array: Callable[[], Tensor] | None = None


@dataclass(frozen=True, eq=False)
class Method:
    """`owner.name` before it is called."""

    owner: Tensor | Number | Masked
    name: str


@dataclass(frozen=True, eq=False)
class Perhaps:
    """A number that is there where `flag` holds."""

    buffer: Buffer
    weak: bool
    flag: Load
    place: tuple[object, ...]

    @property
    def dtype(self) -> DType:
        """The element type it is computed in."""
        return self.buffer.dtype


@dataclass(frozen=True, slots=True)
class Gone:
    """A name without a usable value."""

    code: str
    reason: str
    hint: str
    partial: tuple[tuple[object, ...], ...] = ()  # the branches that set it, one of which may not
    kind: tuple[DType, bool] | None = None


Operandish: TypeAlias = Number | Tensor
Value: TypeAlias = (
    Number
    | Tensor
    | Masked
    | Sequence
    | Growing
    | Known
    | Range
    | Slice
    | Iterated
    | Method
    | Perhaps
    | Gone
)


UNNAMED = "!"
"""The iterator of subscripts that are only asked which names are in them."""


def view_of(buffer: Buffer) -> Tensor:
    """Return all of `buffer` as an array value."""
    return viewed(buffer, buffer.shape, lambda index: index)


def viewed(buffer: Buffer, shape: Index, index: IndexMap, is_fixed: bool = False) -> Tensor:
    """Return the view of `buffer` with the given shape and subscript map."""
    return Tensor(
        shape,
        buffer.dtype,
        lambda i: Load(buffer.name, index(i), buffer.dtype),
        View(buffer, index, is_fixed),
    )


def is_view(value: Operandish) -> bool:
    """Whether a value is elements of an array, which may have other names."""
    return isinstance(value, Tensor) and value.view is not None


def is_same_view(value: Tensor, other: Tensor) -> bool:
    """Whether both are the same elements of the same array."""
    if value.view is None or other.view is None or value.view.buffer is not other.view.buffer:
        return False
    if value.view is other.view:
        return True
    index = tuple(Iter(f"?{d}") for d in range(value.rank))
    return value.shape == other.shape and value.view.index(index) == other.view.index(index)


def remapped(tensor: Tensor, shape: Index, index: IndexMap) -> Tensor:
    """Return the array whose element `i` is `tensor[index(i)]`; a view stays a view."""
    if tensor.view is not None:
        outer = tensor.view
        return viewed(outer.buffer, shape, lambda i: outer.index(index(i)), outer.is_fixed)
    return Tensor(
        shape,
        tensor.dtype,
        lambda i: tensor.at(index(i)),
        cost=tensor.cost,
        part_of=tensor.part_of,
    )


def fixed(value: Tensor) -> Tensor:
    """Return a view that NumPy does not write through."""
    return value if value.view is None else replace(value, view=replace(value.view, is_fixed=True))


def cost_of(expr: Expr) -> int:
    """Weigh the operations of `expr`; subscripts and casts count nothing."""
    match expr:
        case Load():
            return 0
        case Call():
            own = 10
        case Binary(op=BinaryOp.DIV | BinaryOp.FLOORDIV | BinaryOp.MOD | BinaryOp.POW):
            own = 10 if expr.op is BinaryOp.POW else 4
        case Binary() | Unary() | Compare() | Select():
            own = 1
        case _:
            own = 0
    return own + sum(cost_of(child) for child in children(expr))


def has_loads(expr: Expr) -> bool:
    """Whether `expr` reads an array or a scalar variable."""
    return any(isinstance(part, Load) for part in walk(expr))


def is_plain_read(expr: Expr) -> bool:
    """Whether `expr` is an element or a constant, cast or not."""
    while isinstance(expr, Cast):
        expr = expr.operand
    return isinstance(expr, Load | Const)


def as_tensor(value: Operandish) -> Tensor:
    """Return a number as an array of rank 0."""
    if isinstance(value, Tensor):
        return value
    expr = value.expr
    return Tensor((), value.dtype, lambda _: expr, cost=cost_of(expr), weak=value.weak)


def as_value(tensor: Tensor) -> Operandish:
    """Return an array of rank 0 as a number."""
    if tensor.rank == 0 and tensor.fold is None:
        return Number(tensor.at(()), tensor.weak)
    return tensor


def item_of(array: Tensor, found: Operandish) -> Operandish:
    """Return an element of `array`: one of Python's own numbers where it is a list of these."""
    buffer = array.view.buffer if array.view is not None else None
    if buffer is None or not (buffer.is_list and buffer.weak) or not isinstance(found, Number):
        return found
    return Number(found.expr, found.weak or found.dtype in _OWN)


_OWN = (DType.BOOL, DType.INT64, DType.FLOAT64, DType.COMPLEX128)
