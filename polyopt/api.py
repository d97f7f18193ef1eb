"""A function that runs as compiled code: `Kernel`.

In: a Python function, options, arguments.  Out: results; code, schedule and stages on request.
Refuses: calls that do not fit, with coded errors; arrays are untouched by a refused call.
"""

from __future__ import annotations

import functools
import operator
import os
import threading
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from polyopt.aliasing import with_sharing
from polyopt.building import Accept, compile_stages
from polyopt.capture.guards import different
from polyopt.capture.text import keep_lines
from polyopt.compiled import (
    CompiledKernel,
    Types,
    Values,
    chain,
    compile_for,
    declined,
    verify_first,
)
from polyopt.errors import (
    FrontendError,
    InternalError,
    PolyoptError,
    UsageError,
    boundary,
    without_frames,
)
from polyopt.frontend.syntax.annotations import ConstType, NeedConstant
from polyopt.ir.source import Signature
from polyopt.runtime.check import ShapeError
from polyopt.runtime.notices import PolyoptWarning, notice
from polyopt.runtime.sharing import OverlapError
from polyopt.schedulefile import with_sizes
from polyopt.settings import is_set
from polyopt.specialize import (
    Fit,
    Parameters,
    as_declared,
    as_type,
    is_type,
    plain_values,
    restore,
    types_of,
    with_constant,
    with_decisions,
    with_ones,
)
from polyopt.structured import Structures, at_definition, is_structured, unpacked
from polyopt.targets import Options, seconds_to_compile, seconds_to_tune
from polyopt.tuning.kept import Tuned, as_tuned

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Unpack

    from polyopt.candidates import ScheduleCandidate
    from polyopt.explaining import Explanation
    from polyopt.ir.program import Program
    from polyopt.kernel_options import KernelOptions
    from polyopt.schedule import Schedule
    from polyopt.session import KernelSchedule
    from polyopt.verifying import Verification

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
_SignatureOf = Callable[[Types], Signature]
_KEPT_VALUES = 16  # kernels of one function and types, for values that captured names had


