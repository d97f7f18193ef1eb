"""Functions of one example as kernels of many: `vmap`.

In: a Python function, or a kernel of one; along which axes of its arguments examples lie.  Out: a
`Kernel`.  Its Python function calls `examples`, which only the front end knows how to read: it
reads the function in a loop over the examples.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from polyopt.api import Kernel
from polyopt.derivatives import DerivativeKernel, kernel_of, parameter_texts, standing_for
from polyopt.errors import UsageError, boundary
from polyopt.frontend.values.derived import examples, makes
from polyopt.targets import Options

InAxes: TypeAlias = "int | Sequence[int | None] | Mapping[str, int | None] | None"
"""An axis for all arguments, for each one, or for those of these names; None: all share it."""


@makes("vmap")
@boundary
def vmap(
    function: Callable[..., Any],
    in_axes: InAxes = 0,
    out_axes: int | Sequence[int] = 0,
    **options: object,
) -> Kernel[..., Any]:
    """Return a kernel that calls `function` for many examples and stacks its results.

    `in_axes` says along which axis of its arguments the examples lie: one for all arrays, or one
    for each parameter, None for what all examples share; a dict names parameters, the others are
    shared.  Numbers are shared.  `out_axes` says where the results get the axis of examples: one
    for all, or one for each of several results.  The examples may run in parallel.  What the
    function writes it writes in the arrays of its example.  `options` are those of `kernel`.
    Raises `UsageError` PO0223 for what is no function, PO0230 for axes that do not fit its
    parameters; at the first call `FrontendError` PO0153 for an axis that an argument has not.
    """
    whole = kernel_of(function)
    plain: Any = whole.py_func
    names = list(inspect.signature(plain, follow_wrapped=False).parameters)
    axes = _axes(plain.__name__, in_axes, names)
    outward = out_axes if isinstance(out_axes, int) else tuple(out_axes)
    return BatchedKernel(whole, axes, outward, whole.options.changed(options))


class BatchedKernel(Kernel[..., Any]):
    """A kernel of a function for many examples."""

    def __init__(
        self,
        whole: Kernel[..., Any],
        axes: int | tuple[int | None, ...] | None,
        outward: int | tuple[int, ...],
        options: Options,
    ) -> None:
        super().__init__(_wrapper(whole.py_func, axes, outward), options)
        self._maps = (whole, axes, outward)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Return the results for all examples."""
        __tracebackhide__ = True
        found = super().__call__(*args, **kwargs)
        return self.shaped(found, args, kwargs)

    def shaped(self, found: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return gradients in the structure of the arguments; other results as they are."""
        whole = self._maps[0]
        if not isinstance(whole, DerivativeKernel):
            return found
        values = self._parameters.bind(args, kwargs)
        return whole.shaped(found, dict(zip(self._parameters.names, values, strict=True)))

    def with_options(self, **options: object) -> BatchedKernel:
        """Return the same function of many examples with other options."""
        return BatchedKernel(*self._maps, self.options.changed(options))

    def __reduce__(self) -> tuple[object, ...]:
        return BatchedKernel, (*self._maps, self.options)


def _axes(function: str, given: InAxes, names: list[str]) -> int | tuple[int | None, ...] | None:
    """Return the axis of all parameters, or of each."""
    if given is None or type(given) is int:
        return given
    hint = f"its parameters are {', '.join(names)}"
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            message = f"`{function}` has no parameter {unknown[0]!r} to go along"
            raise UsageError("PO0230", message, hint=hint)
        found = tuple(given.get(name) for name in names)
    elif isinstance(given, Sequence) and not isinstance(given, str):
        found = tuple(given)
        if len(found) != len(names):
            message = f"{len(found)} axes are given for {len(names)} parameters of `{function}`"
            raise UsageError("PO0230", message, hint=hint)
    else:
        message = f"`in_axes` is {given!r}"
        raise UsageError("PO0230", message, hint="give an integer, or one for each parameter")
    if any(axis is not None and type(axis) is not int for axis in found):
        message = f"`in_axes` is {given!r}"
        raise UsageError("PO0230", message, hint="give integers, or None for what all share")
    return found


@lru_cache(maxsize=512)
def _wrapper(
    function: Callable[..., Any],
    axes: int | tuple[int | None, ...] | None,
    outward: int | tuple[int, ...],
) -> Callable[..., Any]:
    """Return a Python function whose text asks for the function of all examples."""
    scope: dict[str, object] = {"_examples": examples, "_function": function}
    shown, given = parameter_texts(function, scope)
    asked = ", ".join(("_function", repr(axes), repr(outward), *given))
    made = standing_for(function, "vmap", shown, f"_examples({asked})", scope)
    made.__doc__ = f"Return what `{getattr(function, '__name__', 'kernel')}` gives for examples."
    return made
