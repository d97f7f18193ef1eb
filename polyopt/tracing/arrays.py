"""Lazy arrays: they record what is done to them through NumPy's protocols and Python's operators.

In: placeholders, concrete arrays, operations.  Out: `LazyArray`, a handle of a node.
Refuses: uses that need elements (PO0801), stores that views make unclear (PO0804), declarations
that make no sense (PO0806).
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from polyopt.errors import FrontendError, boundary
from polyopt.frontend.numpy.table import METHODS
from polyopt.frontend.syntax.annotations import Annotation
from polyopt.tracing import recording, views
from polyopt.tracing.nodes import BINARY, COMPARE, Array, Captured, Node, Operator, mapped
from polyopt.tracing.places import here, refuse
from polyopt.tracing.sizes import Extent, Shape, Size, is_extent, is_polynomial, times
from polyopt.tracing.subscripting import broadcast, is_plain, show

_MATMUL = Operator("@", operator.matmul)


class LazyArray:
    """An array that is not computed yet.

    >>> import numpy as np, polyopt as po
    >>> x = po.tensor("x", po.f64["N,3"])
    >>> (np.exp(x) + 1).sum(axis=1)
    <LazyArray (N,) float64>
    """

    __slots__ = ("__weakref__", "_link", "_node", "_perhaps", "_views")
    __array_priority__ = 1000.0

    def __init__(self, node: Node) -> None:
        self._node = node
        self._views: weakref.WeakSet[LazyArray] = weakref.WeakSet()
        self._link: views.Link | None = None  # to the array that it is a view of
        self._perhaps: weakref.ref[LazyArray] | None = None  # or to one that it may be a view of

    # -- what is known --------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """The extents: numbers, or sizes with the names the placeholders give."""
        return self._node.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._node.shape)

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The element type."""
        return self._node.dtype

    @property
    def size(self) -> Extent:
        """The number of elements."""
        return times(*self._node.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Extent:
        """Bytes of all elements."""
        return times(self.size, self.itemsize)

    def __repr__(self) -> str:
        return f"<LazyArray {show(self.shape)} {self.dtype}>"

    def __len__(self) -> int:
        if not self.shape:
            refuse("PO0801", "len of a lazy number")
        first = self.shape[0]
        if isinstance(first, Size):
            refuse("PO0803", f"len of a lazy array is `{first}`, which is known only at a call",
                   hint="use x.shape[0]")  # fmt: skip
        return first

    def __iter__(self) -> Iterator[LazyArray]:
        for position in range(len(self)):
            yield self[position]

    # -- values ---------------------------------------------------------------------------------

    @boundary
    def compute(self, **options: object) -> Any:  # noqa: ANN401
        """Return the value, which must need no placeholder; compile if that was not done yet."""
        from polyopt.tracing.compiling import compute

        return compute(self, options)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Array:
        found = np.asarray(self.compute())
        if isinstance(self._node.op, Captured) and copy is not False:
            found = found.copy()
        return found if dtype is None else found.astype(dtype, copy=False)  # type: ignore[call-overload]

    def item(self, *place: int) -> object:
        """Return one element as a Python number."""
        return np.asarray(self.compute()).item(*place)

    def tolist(self) -> object:
        """Return the elements as nested lists."""
        return np.asarray(self.compute()).tolist()

    def __bool__(self) -> bool:
        self._refuse("the truth")

    def __float__(self) -> float:
        self._refuse("the number")

    def __int__(self) -> int:
        self._refuse("the number")

    def __complex__(self) -> complex:
        self._refuse("the number")

    def __index__(self) -> int:
        self._refuse("the number")

    def __contains__(self, value: object) -> bool:
        self._refuse("the truth")

    def _refuse(self, what: str) -> NoReturn:
        refuse("PO0801", f"{what} of a lazy array is needed while it is recorded")

    __hash__ = object.__hash__

    # -- NumPy's protocols ----------------------------------------------------------------------

    def __array_ufunc__(
        self, ufunc: Callable[..., object], method: str, *inputs: object, **options: object
    ) -> object:
        """Record a ufunc."""
        if any(map(_is_foreign, inputs)):
            return NotImplemented
        return record_ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self,
        function: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object],
        options: dict[str, object],
    ) -> object:
        """Record a NumPy function."""
        if not all(issubclass(kind, LazyArray | np.ndarray) for kind in types):
            return NotImplemented
        return record(function, *args, **options)

    def __array_namespace__(self, *, api_version: str | None = None) -> object:
        """Return NumPy, whose functions record."""
        return np

    # -- subscripts -----------------------------------------------------------------------------

    def __getitem__(self, key: object) -> Any:  # noqa: ANN401
        from polyopt.tracing.terms import element, is_term_key

        if is_term_key(key):
            return element(self._node, key)
        plain = operand(key)
        found = LazyArray(recording.subscript(self._node, plain))
        if is_plain(plain) and (found.shape or views.has_dots(plain)):
            take = partial(recording.subscript, key=plain)

            def put(node: Node, new: Node) -> Node:
                return recording.store(node, plain, new)

            self._lend(found, views.Link(self, take, put, views.is_run(plain), plain))
        return found

    def _lend(self, view: LazyArray, link: views.Link) -> None:
        """Remember a view, and how to take it again after a store."""
        self._views.add(view)
        view._link = link

    def __setitem__(self, key: object, value: object) -> None:
        """Replace the array by a copy with new elements; the caller's arrays stay as they are."""
        plain = operand(key)
        if isinstance(value, LazyArray) and self._is_own(value, plain):
            return
        views.check_store(self)
        self._replace(recording.store(self._node, plain, operand(value)))

    def _is_own(self, value: LazyArray, key: object) -> bool:
        """Whether `value` was taken from here by `key` and is there: `x[k] += 1` stored it."""
        return (
            value._link is not None
            and value._link.owner is self
            and value._link.key is not None
            and repr(value._link.key) == repr(key)
            and value._node.operands[:1] == (self._node,)
        )

    def _replace(self, node: Node) -> None:
        """Take new elements: the array this is a view of gets them, and all views see them."""
        if self._link is None:
            self._node = node
            self._refresh()
            return
        owner, put = self._link.owner, self._link.put
        assert put is not None
        owner._replace(put(owner._node, node))

    def _refresh(self) -> None:
        for view in tuple(self._views):
            assert view._link is not None
            view._node = view._link.take(self._node)
            view._refresh()

    def _update(self, op: Operator, value: object) -> Any:  # noqa: ANN401
        """`self op= value`: all names of this array see the new value."""
        found = _operator(op, self, value)
        if found is NotImplemented or not (self.shape or self._link):  # a number
            return found
        assert isinstance(found, LazyArray)
        if not np.can_cast(found.dtype, self.dtype, "same_kind"):
            refuse("PO0144", f"`{op.text}=` gives {found.dtype}, not to be put into {self.dtype}",
                   hint=f"write `x = x {op.text} y`, or convert with `.astype`")  # fmt: skip
        if broadcast(self.shape, found.shape) != self.shape:
            refuse("PO0140", f"`{op.text}=` gives shape {show(found.shape)}")
        views.check_store(self)
        node = found._node
        self._replace(node if found.dtype == self.dtype else recording.astype(node, self.dtype))
        return self

    # -- methods --------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Callable[..., object]:
        """Return a method that is a NumPy function of the same name."""
        if name not in _METHODS:
            if name.startswith("__"):
                raise AttributeError(name)
            hint = "use a NumPy function, or `.compute()` for values that need no input"
            raise _NoAttribute("PO0152", f"`.{name}` of a lazy array", loc=here(), hint=hint)
        function = getattr(np, name)
        return lambda *args, **options: record(function, self, *args, **options)

    def astype(self, dtype: object, **_: object) -> LazyArray:
        """Return the array converted."""
        if isinstance(dtype, Annotation):
            dtype = dtype.dtype.numpy
        return LazyArray(recording.astype(self._node, dtype))

    def reshape(self, *shape: object, order: str = "C") -> Any:  # noqa: ANN401
        """Return the elements in another shape; -1 is what is left."""
        return record(np.reshape, self, _flat(shape), **({} if order == "C" else {"order": order}))

    def transpose(self, *axes: object) -> Any:  # noqa: ANN401
        """Return the dimensions in another order, reversed when none is given."""
        found = _flat(axes)
        return record(np.transpose, self, *((found,) if axes and found is not None else ()))

    def flatten(self) -> Any:  # noqa: ANN401
        """Return a copy of the elements as a vector."""
        return LazyArray(recording.call(np.ravel, self._node))

    def view(self, *_: object) -> NoReturn:
        """Refuse: bytes have no lazy meaning."""
        refuse("PO0151", "`.view` of a lazy array", hint="convert with `.astype`")

    def conj(self) -> Any:  # noqa: ANN401
        """Return the complex conjugate."""
        return record(np.conjugate, self)

    conjugate = conj

    def fill(self, value: object) -> None:
        """Set all elements."""
        self[...] = value

    @property
    def T(self) -> Any:  # noqa: ANN401, N802
        """The dimensions in reverse order."""
        return record(np.transpose, self)

    @property
    def mT(self) -> Any:  # noqa: ANN401, N802
        """The last two dimensions exchanged."""
        return record(np.swapaxes, self, -1, -2)

    @property
    def real(self) -> Any:  # noqa: ANN401
        """The real part; of real numbers the array itself."""
        return record(np.real, self) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> Any:  # noqa: ANN401
        """The imaginary part."""
        return record(np.imag, self)

    @property
    def flat(self) -> NoReturn:
        """Refuse: iterators have no lazy meaning."""
        refuse("PO0151", "`.flat` of a lazy array", hint="use `.ravel()`")

    # -- operators ------------------------------------------------------------------------------

    def __matmul__(self, other: object) -> Any:  # noqa: ANN401
        return _operator(_MATMUL, self, other)

    def __rmatmul__(self, other: object) -> Any:  # noqa: ANN401
        return _operator(_MATMUL, other, self)

    def __divmod__(self, other: object) -> Any:  # noqa: ANN401
        return record_ufunc(np.divmod, "__call__", (self, other), {})