class Kernel(Generic[P, R]):
    """A Python function that runs as compiled code; `py_func` is the function itself.

    Each new combination of element types, ranks and layouts is compiled at its first call; sizes
    stay symbolic.  With POLYOPT_DISABLE=1 the Python function runs.
    """

    py_func: Callable[P, R]

    def __init__(self, function: Callable[P, R], options: Options) -> None:
        functools.update_wrapper(self, function, updated=())
        self.py_func = function
        self.options = options
        self._parameters = Parameters.of(function, options.fixed_sizes)
        if isinstance(function, FunctionType):
            keep_lines(function)
        self._compiled: dict[Types, CompiledKernel] = {}
        self._earlier: dict[Types, list[CompiledKernel]] = {}
        self._signatures: dict[Types, Signature] = {}
        self._tuned: dict[Types, Tuned | None] = {}
        self._constants: frozenset[str] = frozenset()
        self._takes_apart = True
        self._unpacked: dict[Callable[..., Any], Kernel[..., Any]] = {}
        self._structures = Structures[Kernel[..., Any]]()
        self._lock = threading.RLock()
        self._fast: Callable[..., Any] = declined

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the kernel."""
        __tracebackhide__ = True
        try:
            if not kwargs and self._parameters.by_position:
                result: R = self._fast(*args)
                if result is not NotImplemented:
                    return result
            slow: R = self._slow_call(args, kwargs)
            return slow
        except PolyoptError as error:
            raise without_frames(error)  # noqa: B904 - the same error

    def _slow_call(self, args: Values, kwargs: dict[str, object]) -> Any:  # noqa: ANN401
        """Run a call that the compiled code did not take as it came."""
        if is_set("disable"):
            plain: Callable[..., Any] = self.py_func
            return plain(*args, **kwargs)
        given = self._parameters.bind_call(args, kwargs)
        if self._takes_apart and (self._parameters.is_open or any(map(is_structured, given))):
            given = as_declared(self.py_func, self._parameters, given)
            inner, values = self._structures.find(given) or self._apart(given)
            try:
                return inner(*values)
            except PolyoptError as error:
                raise at_definition(error, self.py_func) from None
        values = self._plain(given)
        result = self._fast(*values)
        if result is not NotImplemented:
            return restore(result, values, given)
        types = types_of(self._parameters, values, self._constants)
        return restore(self._specialized(types, values).settle(values), values, given)

    def _plain(self, given: Values) -> Values:
        """Return arguments as plain arrays, and numbers as annotations say."""
        values = plain_values(given, not self.options.target.is_host)
        return as_declared(self.py_func, self._parameters, values)

    def __get__(self, instance: object, owner: type | None = None) -> Any:  # noqa: ANN401
        """Return the method of an object whose class the kernel is written in."""
        return self if instance is None else MethodType(self, instance)

    def _apart(self, given: Values) -> tuple[Kernel[..., Any], Values]:
        """Return a kernel of arrays and numbers, and its arguments, for such a call."""
        found = unpacked(self.py_func, self._parameters.signature, given)
        kernel = self._unpacked.get(found.function) or Kernel(found.function, self.options)
        kernel._takes_apart = False
        kernel = self._unpacked.setdefault(found.function, kernel)
        self._structures.add(given, kernel)
        return kernel, found.values

    @boundary
    def compile(self, *args: Any, **kwargs: Any) -> CompiledKernel:  # noqa: ANN401
        """Compile for example arguments, types (`po.f64["N,M"]`), or for what is inferred.

        Names of sizes in annotations are keywords, too: `compile(N=4096, T=po.any)` compiles the
        extents called `N` in, and leaves those called `T` open, as all are that are not named.
        Raises `UsageError` PO0222 for a size that is neither a number from 0 nor `po.any`.
        """
        from polyopt.frontend.syntax.fixed_sizes import refuse_open, sizes_among, with_extents

        refuse_open(args, kwargs, self._parameters.names)
        own = (value for name, value in kwargs.items() if name in self._parameters.names)
        if self._parameters.is_open or any(map(is_structured, (*args, *own))):
            given = as_declared(self.py_func, self._parameters, self._parameters.bind(args, kwargs))
            inner, apart = self._apart(given)
            return inner.compile(*apart)
        sizes = sizes_among(self.py_func, kwargs, self._parameters.names)
        types, values = self._example(args, {n: v for n, v in kwargs.items() if n not in sizes})
        return self._specialized(with_extents(self.py_func, types, sizes), values)

    @boundary
    def export(self, directory: str | os.PathLike[str], /, *args: Any) -> list[Path]:  # noqa: ANN401
        """Write the kernel for such a call, or for what is inferred, as `CompiledKernel.export`."""
        return self.compile(*args).export(directory)

    @boundary
    def schedule(self, *args: Any, **kwargs: Any) -> KernelSchedule:  # noqa: ANN401
        """Return the schedule for example arguments, types, or what is inferred; compiles no C.

        `with kernel.schedule() as s` opens a `Session` that begins with the source's order; at its
        end the kernel is compiled with these steps.  `schedules` are those of all static control
        parts; where there are several, the rest of the value raises `ScheduleError` PO0325.
        """
        from polyopt.ir.budget import Budget
        from polyopt.session import scheduled

        with Budget(seconds_to_compile(self.options)).running():
            types, program = self._read(*self._example(args, kwargs))
            return self._as_tuned(types, lambda options: scheduled(program, options, self._take))

    def _take(self, schedule: str) -> None:
        """Compile with another schedule from now on."""
        Kernel.__init__(self, self.py_func, self.options.changed({"schedule": schedule}))

    @boundary
    def schedules(self, *args: Any, **sizes: int) -> tuple[ScheduleCandidate, ...]:  # noqa: ANN401
        """Return proven schedules to choose from, the one with the least predicted time first.

        For example arguments or types as `compile` takes them.  Times are predicted for `sizes`,
        `N=500`.  Each is a value for the option `schedule`.  Compiles no C.
        """
        from polyopt.candidates import candidates

        types, _ = self._read(*self._example(args, {}))
        return self._as_tuned(types, lambda own: candidates(self.py_func, types, own, sizes))

    @boundary
    def verify(self, *args: Any, samples: int = 20, seed: int = 0) -> Verification:  # noqa: ANN401
        """Compare the program as polyopt read it with the Python function, on small random calls.

        For example arguments or types as `compile` takes them; without any, for all types that were
        compiled, or what is inferred.  Compiles no C.  Arguments stay untouched.
        """
        from polyopt.ir.budget import Budget
        from polyopt.verifying import verify_program

        wanted: list[tuple[Types, Values | None]] = [(types, None) for types in self._compiled]
        found: list[Verification] = []
        with Budget(seconds_to_compile(self.options)).running():
            for given, values in (not args and wanted) or [self._example(args, {})]:
                types, program = self._read(given, values)
                found.append(verify_program(self.py_func, program, types, samples, seed))
        return functools.reduce(operator.add, found)

    def _read(self, types: Types, values: Values | None) -> tuple[Types, Program]:
        """Return the types that calls like this settle on, and the program for them."""
        from polyopt.frontend import build

        programs: dict[Types, Program] = {}

        def program_of(types: Types) -> Program:
            if types not in programs:
                programs[types] = build(self.py_func, types)
            return programs[types]

        settled = self._settle_types(types, values, lambda wanted: program_of(wanted).signature)
        return settled, program_of(settled)

    @boundary
    def explain(self, *args: Any, level: str = "summary", **sizes: int) -> Explanation:  # noqa: ANN401
        """Return what becomes of the function, in at most 25 lines, and what `level` adds.

        For example arguments or types; without any, for what was compiled last, or is inferred.
        Levels: "nest", "code", "assembly", "full".  Times are predicted for `sizes`, `N=500`.
        """
        from polyopt.explaining import explanation

        if not args and self._compiled:
            return next(reversed(self._compiled.values())).explain(level, **sizes)
        types, _ = self._read(*self._example(args, {}))

        def explained(options: Options) -> Explanation:
            stages = compile_stages(self.py_func, types, options)
            return explanation(self.py_func, stages, options, level, sizes)

        return self._as_tuned(types, explained)

    def _repr_html_(self) -> str | None:
        """Return the summary of what was compiled last as a table, for notebooks."""
        return next(reversed(self._compiled.values()))._repr_html_() if self._compiled else None

    @boundary
    def with_options(self, **options: Unpack[KernelOptions]) -> Kernel[P, R]:
        """Return the same function with other options, as fields of `Options` are called."""
        return Kernel(self.py_func, self.options.changed(options))

    @boundary
    def with_schedule(
        self, schedule: str | os.PathLike[str] | Schedule | None, /, **sizes: int
    ) -> Kernel[P, R]:
        """Return the same function with the steps of `schedule`, which are proven again.

        A text without parentheses is a file's name.  `sizes` are values for the names that stand
        for numbers in the steps: `with_schedule("tile(L0, T, T)", T=32)`.
        """
        options = self.options.changed({"schedule": schedule})
        if sizes:
            options = options.changed({"schedule": with_sizes(options.schedule or "", sizes)})
        return Kernel(self.py_func, options)

    def _example(self, args: Values, kwargs: dict[str, object]) -> tuple[Types, Values | None]:
        """Return types for `compile`: of values, as given, or inferred when there are none."""
        from polyopt.frontend.syntax.type_inference import infer_types, require_declared

        if self._parameters.is_open:  # the front end says that it needs a name for each argument
            return tuple(ConstType(None) for _ in self._parameters.names), None
        if not args and not kwargs and self._parameters.names:
            return infer_types(self.py_func), None
        given = self._parameters.bind(args, kwargs)
        if not any(is_type(value) for value in given):
            values = self._plain(given)
            return types_of(self._parameters, values, self._constants), values
        names, defaults = self._parameters.names, self._parameters.defaults
        types = tuple(as_type(n, v, defaults) for n, v in zip(names, given, strict=True))
        require_declared(self.py_func, names, types)
        return types, None

    @boundary
    def tune(
        self,
        seconds: float | str,
        /,
        *args: Any,  # noqa: ANN401
        save: str | os.PathLike[str] | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> Tuned:
        """Look for a faster schedule for such a call, for about `seconds`, and use it from then on.

        Candidates are proven like any schedule and run on copies of the arguments.  The best one is
        kept in the cache and taken by every later process on this machine.  `save` names a file of
        yours that a line with it is added to, for the option `tuned`.  Raises `UsageError` PO0227
        for a call that cannot be repeated on copies, PO0614 for a file that cannot be written.
        """
        limit = self.options.changed({"tune": seconds}).tune
        values = self._plain(self._parameters.bind(args, kwargs))
        types = types_of(self._parameters, values, self._constants)
        with self._lock:
            settled = self._compiled_types(types, values)
            found = self._tune(settled, values, 0.0 if limit is None else limit)
        if save is not None:
            from polyopt.tuning.saved import append

            append(save, self.py_func, settled, self.options, found.record())
        return found

    def _tune(self, types: Types, values: Values, seconds: float) -> Tuned:
        from polyopt.tuning.kept import keep
        from polyopt.tuning.tune import tune

        found = tune(self.py_func, types, self.options, values, seconds)
        self._tuned[types] = found
        if found.tried > 1:
            keep(self.py_func, types, self.options, found, self._compiled[types].reads)
        del self._compiled[types]
        self._compile(types)
        return found

    def _specialized(self, types: Types, values: Values | None) -> CompiledKernel:
        with self._lock:
            settled = self._compiled_types(types, values)
            seconds = self.options.tune
            if seconds is not None and values is not None and settled not in self._tuned:
                self._tune_once(settled, values, seconds_to_tune(self.options, seconds))
            return self._compiled[settled]

    def _compiled_types(self, types: Types, values: Values | None) -> Types:
        """Compile for `types` refined until they fit `values`; return these."""
        fits = Fit(values)
        return self._settle_types(
            types, values, lambda types: self._compile(types, fits).signature, fits
        )

    def _tune_once(self, types: Types, values: Values, seconds: float) -> None:
        """Tune at the first call; where that cannot be done, say so and go on."""
        try:
            self._tune(types, values, seconds)
        except UsageError as error:
            if error.code != "PO0227":
                raise
            self._tuned[types] = None
            notice(PolyoptWarning, f"`{self._parameters.name}`: {error.message}")

    def _settle_types(
        self,
        types: Types,
        values: Values | None,
        signature_of: _SignatureOf,
        fits: Fit | None = None,
    ) -> Types:
        """Return `types` refined until they fit `values`.

        `fits` may be asked by `signature_of`, too, as soon as the signature is known.
        Values are compiled in, dimensions of 1 told, arrays seen as parts of one memory.  What
        does not fit nor compile for all calls may do so for those that take the same branches.
        """
        while True:
            try:
                return self._fitting_types(types, values, signature_of, fits or Fit(values))
            except (ShapeError, FrontendError) as error:
                renewed = self._decided(types, values, error)
                if renewed == types:
                    raise
                types = renewed

    def _decided(self, types: Types, values: Values | None, error: PolyoptError) -> Types:
        """Return `types` with the branches decided that this call takes; raises `error`."""
        renewed = with_decisions(self.py_func, self._parameters, types, values, error.code)
        if renewed == types or values is None or not isinstance(error, ShapeError):
            return renewed
        try:  # is there hope, before anything is compiled?
            self._fitting_types(renewed, values, self._read_signature, Fit(values))
        except (ShapeError, FrontendError):
            types, renewed = renewed, self._decided(renewed, values, error)
            if renewed == types:
                raise error from None
        return renewed

    def _read_signature(self, types: Types) -> Signature:
        from polyopt.frontend import build
        from polyopt.ir.budget import Budget

        with Budget(seconds_to_compile(self.options)).running():
            self._signatures[types] = build(self.py_func, types).signature
        return self._signatures[types]

    def _fitting_types(
        self, types: Types, values: Values | None, signature_of: _SignatureOf, fits: Fit
    ) -> Types:
        """Return `types` refined by what the errors of readings and calls tell."""
        first: PolyoptError | None = None
        while True:
            try:
                fits(signature_of(types))
                return types
            except NeedConstant as need:
                refined = with_constant(self._parameters, types, values, need.argument)
                if refined == types:
                    raise InternalError("PO0902", f"{need}, and it is") from None
                types = refined
                self._constants |= {need.argument}
            except ShapeError as error:
                first = first or error
                refined = with_ones(types, error.broadcast)
                if refined == types:
                    raise first from None
                types = refined
            except OverlapError as error:
                assert values is not None
                assert fits.signature is not None
                types = with_sharing(types, values, fits.signature, error)
            except PolyoptError:
                if first is not None:
                    raise first from None
                raise

    def _compile(self, types: Types, accept: Accept | None = None) -> CompiledKernel:
        found = self._compiled.get(types)
        if found is not None:
            if found.is_current():
                return found
            self._set_aside(types, found)
            for earlier in self._earlier[types]:
                if earlier.is_current():
                    return self._put(types, earlier)

        def fits(signature: Signature) -> None:
            self._signatures[types] = signature
            if accept is not None:
                accept(signature)

        compiled = self._as_tuned(
            types, lambda options: compile_for(self.py_func, types, options, fits)
        )
        if is_set("verify"):
            verify_first(compiled)
        return self._put(types, compiled)

    def _as_tuned(self, types: Types, make: Callable[[Options], T]) -> T:
        """Return what `make` makes of the options, with what tuning found for `types`."""
        return as_tuned(self.py_func, types, self.options, self._tuned, make)

    def _put(self, types: Types, compiled: CompiledKernel) -> CompiledKernel:
        self._compiled[types] = compiled
        self._fast = chain(self._compiled, self._signatures)
        return compiled

    def _set_aside(self, types: Types, compiled: CompiledKernel) -> None:
        """Keep a kernel for values that a captured name had before; they may come back."""
        kept = self._earlier.setdefault(types, [])
        if compiled not in kept:
            kept.append(compiled)
        self._tuned.pop(types, None)
        if len(kept) > _KEPT_VALUES:
            del kept[0]
            changed = different(self.py_func, compiled.reads, None)
            notice(
                PolyoptWarning,
                f"`{self._parameters.name}` is compiled again for each value of `{changed}`: "
                "pass it as an argument",
            )

    def __reduce__(self) -> tuple[object, ...]:
        from polyopt.capture.by_name import by_name

        return by_name(self.py_func, Kernel, self.options)

    def __repr__(self) -> str:
        count = len(self._compiled)
        return f"<Kernel {self._parameters.name}{self._parameters.signature}, {count} compiled>"
