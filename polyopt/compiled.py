"""A compiled kernel: what was built for one combination of argument types.

In: a Python function, argument types, what was built.  Out: results; code, schedule and stages.
Refuses: calls that do not fit, with coded errors; arrays are untouched by a refused call.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyopt.building import Accept, Built, build_kernel, compile_stages
from polyopt.capture.guards import Guards, different, guards_of
from polyopt.capture.reads import Read
from polyopt.errors import (
    FrontendError,
    InternalError,
    PolyoptError,
    UsageError,
    without_frames,
)
from polyopt.frontend.syntax.annotations import ANY_SIZES, ArgType
from polyopt.ir.source import OUTSIDE, Signature, Source
from polyopt.kernel_entries import artefact_of, readable_text, unpacked
from polyopt.runtime.check import OutsideError, ShapeError, check_call, sizes_fit
from polyopt.runtime.library import Loaded
from polyopt.runtime.threads import warn_forked
from polyopt.schedulefile import save_text
from polyopt.specialize import (
    Fit,
    Parameters,
    as_declared,
    exact_values,
    generality,
    plain_values,
    restore,
    show_types,
    weak_flags,
)
from polyopt.targets import Options

if TYPE_CHECKING:
    from polyopt.benching import Against, Bench
    from polyopt.explaining import Explanation
    from polyopt.ir.loops import LoopFunction
    from polyopt.ir.program import Program
    from polyopt.numerics import NumericsContract
    from polyopt.numerics.compare import Comparison
    from polyopt.pipeline import Compilation
    from polyopt.schedule import Schedule
    from polyopt.verifying import Verification

VERIFYING = 0.02
"""Seconds that POLYOPT_VERIFY=1 adds to the compilation of a kernel; one sample may take longer."""

Types = tuple[ArgType, ...]
Values = tuple[object, ...]


_TRIES = 3


class CompiledKernel:
    """A kernel compiled for one set of argument types.

    A call whose arrays end before loops that do not reach so far has code for any sizes, which is
    compiled at the first such call.
    """

    def __init__(
        self, function: Callable[..., Any], types: Types, options: Options, built: Built
    ) -> None:
        self.py_func = function
        self.types = types
        self.options = options
        self._built = built
        self._stages: Compilation | None = built.stages
        self._guards: Guards | None = None
        self._general: CompiledKernel | None = None
        self._call = self._dispatch = declined

    def __call__(self, *args: object, **kwargs: object) -> Any:  # noqa: ANN401
        """Run the kernel; raises `UsageError` PO0228 where a value that it captures changed."""
        __tracebackhide__ = True
        try:
            if not kwargs:
                result = self._call(*args)
                if result is not NotImplemented:
                    return result
                if self._general is not None:
                    result = self._general._call(*args)
                    if result is not NotImplemented:
                        return result
            self._require_current()
            return self.settle(self._parameters.bind(args, kwargs))
        except PolyoptError as error:
            raise without_frames(error)  # noqa: B904 - the same error

    @property
    def dispatch(self) -> Callable[..., Any]:
        """Return the quick way in, which declines what does not fit, or where values changed."""
        return self._dispatch

    def is_current(self) -> bool:
        """Tell whether all values that the function captures are those it was compiled for."""
        if self._guards is not None and self._guards.hold():
            return True
        guards = guards_of(self.py_func, self.reads)
        if different(self.py_func, self.reads, self._guards) is not None:
            return False
        self._guards = guards
        loaded = self.loaded
        if guards.are_plain() and loaded.watch(guards.listed()):
            self._call, self._dispatch = loaded.call, loaded.dispatch
        else:
            self._call = self._watched(loaded.call)
            self._dispatch = self._watched(loaded.dispatch)
        return True

    def _watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: object) -> Any:  # noqa: ANN401
            if self._guards is None or not self._guards.hold():
                return NotImplemented
            return function(*args)

        return call

    def _require_current(self) -> None:
        if not self.is_current():
            changed = different(self.py_func, self.reads, self._guards)
            raise UsageError(
                "PO0228",
                f"`{changed}` is another value than `{self.signature.name}` was compiled for",
                hint="call the kernel itself, which compiles again, or compile it again",
            )

    def settle(self, values: Values) -> Any:  # noqa: ANN401
        """Run a call that the wrapper refused, or raise the error that says why."""
        loaded = self.loaded
        if loaded.is_forked():
            warn_forked()
            loaded.set_threads(1)
        plain = plain_values(values, not self.options.target.is_host)
        plain = as_declared(self.py_func, self._parameters, plain)
        result = loaded.call(*plain)
        if result is NotImplemented:
            try:
                bound = check_call(self.signature, plain)
            except OutsideError:
                general = self.for_any_sizes(plain)
                if general is None:
                    raise
                return restore(general.settle(plain), plain, values)
            result = loaded.call_apart(*exact_values(self.signature, plain, bound.symbols))
        if result is not NotImplemented:
            return restore(result, plain, values)
        raise InternalError("PO0901", "the call wrapper refused a call that fits")

    def for_any_sizes(self, values: Values | None = None) -> CompiledKernel | None:
        """Return code for arrays that end before loops which do not reach so far.

        None where this code is for all sizes, or where `values` do not fit the other code, either.
        """
        if all(check.code != OUTSIDE for check in self.signature.checks):
            return None
        fits = Fit(values)
        try:
            if self._general is None and ANY_SIZES not in self.types:
                types = (*self.types, ANY_SIZES)
                self._general = compile_for(self.py_func, types, self.options, fits)
            if self._general is not None:
                fits(self._general.signature)
        except (ShapeError, FrontendError):
            return None
        return self._general

    @cached_property
    def _parameters(self) -> Parameters:
        return Parameters.of(self.py_func)

    @property
    def loaded(self) -> Loaded:
        """The code in memory."""
        return self._built.loaded

    @property
    def signature(self) -> Signature:
        """How the kernel is called."""
        return self._built.source.signature

    @property
    def source(self) -> str:
        """The emitted text: C, or the target's language."""
        return self._built.source.text

    @property
    def c(self) -> str:
        """The C file that `polyopt compile` writes: for readers, and for projects without polyopt.

        It computes what `source` does, with the same loops.  "" for other targets.
        """
        return readable_text(self.stages) if self.options.target.is_host else ""

    @property
    def header(self) -> str:
        """The C declaration of the entry; none for other targets, which Python drives."""
        source = self._built.source
        return source.header if isinstance(source, Source) else ""

    @property
    def reads(self) -> tuple[Read, ...]:
        """What was read outside of the function's text, and what it was."""
        return self._built.reads

    @property
    def timings(self) -> dict[str, float]:
        """Seconds each stage took; only `cache` when the kernel came from there."""
        return dict(self._built.timings)

    @property
    def schedule_text(self) -> str:
        """The schedule's steps, in the language that `with_schedule` takes."""
        return self._built.schedule_text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `polyopt.load` runs with NumPy alone, on processors such as this one.

        POLYOPT_MACHINE=x86-64-v3 while it is compiled and saved makes it run on all of that level.
        """
        from polyopt.saving import save_kernel

        general = self.for_any_sizes()
        save_kernel(
            path,
            self._built.source,
            None if general is None else general._built.source,
            weak_flags(self.types),
            self.options.compiler,
        )

    def export(self, directory: str | os.PathLike[str], name: str | None = None) -> list[Path]:
        """Write a package of C with a program that calls the kernel on .npy and .npz files.

        Returns the files.  Compiles no C.  Raises `UsageError`: PO0640 to PO0643, PO0614.
        """
        from polyopt.exporting.any_sizes import for_any_sizes
        from polyopt.exporting.files import write_files
        from polyopt.exporting.kernels import exported, program_name

        program = self.stages.written or self.stages.program
        general = for_any_sizes(self.py_func, self.types, program, self.options)
        name = name or program_name(self.signature)
        made = exported(name, [(program, self.stages)], general)
        return write_files(Path(directory), dict(made.files))

    def save_schedule(self, path: str | os.PathLike[str]) -> None:
        """Write the schedule's steps to a file, for `load_schedule` and `--schedule`."""
        save_text(path, self.schedule_text)

    @property
    def certificate_text(self) -> str | None:
        """The text that `polyopt check` judges: program, loops, proof; None if unrecordable."""
        kept = self._built.artefact
        text = None if kept is None else unpacked(kept)
        return artefact_of(self.stages) if text is None else text

    @property
    def stages(self) -> Compilation:
        """The values of all stages; made again when the kernel came from the cache."""
        if self._stages is None:
            self._require_current()
            self._stages = compile_stages(self.py_func, self.types, self.options)
        return self._stages

    @property
    def program(self) -> Program:
        """The polyhedral program."""
        return self.stages.program

    @property
    def schedule(self) -> Schedule:
        """The proven schedule; raises `ScheduleError` PO0325 when there are several."""
        return self.stages.schedule

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """The proven schedules, one for each static control part in textual order."""
        return self.stages.schedules

    @property
    def loops(self) -> LoopFunction:
        """The loop AST that was printed."""
        return self.stages.loops

    def explain(self, level: str = "summary", **sizes: int) -> Explanation:
        """Return what became of the function, in at most 25 lines, and what `level` adds.

        Levels are "nest", "code", "assembly" and "full".  Times are predicted for `sizes`, `N=500`.
        """
        from polyopt.explaining import explanation

        return explanation(self.py_func, self.stages, self.options, level, sizes)

    def loop_nest(self, **sizes: int) -> str:
        """Return the final loops, ten lines for each nest, with times predicted for `sizes`."""
        return "\n".join(self.explain("nest", **sizes).below)

    def assembly(self) -> str:
        """Return the C compiler's assembly, with the source's line before its instructions.

        Raises `UsageError` PO0630 for another target than C, `ToolchainError` without a compiler.
        """
        return "\n".join(self.explain("assembly").below)

    def verify(self, samples: int = 20, seed: int = 0) -> Verification:
        """Compare the program as polyopt read it with the Python function, on small random calls.

        Compiles no C.
        """
        from polyopt.verifying import verify_program

        return verify_program(self.py_func, self._written(), self.types, samples, seed)

    def _written(self) -> Program:
        """Return the program as it was read, before the floating-point mode changed it."""
        from polyopt.frontend import build

        stages = self._built.stages
        written = stages.written if stages is not None else None
        return written or build(self.py_func, self.types)

    def _repr_html_(self) -> str | None:
        """Return the summary as a table, for notebooks; None where it cannot be made again."""
        try:
            return self.explain()._repr_html_()
        except PolyoptError:
            return None

    @property
    def numerics(self) -> NumericsContract:
        """What each output may differ by from the Python function's, and why."""
        from polyopt.numerics import numerics_contract

        return numerics_contract(self.loops, self.program)

    def error_bounds(self, *args: object, **kwargs: object) -> dict[str, Any]:
        """Return how far each element may lie from the Python function's, for such a call.

        Keys are written arguments and "return" or "return[0]"; exact outputs are not among them.
        Arguments stay untouched.
        """
        from polyopt.bounding import bounds_of
        from polyopt.numerics.classify import outputs_of

        values = plain_values(self._parameters.bind(args, kwargs))
        errors = bounds_of(self.program, values, self.options.compiler).errors
        named = outputs_of(self.program.signature)
        return {name: errors[array] for name, array, _ in named if array in errors}

    def compare(self, *args: object, **kwargs: object) -> tuple[Comparison, ...]:
        """Run the kernel and the Python function on copies; compare each output under its contract.

        A comparison `holds` where no element is outside its bound.
        """
        import copy

        import numpy as np

        from polyopt.bounding import compare_results
        from polyopt.frontend.syntax.annotations import by_position
        from polyopt.numerics.results import named_results

        values = plain_values(self._parameters.bind(args, kwargs))
        mine, theirs = copy.deepcopy(values), copy.deepcopy(values)
        got = named_results(self.program, mine, self(*mine))
        with np.errstate(all="ignore"):
            want = named_results(self.program, theirs, by_position(self.py_func)(*theirs))
        return compare_results(self.program, values, got, want, self.options.compiler)

    def bench(
        self,
        *args: object,
        against: Against = ("python",),
        seconds: float = 2.0,
        **kwargs: object,
    ) -> Bench:
        """Time such a call beside other functions, on copies, in turns, for about `seconds`.

        `against`: "python" or "numpy" (the undecorated function), "numba", functions of the same
        arguments; or a dict of functions by name.  One that takes longer than `seconds` is called
        once.  Printed, it is a table of milliseconds: median, quartiles, ratio to the kernel.

        Raises: `UsageError` PO0222 for something else, PO0227 for arguments that share memory.
        """
        from polyopt.benching import Subject, bench

        subject = Subject(self, self.py_func, self.program, self.options.compiler)
        return bench(subject, args, kwargs, against, seconds)

    def __reduce__(self) -> tuple[object, ...]:
        from polyopt.capture.by_name import by_name

        return by_name(self.py_func, compile_for, self.types, self.options)

    def __repr__(self) -> str:
        names = tuple(argument.name for argument in self.signature.arguments)
        lines = self.schedule_text.splitlines()
        steps = sum(not line.startswith(("let ", "part(")) for line in lines)
        source = self._built.source
        parallel = "sequential"
        if not isinstance(source, Source):
            parallel = source.language
        elif source.openmp:
            parallel = "parallel"
        return (
            f"<CompiledKernel {self.signature.name}({show_types(names, self.types)}), "
            f"{self.options.fp.value}, {parallel}, {steps} schedule steps>"
        )


