"""`compile`: a graph of lazy arrays to a callable, through the front end that reads functions.

In: lazy outputs, lazy inputs.  Out: `CompiledGraph`.
Refuses: no lazy outputs (PO0802), placeholders missing from the inputs (PO0805), calls whose arrays
are not what the placeholders say (PO0201, PO0203, PO0206 to PO0208).
"""

from __future__ import annotations

import builtins
import linecache
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

import polyopt
from polyopt.api import CompiledKernel, Kernel, kernel
from polyopt.errors import ArgumentError, Loc, PolyoptError
from polyopt.frontend.argtypes import ArgType, ArrayType, ScalarType
from polyopt.ir.source import Layout
from polyopt.ir.types import dtype_of
from polyopt.runtime.store import digest
from polyopt.runtime.values import array_of, type_name
from polyopt.specialize import array_type
from polyopt.tracing.arrays import LazyArray, as_lazy
from polyopt.tracing.evaluation import evaluate
from polyopt.tracing.nodes import Kind, Node, Placeholder, reachable
from polyopt.tracing.places import refuse
from polyopt.tracing.program import Program, write
from polyopt.tracing.shapes import show
from polyopt.tracing.sizes import Name as SizeName
from polyopt.tracing.sizes import Size, minus, named, value_of


class CompiledGraph:
    """A traced computation as compiled code; call it with arrays in the order of `inputs`, or by
    name.  `py_source` is the function it was read from, `source` the C text."""

    def __init__(
        self, program: Program, outputs: object, made: Kernel[Any], compiled: CompiledKernel
    ) -> None:
        self._program = program
        self._outputs = outputs
        self.kernel = made
        self.compiled = compiled

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(_name(node) for node in self._program.inputs)

    @property
    def py_source(self) -> str:
        """The Python function that was compiled; captured arrays come after the inputs."""
        return self._program.text

    @property
    def py_func(self) -> Callable[..., object]:
        """The Python function that was compiled."""
        found: Callable[..., object] = self.kernel.py_func
        return found

    @property
    def source(self) -> str:
        """The emitted C text."""
        return self.compiled.source

    def __call__(self, *args: object, **kwargs: object) -> Any:  # noqa: ANN401
        """Run the compiled code."""
        values, _ = self._bound(args, kwargs)
        captured = (_scalar_or_array(array) for array in self._program.arrays)
        with _user_places(self._program):
            result = self.kernel(*values, *captured)
        return self._shaped(result)

    def reference(self, *args: object, **kwargs: object) -> Any:  # noqa: ANN401
        """Evaluate the same graph by NumPy, one operation after the other."""
        values, sizes = self._bound(args, kwargs)
        inputs = {id(n): v for n, v in zip(self._program.inputs, values, strict=True)}
        found = evaluate(self._program.order, inputs, sizes)
        results = tuple(found[id(node)] for node in self._program.outputs)
        return self._shaped(results if len(results) != 1 else results[0])

    def _shaped(self, result: object) -> object:
        """Return the results in the structure that `outputs` had."""
        if isinstance(self._outputs, LazyArray | Size):
            return result
        several = len(self._program.outputs) != 1
        return _rebuilt(self._outputs, iter(result if several else (result,)))  # type: ignore[call-overload]

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
                f"`{self._program.name}` takes {len(names)} arrays: "
                f"{_problem(len(args) - len(names), extra, missing)}",
                hint=f"the inputs are ({', '.join(names)})",
            )
        given.update(kwargs)
        values = [_checked(node, given[_name(node)]) for node in self._program.inputs]
        return values, _sizes(self._program.inputs, values)

    def __repr__(self) -> str:
        return f"<CompiledGraph {self._program.name}({', '.join(self.inputs)})>"


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
        value = found
    if value.dtype != kind.dtype:
        raise ArgumentError(
            "PO0207", f"`{name}` has elements of {value.dtype}, declared {kind.dtype}",
            loc=node.loc, hint=f"pass `{name}.astype(np.{kind.dtype})`",
        )  # fmt: skip
    if value.ndim != len(kind.shape):
        raise ArgumentError(
            "PO0208", f"`{name}` has {value.ndim} dimensions, declared {show(kind.shape)}",
            loc=node.loc, hint="pass an array of that rank",
        )  # fmt: skip
    return _scalar_or_array(value)


