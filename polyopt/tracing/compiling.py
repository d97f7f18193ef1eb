"""`compile`: a graph of lazy arrays to a callable, through the front end that reads functions.

In: lazy outputs, lazy inputs.  Out: `CompiledGraph`.
Refuses: no lazy outputs (PO0802), placeholders missing from the inputs (PO0805), calls whose arrays
are not what the placeholders say (PO0201, PO0203, PO0206 to PO0208).
Inputs that are declared, arrays that are captured.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polyopt.api import Kernel
from polyopt.compiled import CompiledKernel
from polyopt.errors import ArgumentError, boundary
from polyopt.frontend.syntax.annotations import Annotation
from polyopt.ir.types import dtype_of
from polyopt.runtime.values import array_of, type_name
from polyopt.tracing import recording
from polyopt.tracing.arrays import LazyArray
from polyopt.tracing.nodes import Kind, Node, Placeholder, reachable
from polyopt.tracing.places import refuse
from polyopt.tracing.program import told
from polyopt.tracing.sizes import Extent, Shape, Size, as_extent, is_extent, parse, value_of
from polyopt.tracing.stages import Graph, Stage, build
from polyopt.tracing.subscripting import show


class CompiledGraph:
    """A traced computation as compiled code; call it with arrays in the order of `inputs`, or by
    name.  `py_source` is the Python it was read from, `source` the C text.  A large graph is
    several kernels in a row."""

    def __init__(self, name: str, graph: Graph, outputs: object, stages: tuple[Stage, ...]) -> None:
        self.name = name
        self._graph = graph
        self._outputs = outputs
        self._stages = stages

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(_name(node) for node in self._graph.inputs)

    @property
    def kernels(self) -> tuple[CompiledKernel, ...]:
        """The kernels, each once: one, but for large graphs."""
        return tuple(dict.fromkeys(stage.compiled for stage in self._stages))

    @property
    def whole(self) -> Kernel[..., Any] | None:
        """The kernel that does everything, a function of the inputs alone; None where none does."""
        if len(self._stages) != 1:
            return None
        (stage,) = self._stages
        same = (
            (stage.program.parameters, self._graph.inputs),
            (
                stage.program.outputs,
                self._graph.outputs,
            ),
        )
        if any(tuple(map(id, one)) != tuple(map(id, two)) for one, two in same):
            return None
        return stage.kernel

    @property
    def py_source(self) -> str:
        """The Python functions that were compiled; captured arrays come after the inputs."""
        return "\n\n".join(dict.fromkeys(stage.program.text for stage in self._stages))

    @property
    def source(self) -> str:
        """The emitted C text."""
        return "\n".join(kernel.source for kernel in self.kernels)

    def __call__(self, *args: object, **kwargs: object) -> Any:  # noqa: ANN401
        """Run the compiled code."""
        values, sizes = self._bound(args, kwargs)
        return self._shaped(self._graph.run(self._stages, values, sizes))

    def reference(self, *args: object, **kwargs: object) -> Any:  # noqa: ANN401
        """Evaluate the same graph by NumPy, one operation after the other."""
        values, sizes = self._bound(args, kwargs)
        return self._shaped(self._graph.run((), values, sizes))

    def _shaped(self, results: tuple[object, ...]) -> object:
        """Return the results in the structure that `outputs` had."""
        return _rebuilt(self._outputs, iter(results))

    def _bound(
        self, args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> tuple[list[object], dict[str, int]]:
        """Return one value for each input, and the sizes that the placeholders name."""
        names = self.inputs
        given = dict(zip(names, args, strict=False))
        extra = [name for name in kwargs if name in given or name not in names]
        missing = [name for name in names if name not in given and name not in kwargs]
        if len(args) > len(names) or extra or missing:
            raise ArgumentError(
                "PO0201",
                f"`{self.name}` takes {len(names)} arrays: "
                f"{_problem(len(args) - len(names), extra, missing)}",
                hint=f"the inputs are ({', '.join(names)})",
            )
        given.update(kwargs)
        values = [_checked(node, given[_name(node)]) for node in self._graph.inputs]
        return values, _sizes(self._graph.inputs, values)

    def __repr__(self) -> str:
        return f"<CompiledGraph {self.name}({', '.join(self.inputs)})>"


def _problem(surplus: int, extra: Sequence[str], missing: Sequence[str]) -> str:
    if extra:
        return f"`{extra[0]}` is given twice, or is none of them"
    return f"`{missing[0]}` is missing" if missing else f"{surplus} too many"


def _name(node: Node) -> str:
    assert isinstance(node.op, Placeholder)
    return node.op.name


# -- arguments --------------------------------------------------------------------------------


def _checked(node: Node, value: object) -> object:
    """Return `value` if it is what the placeholder says."""
    name, kind = _name(node), node.kind
    if not isinstance(value, np.ndarray | np.generic):
        if kind.shape == () and type(value) in (bool, int, float, complex):
            return kind.dtype.type(value)
        found = array_of(value)
        if found is None:
            raise ArgumentError(
                "PO0206", f"`{name}` is {type_name(value)}, not an array", loc=node.loc,
                hint="convert it with `np.asarray`",
            )  # fmt: skip
        value = np.asarray(found)
    if value.dtype != kind.dtype:
        raise ArgumentError(
            "PO0207", f"`{name}` has elements of {value.dtype}, declared {kind.dtype}",
            loc=node.loc, hint=f"pass `{name}.astype({dtype_of(kind.dtype).spelled})`",
        )  # fmt: skip
    if value.ndim != len(kind.shape):
        raise ArgumentError(
            "PO0208", f"`{name}` has {value.ndim} dimensions, declared {show(kind.shape)}",
            loc=node.loc, hint="pass an array of that rank",
        )  # fmt: skip
    return value.dtype.type(value) if value.ndim == 0 else value


def _sizes(inputs: Sequence[Node], values: Sequence[object]) -> dict[str, int]:
    """Return the sizes that the arrays give; refuse arrays that disagree."""
    sizes: dict[str, int] = {}
    pairs = [
        (node, dim, extent, np.shape(value)[dim])  # type: ignore[call-overload]
        for node, value in zip(inputs, values, strict=True)
        for dim, extent in enumerate(node.shape)
    ]
    for _, _, extent, found in pairs:
        _learn(sizes, extent, found, plain=True)
    for _, _, extent, found in pairs:
        _learn(sizes, extent, found, plain=False)
    for node, dim, extent, found in pairs:
        expected = value_of(extent, sizes)
        if expected != found:
            where = f"dimension {dim} of `{_name(node)}`"
            said = extent if isinstance(extent, int) else f"{extent} = {expected}"
            raise ArgumentError(
                "PO0203", f"{where} has extent {found}, declared {said}", loc=node.loc,
                hint="pass arrays of the declared shapes",
            )  # fmt: skip
    return sizes


def _learn(sizes: dict[str, int], extent: Extent, found: int, plain: bool) -> None:
    for text, rest in told(extent):
        if text not in sizes and (rest == 0 or not plain):
            sizes[text] = found - rest


# -- structure --------------------------------------------------------------------------------


def _flat(value: object) -> Iterator[LazyArray]:
    match value:
        case LazyArray():
            yield value
        case Size() | np.ndarray():
            yield as_lazy(value)
        case tuple() | list():
            for part in value:
                yield from _flat(part)
        case dict():
            for part in value.values():
                yield from _flat(part)
        case _:
            refuse("PO0802", f"an output of type {type(value).__name__}")


def _rebuilt(value: object, results: Iterator[object]) -> object:
    match value:
        case list():
            return [_rebuilt(part, results) for part in value]
        case tuple():
            parts = (_rebuilt(part, results) for part in value)
            kind: Any = type(value)
            return kind(*parts) if hasattr(value, "_fields") else tuple(parts)
        case dict():
            return {key: _rebuilt(part, results) for key, part in value.items()}
        case _:
            return next(results)


# -- compilation ------------------------------------------------------------------------------


@boundary
def compile(
    outputs: object, inputs: Sequence[LazyArray] | None = None, *, name: str = "traced",
    **options: object,
) -> CompiledGraph:  # fmt: skip
    """Compile lazy outputs to a function of their placeholders.

    `outputs` is a lazy array, or a tuple, list or dict of them; the result has the same structure.
    `inputs` gives the order of the arguments; without it they come as they were declared.  Options
    are those of `kernel`.

    >>> import numpy as np, polyopt as po
    >>> x, w = po.tensor("x", po.f64["N,D"]), po.tensor("w", po.f64["D,E"])
    >>> f = po.compile(np.maximum(x @ w, 0.0))
    >>> f(np.ones((2, 3)), np.ones((3, 1)))
    array([[3.],
           [3.]])
    >>> print(f.py_source, end="")
    def traced(x: po.f64["N, D"], w: po.f64["D, E"]):
        v1 = x @ w
        return np.maximum(v1, 0.0)
    """
    results = tuple(array._node for array in _flat(outputs))
    if not results:
        refuse("PO0802", "there are no outputs")
    if not name.isidentifier():
        refuse("PO0802", f"{name!r} is no name of a function", hint="use a Python identifier")
    graph = Graph(_inputs(results, inputs), results)
    return CompiledGraph(name, graph, outputs, build(name, graph, options))


def compute(array: LazyArray, options: Mapping[str, object]) -> object:
    """Return the value of a lazy array without placeholders."""
    found = [n.op.name for n in reachable([array._node]) if isinstance(n.op, Placeholder)]
    if found:
        refuse("PO0808", f"the value depends on the input `{found[0]}`")
    return compile(array, (), **options)()  # type: ignore[arg-type]


def _inputs(results: Sequence[Node], inputs: Sequence[LazyArray] | None) -> tuple[Node, ...]:
    needed = [node for node in reachable(results) if isinstance(node.op, Placeholder)]
    if isinstance(inputs, LazyArray):
        inputs = (inputs,)
    chosen = needed if inputs is None else [_placeholder(given) for given in inputs]
    names = [_name(node) for node in chosen]
    for node in needed:
        if not any(node is given for given in chosen):
            refuse("PO0805", f"the placeholder `{_name(node)}` is not among the inputs", node.loc)
    for name in names:
        if names.count(name) > 1:
            refuse("PO0805", f"two inputs are called `{name}`")
    return tuple(chosen)


def _placeholder(given: object) -> Node:
    if isinstance(given, LazyArray) and isinstance(given._node.op, Placeholder):
        return given._node
    refuse("PO0805", f"the input {given!r} is no placeholder", hint="make inputs with po.tensor")


def tensor(name: str, shape: object, dtype: object = None) -> LazyArray:
    """Declare an input.

    >>> import numpy as np, polyopt as po
    >>> po.tensor("x", po.f32["N,D"])
    <LazyArray (N, D) float32>
    >>> po.tensor("w", ("D", 64), np.float64)
    <LazyArray (D, 64) float64>
    """
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        refuse("PO0806", f"{name!r} is no name for an input")
    if name in ("np", "po", "ml_dtypes"):
        refuse("PO0806", f"the name {name!r} stands for a module in the function that is made")
    if isinstance(shape, Annotation):
        extents, found = _annotated(shape), shape.dtype.numpy
    else:
        parts = shape if isinstance(shape, tuple | list) else (shape,)
        extents = tuple(_declared(part) for part in parts)
        found = _element_type(dtype)
    return LazyArray(recording.make(Placeholder(name), (), Kind(extents, found)))


def _annotated(note: Annotation) -> Shape:
    dims = note.dims or ()
    if any(dim == ":" for dim in dims):
        refuse("PO0806", f"the dimensions of `{note}` need names or numbers")
    return tuple(_checked_extent(parse(dim)) for dim in dims)


def _declared(part: object) -> Extent:
    if isinstance(part, str):
        return _checked_extent(parse(part))
    if not is_extent(part):
        refuse("PO0806", f"{part!r} is no size")
    return _checked_extent(as_extent(part))


def _checked_extent(extent: Extent) -> Extent:
    if isinstance(extent, int) and extent < 0:
        refuse("PO0806", f"the size {extent} is negative")
    return extent


def _element_type(dtype: object) -> np.dtype[np.generic]:
    if isinstance(dtype, Annotation):
        return dtype.dtype.numpy
    if dtype is None:
        refuse("PO0806", "the element type of an input is not given")
    try:
        return recording.known(np.dtype(dtype))  # type: ignore[call-overload]
    except TypeError:
        refuse("PO0806", f"{dtype!r} is no element type")


def lazy(array: object, name: str | None = None) -> LazyArray:
    """Capture a concrete array: its contents are those at the time of each call.

    >>> import numpy as np, polyopt as po
    >>> float((po.lazy(np.arange(3.0)) * 2).sum().compute())
    6.0
    """
    if isinstance(array, LazyArray):
        return array
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
        refuse("PO0806", f"{name!r} is no name for an array")
    return LazyArray(recording.captured(np.asarray(array), name))


def as_lazy(value: object) -> LazyArray:
    """Return a size as a lazy number, an array as a lazy one."""
    if isinstance(value, Size):
        return LazyArray(recording.size_value(value))
    return lazy(value)
