"""What a summary of a compilation needs: sizes to predict for, the machine and its speeds.

In: a Python function, what a compilation made of it, options, sizes.  Out: the report's subject,
texts of every level.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from polyopt.dataclass import dataclass, replace
from polyopt.emit.as_run import as_run
from polyopt.emit.lanes import is_contiguous, row_arrays
from polyopt.errors import PolyoptError, ToolchainError, UsageError
from polyopt.ir.host import Emitted
from polyopt.ir.loops import For, LoopKind
from polyopt.ir.source import ArrayArg, IntegerOf, Signature, Source
from polyopt.report.cost import show_time
from polyopt.report.explain import explain
from polyopt.report.levels import LEVELS
from polyopt.report.names import Names
from polyopt.report.summary import Subject, Summary, summarize
from polyopt.report.summary_html import summary_html
from polyopt.report.summary_text import summary_lines
from polyopt.schedulefile import nearest
from polyopt.sizing import choose_sizes, largest

if TYPE_CHECKING:
    from polyopt.frontend.syntax.annotations import ArgType
    from polyopt.ir.program import Program
    from polyopt.pipeline import Compilation
    from polyopt.runtime.misses import Miss
    from polyopt.targets import Options

VECTOR, MATRIX, CUBE = 1_000_000, 1000, 100
"""Sizes that times are predicted for where nobody gave any, by the rank of the arrays.

Numbers of steps are sizes, too: with one, vectors are no longer than matrices.
"""


def subject_of(
    function: Callable[..., Any],
    compilation: Compilation,
    options: Options,
    given: Mapping[str, int] | None = None,
) -> Subject:
    """Return what reports are about; raises `UsageError` for sizes that do not fit."""
    from polyopt.measuring.rates import rates_of
    from polyopt.pipeline import machine_for
    from polyopt.runtime.store import open_store
    from polyopt.runtime.toolchain import find_compiler
    from polyopt.targets import detect_machine

    signature = compilation.program.signature
    sizes = choose_sizes(signature, function, given or {}, _default(signature))
    store = open_store()
    try:
        compiler = find_compiler(store, options.compiler)
    except ToolchainError:
        compiler = None
    rates = rates_of(detect_machine(), store, compiler)
    code = getattr(function, "__code__", None)
    own = frozenset(() if code is None else (*code.co_varnames, *code.co_cellvars))
    return Subject(
        compilation.program,
        compilation.schedules,
        as_run(compilation.loops),
        Names(compilation.program, own),
        options.target.value,
        options.threads,
        sizes,
        machine_for(options, detect_machine()),
        rates,
        partial(_in_lanes, rows=row_arrays(compilation.loops)),
    )


def _default(signature: Signature) -> int:
    ranks = [len(a.shape) for a in signature.arguments if isinstance(a, ArrayArg)]
    if any(isinstance(size, IntegerOf) for size in signature.sizes):
        ranks.append(2)
    return VECTOR if max(ranks, default=0) == 1 else largest(signature, MATRIX, CUBE)


def _in_lanes(loop: For, rows: frozenset[str]) -> bool:
    """Tell whether a loop that threads share is one that each runs in vectors."""
    return loop.kind is LoopKind.PARALLEL and is_contiguous(loop, rows)


def compiler_seconds(source: Source, options: Options) -> float:
    """Return how long the C compiler takes for a kernel, anew; raises `ToolchainError`."""
    from polyopt.building import texts_of, uses_ctypes
    from polyopt.runtime.build import build
    from polyopt.runtime.library import has_no_buffers
    from polyopt.runtime.store import Store, open_store
    from polyopt.runtime.toolchain import find_compiler

    compiler = find_compiler(open_store(), options.compiler)
    texts = texts_of(source, uses_ctypes() or has_no_buffers(source), compiler)
    with Store(None).staging() as work:
        started = time.perf_counter()
        build(compiler, texts, work)
        return time.perf_counter() - started


def assembly_of(source: Emitted, options: Options) -> tuple[tuple[str, int], ...]:
    """Return the lines of a kernel's assembly and the lines of C that they are of.

    Raises `UsageError` PO0630 for another target than C, `ToolchainError` without a C compiler.
    """
    from polyopt.building import texts_of
    from polyopt.runtime.assembly import assembly
    from polyopt.runtime.store import Store, open_store
    from polyopt.runtime.toolchain import find_compiler

    if not isinstance(source, Source):
        raise UsageError(
            "PO0630",
            f"there is no assembly of {source.language} kernels: the device's driver makes it",
            hint="--level code shows the text of the kernels; --target c has assembly",
        )
    compiler = find_compiler(open_store(), options.compiler)
    texts = texts_of(source, True, compiler)
    before = texts.kernel.removesuffix(source.text).count("\n")  # lines of the text's own head
    with Store(None).staging() as work:
        found = assembly(compiler, texts, work)
    return tuple((line, max(number - before, 0)) for line, number in found)


def cache_misses(
    function: Callable[..., Any], types: tuple[ArgType, ...], options: Options
) -> tuple[Miss, ...]:
    """Return what the cache has of a function, and how each entry differs from what is asked."""
    from polyopt.building import KIND, host_key
    from polyopt.runtime.misses import misses
    from polyopt.runtime.store import open_store
    from polyopt.runtime.toolchain import find_compiler
    from polyopt.targets import detect_machine

    store = open_store()
    compiler = find_compiler(store, options.compiler)
    key = host_key(function, types, options, detect_machine(), compiler)
    return misses(store, KIND, key, function)


def predicted_seconds(subject: Subject, options: Options, steps: str | None) -> float | None:
    """Return the predicted time with a schedule's `steps`, as compiled for None; None on devices.

    Raises a coded error where such a kernel cannot be made.
    """
    from polyopt.pipeline import compile_program
    from polyopt.targets import detect_machine

    if not subject.is_host:
        return None
    if steps is None:
        return sum(nest.seconds for nest in subject.nests)
    changed = replace(options, schedule=steps)
    made = compile_program(subject.program, changed, detect_machine())
    lanes = partial(_in_lanes, rows=row_arrays(made.loops))
    other = replace(subject, schedules=made.schedules, loops=as_run(made.loops), in_lanes=lanes)
    return sum(nest.seconds for nest in other.nests)


def gain_line(subject: Subject, written: Program, options: Options, steps: str) -> str | None:
    """Return what the model says of a schedule: its time, the source's and that of the kernel."""
    own = replace(subject, program=written)
    try:
        times = [predicted_seconds(own, options, text) for text in (steps, "source")]
        mine = predicted_seconds(subject, options, None)
    except PolyoptError as error:
        return f"not predicted: {error.message}"
    if None in times or mine is None:
        return None
    this, source = (show_time(seconds) for seconds in times if seconds is not None)
    return (
        f"predicted at {subject.names.sizes(subject.named_sizes)}: {this} with these steps alone, "
        f"{source} in the source's order, {show_time(mine)} as compiled"
    )