class _NoAttribute(FrontendError, AttributeError):
    """An attribute that lazy arrays lack: `hasattr` is False."""


_METHODS = METHODS - {"put", "compress"}  # NumPy's functions take other arguments, or write


def _install(name: str, text: str, kind: str) -> None:
    """Give `LazyArray` an operator's methods."""
    base = name if name not in ("and", "or") else f"{name}_"
    op = Operator(text, getattr(operator, base))

    def forward(self: LazyArray, other: object) -> object:
        return _operator(op, self, other)

    def backward(self: LazyArray, other: object) -> object:
        return _operator(op, other, self)

    def update(self: LazyArray, other: object) -> object:
        return self._update(op, other)

    def alone(self: LazyArray) -> object:
        return _operator(op, self)

    setattr(LazyArray, f"__{name}__", alone if kind == "unary" else forward)
    if kind == "binary":
        setattr(LazyArray, f"__r{name}__", backward)
        setattr(LazyArray, f"__i{name}__", update)


_SIGNS = {"neg": "-", "pos": "+", "invert": "~", "abs": "abs"}
for _kind, _texts in (("binary", BINARY), ("compare", COMPARE), ("unary", _SIGNS)):
    for _name, _text in _texts.items():
        _install(_name, _text, _kind)


def _flat(parts: tuple[object, ...]) -> object:
    """`f(2, 3)` and `f((2, 3))` are the same."""
    if len(parts) == 1 and not is_extent(parts[0]):
        return parts[0]
    return parts