def _scalar_or_array(value: Any) -> object:  # noqa: ANN401
    """Arrays of rank 0 are passed as numbers."""
    return value[()] if value.ndim == 0 else value


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


def _learn(sizes: dict[str, int], extent: object, found: int, plain: bool) -> None:
    if not isinstance(extent, Size):
        return
    for monomial, coefficient in extent.terms:
        if len(monomial) == 1 and coefficient == 1 and isinstance(monomial[0], SizeName):
            text = monomial[0].text
            rest = minus(extent, named(text))
            if text not in sizes and isinstance(rest, int) and (rest == 0 or not plain):
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
    chosen = _inputs(results, inputs)
    program = write(name, chosen, results)
    with _user_places(program):
        made = _kernel(name, program.text, _options_key(options), _Handed(options, program))
        compiled = made.compile(*_types(program))
    return CompiledGraph(program, outputs, made, compiled)


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


class _Handed:
    """What a cached constructor needs besides its key."""

    def __init__(self, options: Mapping[str, object], program: Program) -> None:
        self.options = options
        self.program = program

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Handed):
            return NotImplemented
        mine, theirs = self.program.others, other.program.others
        return mine.keys() == theirs.keys() and all(mine[key] is theirs[key] for key in mine)

    def __hash__(self) -> int:
        return 0


def _options_key(options: Mapping[str, object]) -> str:
    return repr(sorted(options.items(), key=lambda item: item[0]))


@lru_cache(maxsize=512)
def _kernel(name: str, text: str, options: str, handed: _Handed) -> Kernel[Any]:
    """Return the kernel of a text; equal graphs share it."""
    file = _file(text)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, object] = {"np": np, "po": polyopt, "__name__": "traced"}
    scope.update(handed.program.others)
    exec(builtins.compile(text, file, "exec"), scope)
    function: Any = scope[name]
    found: Kernel[Any] = kernel(function).with_options(**handed.options)
    return found


def _file(text: str) -> str:
    return f"<polyopt graph {digest(text.encode())[:16]}>"


def _types(program: Program) -> tuple[ArgType, ...]:
    given = (_declared(node.kind) for node in program.inputs)
    held = (
        _declared(Kind((), array.dtype)) if array.ndim == 0 else array_type("c", array)
        for array in program.arrays
    )
    return (*given, *held)


def _declared(kind: Kind) -> ArgType:
    dtype = dtype_of(kind.dtype)
    if kind.shape == ():
        return ScalarType(dtype, weak=dtype.value == "bool")
    ones = tuple(extent == 1 for extent in kind.shape)
    return ArrayType(dtype, len(kind.shape), Layout.C, ones)


# -- errors -----------------------------------------------------------------------------------


@contextmanager
def _user_places(program: Program) -> Iterator[None]:
    """Errors point at the line that recorded the operation."""
    try:
        yield
    except PolyoptError as error:
        if error.loc is not None and error.loc.file == _file(program.text):
            lines = program.text.splitlines()
            line = error.loc.line
            if 0 < line <= len(lines):
                error.notes = (*error.notes, f"in the traced function: {lines[line - 1].strip()}")
            error.loc = _users(program, error.loc)
        raise


def _users(program: Program, loc: Loc) -> Loc | None:
    """Return the user's line behind a place of the text: the smallest span around it."""
    spans = [
        span
        for span in program.spans
        if span.line == loc.line and span.start <= loc.col < max(span.end, span.start + 1)
        and loc.end_col <= span.end
    ]  # fmt: skip
    if spans:
        return min(spans, key=lambda span: span.end - span.start).loc
    same = [span for span in program.spans if span.line == loc.line]
    return same[0].loc if same else None
