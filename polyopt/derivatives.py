"""Derivatives of functions as kernels: `grad`, `value_and_grad`, `vjp`, `jvp`.

In: a Python function, or a kernel of one; the parameters to differentiate by.  Out: a `Kernel`.
Its Python function calls `derivative`, which only the front end knows how to read: it reads the
function, and writes the statements of the reverse sweep behind those of the function (`autodiff`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from polyopt.api import Kernel
from polyopt.capture.text import function_of_text
from polyopt.decorator import kernel
from polyopt.digest import hex_digest
from polyopt.errors import UsageError, boundary
from polyopt.frontend.syntax.annotations import annotations_of
from polyopt.frontend.values.derived import derivative, makes
from polyopt.frontend.values.records import record
from polyopt.structured import attributes_of, unused_name
from polyopt.targets import Options

By: TypeAlias = "int | str | Sequence[int | str]"
"""Which parameters to differentiate by: a position or a name, or several."""


@makes("grad")
@boundary
def grad(function: Callable[..., Any], /, wrt: By = 0, **options: object) -> Kernel[..., Any]:
    """Return a kernel of the gradient of `function`, which returns one floating-point number.

    `wrt` says by which parameters: a position or a name gives one gradient, a sequence a tuple of
    them.  Gradients have the shapes and types of the arguments; tuples, dataclasses and objects of
    arrays give gradients in the same structure.  Arguments that the function writes stay as they
    were.  `options` are those of `kernel`.  Reverse mode (A. Griewank and A. Walther, Evaluating
    Derivatives, 2nd edition, SIAM 2008).
    Raises `UsageError` PO0223 for what is no function, PO0229 for a parameter that it has not; at
    the first call `FrontendError` PO0183 to PO0185 for what has no derivative.
    """
    return _kernel("grad", function, wrt, (), options)


@makes("value_and_grad")
@boundary
def value_and_grad(
    function: Callable[..., Any], /, wrt: By = 0, **options: object
) -> Kernel[..., Any]:
    """Return a kernel that returns the function's value and its gradient, as `grad` gives it."""
    return _kernel("value_and_grad", function, wrt, (), options)


@makes("vjp")
@boundary
def vjp(
    function: Callable[..., Any], /, wrt: By = 0, *, of: str | Sequence[str] = (), **options: object
) -> Kernel[..., Any]:
    """Return a kernel of the product of a vector and the function's Jacobian.

    It takes the arguments of `function`, and after these one adjoint for each result, of its shape:
    what the function returns, or the contents of the written parameters that `of` names.  It
    returns the derivative, by the parameters `wrt`, of the sum of all results times their adjoints.
    Raises what `grad` raises.
    """
    names = (of,) if isinstance(of, str) else tuple(of)
    return _kernel("vjp", function, wrt, names, options)


@makes("jvp")
@boundary
def jvp(
    function: Callable[..., Any], /, wrt: By = 0, *, of: str | Sequence[str] = (), **options: object
) -> Kernel[..., Any]:
    """Return a kernel of the function's results and of the product of its Jacobian and a vector.

    It takes the arguments of `function`, and after these one tangent for each parameter in `wrt`,
    of its shape and structure.  It returns a pair: the results, which are what the function
    returns or the contents of the written parameters that `of` names, and how much they change
    with the parameters along the tangents.  Forward mode: nothing is saved.
    Raises what `grad` raises.
    """
    names = (of,) if isinstance(of, str) else tuple(of)
    return _kernel("jvp", function, wrt, names, options)