def compile_for(
    function: Callable[..., Any], types: Types, options: Options, accept: Accept | None = None
) -> CompiledKernel:
    """Return the kernel for `types`, of the values that captured names have at the end.

    `accept` and errors as for `build_kernel`.
    """
    for _ in range(_TRIES):
        built = build_kernel(function, types, options, accept)
        compiled = CompiledKernel(function, types, options, built)
        if compiled.is_current():
            break  # nobody changed a value in the meantime
    return compiled


def declined(*args: object) -> Any:  # noqa: ANN401
    """Stand for the dispatcher of a kernel that was not compiled yet."""
    del args
    return NotImplemented


def verify_first(compiled: CompiledKernel) -> None:
    """Compare what was read with the Python function, briefly; raises `MisreadError` PO0920."""
    from polyopt.verifying import verify_program

    program, types = compiled._written(), compiled.types
    verify_program(compiled.py_func, program, types, seconds=VERIFYING).raise_mismatch()


def chain(
    compiled: Mapping[Types, CompiledKernel], read: Mapping[Types, Signature]
) -> Callable[..., Any]:
    """Return a function that offers a call to each compiled kernel, the most regular first.

    Code for any sizes declines what code for usual sizes takes, as far as its signature was `read`:
    such a call shows that this code is worth compiling.
    """
    dispatchers = tuple(
        _dispatcher(types, compiled, read) for types in sorted(compiled, key=generality)
    )
    if len(dispatchers) == 1:
        return dispatchers[0]

    def offer(*args: object) -> Any:  # noqa: ANN401
        for dispatch in dispatchers:
            result = dispatch(*args)
            if result is not NotImplemented:
                return result
        return NotImplemented

    return offer


def _dispatcher(
    types: Types, compiled: Mapping[Types, CompiledKernel], read: Mapping[Types, Signature]
) -> Callable[..., Any]:
    dispatch = compiled[types].dispatch
    usual = tuple(kind for kind in types if kind != ANY_SIZES)
    if usual in compiled or usual not in read:
        return dispatch

    def offer(*args: object) -> Any:  # noqa: ANN401
        return NotImplemented if sizes_fit(read[usual], args) else dispatch(*args)

    return offer