@dataclass(frozen=True, eq=False)
class Explanation:
    """What became of a function: a text of at most 25 lines, then what its level shows.

    `summary` has the facts; in a notebook it is a table.
    """

    summary: Summary
    below: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = summary_lines(self.summary)
        return "\n".join([*lines, "", *self.below] if self.below else lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the summary as a table."""
        return summary_html(self.summary)


def explanation(
    function: Callable[..., Any],
    compilation: Compilation,
    options: Options,
    level: str,
    sizes: Mapping[str, int],
) -> Explanation:
    """Return what became of a function; raises `UsageError` PO0632 for an unknown level."""
    if level not in LEVELS:
        near = nearest(level, LEVELS)
        meant = "" if near is None else f"did you mean `{near}`? "
        raise UsageError(
            "PO0632",
            f"explain: there is no level `{level}`",
            hint=f"{meant}levels: {', '.join(LEVELS)}",
        )
    subject = subject_of(function, compilation, options, sizes)
    below = tuple(level_lines(subject, compilation, options, level))
    if level == "full":
        sections = explain(compilation.program, compilation.schedules)
        below = ("\n\n".join(map(str, sections)),)
    return Explanation(summarize(subject), below)


def level_lines(
    subject: Subject, compilation: Compilation, options: Options, level: str
) -> Iterator[str]:
    """Yield what a level shows after the summary: loop nests, code or assembly."""
    from polyopt.emit.line_marks import annotated
    from polyopt.report.page import assembly_lines, code_lines, nest_lines

    if level == "nest":
        yield from nest_lines(subject)
    elif level in ("code", "assembly"):
        text = annotated(compilation.loops, subject.target, tuple(subject.statements))
        if level == "code":
            yield from code_lines(subject, text)
        else:
            yield from assembly_lines(subject, assembly_of(compilation.source, options), text)