# -- operands ---------------------------------------------------------------------------------


def operand(value: object) -> object:
    """Return a value as an operand of a node: arrays become nodes, the rest stays."""
    return mapped(value, _operand)


def _operand(value: object) -> object:
    match value:
        case LazyArray():
            return value._node
        case np.ndarray():
            return recording.captured(value)
        case Annotation():
            return value.dtype.numpy
        case _:
            return value


_SCALARS = (bool, int, float, complex, np.generic, np.ndarray, LazyArray, Size, tuple, list)


def _operator(op: Operator, *values: object) -> Any:  # noqa: ANN401
    """Record a Python operator; other types of operand decide for themselves."""
    for value in values:
        if isinstance(value, str | bytes | dict | set | None):
            refuse("PO0151", f"`{op.text}` of a lazy array and {value!r}")
        if not isinstance(value, _SCALARS):
            return NotImplemented
    return LazyArray(recording.operator(op, *(operand(_array(value)) for value in values)))


def _is_foreign(value: object) -> bool:
    """Whether `value` is an array of another library, which decides for itself."""
    own = isinstance(value, LazyArray | Size | np.ndarray | np.generic)
    return not own and hasattr(type(value), "__array_ufunc__")


def _array(value: object) -> object:
    """A list of numbers beside an array is an array."""
    if isinstance(value, tuple | list):
        return np.stack(value) if any(_is_lazy(v) for v in value) else np.asarray(value)
    return value