class DerivativeKernel(Kernel[..., Any]):
    """A kernel of a derivative; what it returns has the structure of the arguments.

    Parts of structures that are no floating-point numbers or arrays have the gradient None.
    """

    def __init__(
        self,
        mode: str,
        function: Callable[..., Any],
        by: int | str | tuple[int | str, ...],
        of: tuple[str, ...],
        options: Options,
    ) -> None:
        super().__init__(_wrapper(mode, function, by, of), options)
        self._derives = (mode, function, by, of)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Return the derivative at these arguments."""
        __tracebackhide__ = True
        found = super().__call__(*args, **kwargs)
        mode, _, by, _ = self._derives
        if mode in ("grad", "vjp") and by == 0 and args and type(args[0]) is np.ndarray:
            return found
        values = self._parameters.bind(args, kwargs)
        return self.shaped(found, dict(zip(self._parameters.names, values, strict=True)))

    def shaped(self, found: Any, given: Mapping[str, object]) -> Any:  # noqa: ANN401
        """Return what a call found, all in one tuple, in the structure of its arguments."""
        mode, _, by, _ = self._derives
        if mode == "jvp":
            half = len(found) // 2
            return found if half == 1 else (found[:half], found[half:])
        flat = iter(found if isinstance(found, tuple) else (found,))
        value = [next(flat)] if mode == "value_and_grad" else []
        names = self._parameters.names
        wanted = by if isinstance(by, tuple) else (by,)
        parts = [_like(given[names[w] if isinstance(w, int) else w], flat) for w in wanted]
        gradient = tuple(parts) if isinstance(by, tuple) else parts[0]
        return (value[0], gradient) if value else gradient

    def with_options(self, **options: object) -> DerivativeKernel:
        """Return the same derivative with other options."""
        return DerivativeKernel(*self._derives, self.options.changed(options))

    def __reduce__(self) -> tuple[object, ...]:
        from polyopt.capture.by_name import by_name

        mode, function, *rest = self._derives
        return by_name(function, _of_function, mode, *rest, self.options)


def _of_function(function: Callable[..., Any], mode: str, *rest: Any) -> DerivativeKernel:  # noqa: ANN401
    return DerivativeKernel(mode, function, *rest)


def _like(value: object, flat: Iterator[Any]) -> Any:  # noqa: ANN401
    """Return gradients in the structure of an argument."""
    if isinstance(value, list | tuple):
        parts = [_like(item, flat) for item in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    found = attributes_of(value)
    if found is not None:
        return record(type(value), **{name: _like(part, flat) for name, part in found.items()})
    kind = getattr(getattr(value, "dtype", None), "kind", "f" if type(value) is float else "")
    return next(flat) if kind == "f" else None


def _kernel(
    mode: str,
    function: Callable[..., Any],
    wrt: By,
    of: tuple[str, ...],
    options: dict[str, object],
) -> Kernel[..., Any]:
    whole = kernel_of(function)
    plain: Any = whole.py_func
    by = wrt if isinstance(wrt, int | str) else tuple(wrt)
    names = list(inspect.signature(plain, follow_wrapped=False).parameters)
    for which in by if isinstance(by, tuple) else (by,):
        _require(plain.__name__, which, names)
    for which in of:
        _require(plain.__name__, which, names)
    return DerivativeKernel(mode, plain, by, of, whole.options.changed(options))


def kernel_of(function: Any) -> Kernel[..., Any]:  # noqa: ANN401
    """Return a function, or a compiled graph of lazy arrays, as a kernel."""
    if isinstance(function, Kernel) or not hasattr(function, "whole"):
        return function if isinstance(function, Kernel) else kernel(function)
    if function.whole is None:
        raise UsageError(
            "PO0223",
            f"`{function.name}` is several kernels, or has arrays in it that are no inputs",
            hint="make it of less, with all arrays as inputs, or differentiate a function",
        )
    found: Kernel[..., Any] = function.whole
    return found


def _require(function: str, which: object, names: list[str]) -> None:
    """Refuse what is no parameter of a function."""
    is_position = type(which) is int and -len(names) <= which < len(names)
    if not is_position and which not in names:
        raise UsageError(
            "PO0229",
            f"`{function}` has no parameter {which!r} to differentiate by",
            hint=f"its parameters are {', '.join(names)}",
        )


@lru_cache(maxsize=512)
def _wrapper(
    mode: str, function: Callable[..., Any], by: object, of: tuple[str, ...]
) -> Callable[..., Any]:
    """Return a Python function whose text asks for the derivative."""
    scope: dict[str, object] = {"_derivative": derivative, "_function": function}
    shown, given = parameter_texts(function, scope)
    taken = [*inspect.signature(function, follow_wrapped=False).parameters]
    bars: list[str] = []
    if mode in ("vjp", "jvp"):
        for name in _directions(mode, by, of, taken):
            bars.append(unused_name(name, (*taken, *bars)))
        place = shown.index("*") if "*" in shown else len(shown)
        first = next((n for n, text in enumerate(shown[:place]) if "=" in text), place)
        shown[first:place] = [text.partition("=")[0] for text in shown[first:place]]
        shown[place:place] = bars
        count = len([text for text in given if "=" not in text])
        given[count:count] = bars
    asked = ", ".join(("_function", repr(mode), repr(by), repr(of), *given))
    made = standing_for(function, mode, shown, f"_derivative({asked})", scope)
    made.__doc__ = f"Return the derivative of `{getattr(function, '__name__', 'kernel')}`."
    notes = annotations_of(function)
    made.__annotations__ = {name: notes[name] for name in taken if name in notes}
    vars(made)["derives"] = (mode, by, of)
    return made


def parameter_texts(
    function: Callable[..., Any], scope: dict[str, object]
) -> tuple[list[str], list[str]]:
    """Return a function's parameters as a `def` shows them, and as arguments that pass them on.

    `scope` gets the defaults that the first ones name.
    """
    shown: list[str] = []
    given: list[str] = []
    for parameter in inspect.signature(function, follow_wrapped=False).parameters.values():
        text = parameter.name
        if parameter.default is not parameter.empty:
            scope[f"_default_{parameter.name}"] = parameter.default
            text += f"=_default_{parameter.name}"
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        shown.append(text)
        is_named = parameter.kind is parameter.KEYWORD_ONLY
        given.append(f"{parameter.name}={parameter.name}" if is_named else parameter.name)
    return shown, given


def standing_for(
    function: Callable[..., Any],
    mode: str,
    shown: Sequence[str],
    result: str,
    scope: dict[str, object],
) -> Callable[..., Any]:
    """Return a Python function of the parameters `shown` that returns `result`, a text."""
    of_what = getattr(function, "__name__", "")
    name = f"{mode}_of_{of_what if of_what.isidentifier() else 'kernel'}"  # a lambda has none
    text = f"def {name}({', '.join(shown)}):\n    return {result}\n"
    file = f"<polyopt {hex_digest(text.encode(), 8)} of {name}>"
    made = function_of_text(text, name, file, scope)
    made.__module__ = function.__module__
    vars(made)["stands_for"] = function  # what uses the arguments
    return made


def _directions(mode: str, by: object, of: tuple[str, ...], names: Sequence[str]) -> list[str]:
    """Return what the parameters for adjoints of results, or tangents of arguments, are called."""
    if mode == "vjp":
        return [f"{name}_bar" for name in of or ("result",)]
    wanted = by if isinstance(by, tuple) else (by,)
    return [f"{names[w] if isinstance(w, int) else w}_dot" for w in wanted]