def _is_lazy(value: object) -> bool:
    if isinstance(value, tuple | list):
        return any(_is_lazy(part) for part in value)
    return isinstance(value, LazyArray)


def record(function: Callable[..., object], *args: object, **options: object) -> Any:  # noqa: ANN401
    """Record a call of a NumPy function."""
    options.pop("like", None)
    out = options.pop("out", None)
    if function is np.reshape:
        args = _filled(args)
    found = recording.call_any(
        function,
        tuple(operand(value) for value in args),
        {name: operand(value) for name, value in options.items()},
    )
    result = _lazies(found)
    if function in views.VIEWS and args and isinstance(args[0], LazyArray):
        rest = tuple(operand(value) for value in args[1:])
        views.link(function, args[0], result, rest, options)
    return result if out is None else _written(out, result)


def _filled(args: tuple[object, ...]) -> tuple[object, ...]:
    """Write the extent that -1 stands for, where it is a plain size."""
    if len(args) < 2 or not isinstance(args[0], LazyArray):
        return args
    found = recording.call(np.reshape, operand(args[0]), operand(args[1])).shape
    if not all(is_polynomial(extent) for extent in found):
        return args
    return (args[0], found, *args[2:])


def record_ufunc(
    ufunc: Callable[..., object], method: str, inputs: Sequence[object], options: dict[str, object]
) -> Any:  # noqa: ANN401
    """Record a ufunc's call, or one of its methods as a function of its own."""
    if method == "at":
        hint = "write a function with this call, for po.kernel"
        if ufunc is np.add:
            hint = "write `x + np.bincount(index, values, minlength=x.shape[0])`, or " + hint
        refuse("PO0151", f"`np.{ufunc.__name__}.at` of lazy arrays", hint=hint)
    if method != "__call__":
        return record(getattr(ufunc, method), *inputs, **options)
    return record(ufunc, *inputs, **options)


def _lazies(found: Node | tuple[Node, ...]) -> Any:  # noqa: ANN401
    if isinstance(found, tuple):
        return tuple(LazyArray(node) for node in found)
    return LazyArray(found)


def _written(out: object, result: object) -> object:
    """Store a result into `out=`."""
    if isinstance(out, tuple):
        if len(out) == 1 and not isinstance(result, tuple):
            return _written(out[0], result)
        assert isinstance(result, tuple)
        return tuple(_written(o, r) for o, r in zip(out, result, strict=True))
    if out is None:
        return result
    if not isinstance(out, LazyArray):
        refuse("PO0801", "`out=` is a concrete array, but the result is lazy",
               hint="leave `out=` away, and use the result")  # fmt: skip
    assert isinstance(result, LazyArray)
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        refuse("PO0144", f"{result.dtype} does not go into `out` of {out.dtype}",
               hint="convert with `.astype`")  # fmt: skip
    out[...] = result
    return out


# -- where lazy arrays come from --------------------------------------------------------------
