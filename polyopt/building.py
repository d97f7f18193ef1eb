"""From a function and argument types to a loaded kernel, through the cache.

In: a Python function, `ArgType`s, options.  Out: `Built`: source, loaded code, stages if they ran.
A warm cache is used without importing the front end, isl or running a compiler.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from polyopt.capture.reads import Read, Recording
from polyopt.dataclass import dataclass, replace
from polyopt.errors import PolyoptError, ToolchainError
from polyopt.frontend.syntax.annotations import ArgType, NeedConstant
from polyopt.ir.clock import now
from polyopt.ir.host import DeviceProgram, Emitted
from polyopt.ir.source import Signature, Source
from polyopt.machine import Machine
from polyopt.runtime import build as builder
from polyopt.runtime.caller import begin as begin_caller
from polyopt.runtime.caller import caller_for
from polyopt.runtime.fingerprint import versions
from polyopt.runtime.library import (
    Loaded,
    has_no_buffers,
    load_extension,
    load_foreign,
    no_device,
)
from polyopt.runtime.lookup import Found, find, keep
from polyopt.runtime.notices import BudgetWarning, PolyoptWarning, log, notice
from polyopt.runtime.process import begin as begin_process
from polyopt.runtime.process import calls_text, is_shared, process_for
from polyopt.runtime.records import to_json
from polyopt.runtime.store import WRONG_DATA, Store, open_store
from polyopt.runtime.threads import thread_count
from polyopt.runtime.toolchain import (
    Compiler,
    find_compiler,
    listed_features,
    processor_features,
    require_level,
)
from polyopt.specialize import number_flags
from polyopt.targets import Options, detect_machine, seconds_to_compile

if TYPE_CHECKING:
    from polyopt.ir.program import Program
    from polyopt.pipeline import Compilation, Expect

from polyopt.kernel_entries import KnownKernel, built_as, kernel_key, recall, remember

KIND = "kernels"
_import_front_end = partial(import_module, "polyopt.frontend.reader.pyfunc")
KEPT = 0.2  # of the time to compile: what is left to the C compiler
FIRST = 0.6  # of the time that is left: what the C compiler may take to optimize
SHORTEST = 0.8  # seconds: less is not enough for any kernel


Accept: TypeAlias = Callable[[Signature], None]
"""Raises a coded error where a call does not fit what a function was read as."""


@dataclass(frozen=True, eq=False)
class Built:
    """A kernel ready to be called; `stages` is None when it came from the cache.

    `artefact` is then what the cache keeps of its certificate, packed.  `reads` are the values
    outside of the function that it was made for.
    """

    source: Emitted
    loaded: Loaded
    schedule_text: str
    stages: Compilation | None
    timings: dict[str, float]
    reads: tuple[Read, ...]
    artefact: bytes | None = None


def build_kernel(
    function: Callable[..., Any],
    types: tuple[ArgType, ...],
    options: Options,
    accept: Accept | None = None,
) -> Built:
    """Return the kernel of `function` for `types`; raises `NeedConstant` or a coded error.

    `accept` raises where a call does not fit what the front end read: nothing is built then.
    """
    if not options.target.is_host:
        return _build_for_device(function, types, options, accept)
    start, begun = now(), time.perf_counter()
    require_level(listed_features)
    store = open_store()
    compiler = find_compiler(store, options.compiler, _import_front_end)
    machine = detect_machine()
    foreign = uses_ctypes()
    threads = thread_count(options.threads)
    numbers = number_flags(function, types)
    key = host_key(function, types, options, machine, compiler)
    found = _known(store, key, function, accept)
    if found is not None and isinstance(found.value.source, Source):
        known = found.value
        assert isinstance(known.source, Source)
        apart = foreign or has_no_buffers(known.source)
        caller = None if apart else caller_for(store, compiler)
        process = process_for(known.source, store, compiler)
        loaded = _kept_library(store, known, numbers, caller, threads, process)
        if loaded is not None:
            _warn(known.warning)
            timings = {"cache": time.perf_counter() - begun}
            return Built(
                known.source, loaded, known.schedule, None, timings, found.reads, known.artefact
            )
    recording = Recording(function)
    with ExitStack() as stack:
        ahead = _Ahead(stack, store, compiler, foreign)
        stages = _staged(
            function, types, options, machine, store, key, recording, accept, ahead.expect
        )
        source = stages.source
        assert isinstance(source, Source)
        foreign = foreign or has_no_buffers(source)
        texts = ahead.texts_of(source)
        left = seconds_to_compile(options) - (now() - start)
        begun = time.perf_counter()
        files = remember(stages)  # while the C compiler runs
        path, texts, refused = _library(stack, store, compiler, texts, left, ahead.kernel)
        stages.timings["build"] = time.perf_counter() - begun
        begun = time.perf_counter()
        caller = None if foreign else caller_for(store, compiler, ahead.caller)
        process = process_for(source, store, compiler, ahead.process)
        loaded = _load(path, source, numbers, caller, threads, process)
        stages.timings["load"] = time.perf_counter() - begun
    library_key = builder.library_key(texts, compiler)
    if refused is not None:
        stages = stages.without("the C compiler's optimization", refused)
    _finish(stages, files, library_key, store, key, recording, options)
    log("compile", "%s: %s", function.__qualname__, seconds_of(stages.timings))
    return Built(source, loaded, stages.schedule_text, stages, stages.timings, recording.reads)


def host_key(
    function: Callable[..., Any],
    types: tuple[ArgType, ...],
    options: Options,
    machine: Machine,
    compiler: Compiler,
) -> str | None:
    """Return the key of a kernel for the processor, without what its function reads."""
    made_by = {
        "compiler": [list(compiler.command), compiler.identity, list(compiler.machine)],
        "processor": list(processor_features()),
        "foreign": uses_ctypes(),
        "shared": is_shared(compiler),
    }
    return kernel_key(function, types, options, machine, made_by)


class _Ahead:
    """What the C compiler does while stages run: what kernels share, and one that is being proven.

    `expect` begins to build a kernel; it is loaded, and kept, only once it is proven.  The end of
    `stack` ends what nobody asked for.
    """

    def __init__(self, stack: ExitStack, store: Store, compiler: Compiler, foreign: bool) -> None:
        self._stack, self._store, self._compiler = stack, store, compiler
        self._foreign = foreign
        self._made: tuple[Source, builder.Texts] | None = None
        self.kernel: builder.Begun | None = None
        self.caller = None if foreign else begin_caller(stack, store, compiler)
        self.process = begin_process(stack, store, compiler)

    def expect(self, source: Emitted) -> None:
        """Start to build a kernel of `source`."""
        assert isinstance(source, Source)
        texts = self.texts_of(source)
        key = builder.library_key(texts, self._compiler)
        self.kernel = builder.begin(self._stack, self._store, self._compiler, texts, key)

    def texts_of(self, source: Source) -> builder.Texts:
        """Return what the C compiler gets of `source`; it is printed once."""
        if self._made is None or self._made[0] != source:
            foreign = self._foreign or has_no_buffers(source)
            self._made = (source, texts_of(source, foreign, self._compiler))
        return self._made[1]


def _kept_library(
    store: Store,
    known: KnownKernel,
    numbers: Sequence[int],
    caller: ModuleType | None,
    threads: int,
    process: int | None,
) -> Loaded | None:
    """Return the kept library of a kernel, loaded; one that cannot be is set aside."""
    path = builder.find_library(store, known.library)
    if path is None:
        return None
    assert isinstance(known.source, Source)
    try:
        return _load(path, known.source, numbers, caller, threads, process)
    except (ToolchainError, *WRONG_DATA) as error:
        store.reject("libraries", known.library, str(error).splitlines()[0])
        return None


def _build_for_device(
    function: Callable[..., Any],
    types: tuple[ArgType, ...],
    options: Options,
    accept: Accept | None,
) -> Built:
    """Do as `build_kernel` for a target other than C; the device compiles and keeps its code.

    Without a device there are all stages up to the text; calls raise what is missing.
    """
    from polyopt.hosting import load_program, provider_for

    begun = time.perf_counter()
    store, machine = open_store(), detect_machine()
    try:
        provider = provider_for(options.target.value, options.device)
    except ToolchainError as error:
        recording = Recording(function)
        stages = compile_stages(function, types, options, machine, recording, accept)
        return Built(
            stages.source, no_device(error), stages.schedule_text, stages, stages.timings,
            recording.reads,
        )  # fmt: skip
    key = kernel_key(function, types, options, machine, {"device": provider.limits.arch})
    found = _known(store, key, function, accept)
    if found is not None and isinstance(found.value.source, DeviceProgram):
        known = found.value
        assert isinstance(known.source, DeviceProgram)
        loaded = load_program(known.source, provider)
        _warn(known.warning)
        timings = {"cache": time.perf_counter() - begun}
        return Built(
            known.source, loaded, known.schedule, None, timings, found.reads, known.artefact
        )
    recording = Recording(function)
    stages = _staged(function, types, options, machine, store, key, recording, accept)
    program = stages.source
    assert isinstance(program, DeviceProgram)
    begun = time.perf_counter()
    loaded = load_program(program, provider)
    stages.timings["build"] = time.perf_counter() - begun
    _finish(stages, remember(stages), "", store, key, recording, options)
    return Built(program, loaded, stages.schedule_text, stages, stages.timings, recording.reads)


def _known(
    store: Store, key: str | None, function: Callable[..., object], accept: Accept | None
) -> Found[KnownKernel] | None:
    """Return what the cache has; raises what it says, `NeedConstant` or what `accept` does."""
    found = find(store, KIND, key, function, recall)
    match None if found is None else found.value:
        case str() as argument:
            raise NeedConstant(argument)
        case Signature() as signature:
            if accept is not None:
                accept(signature)
            return None
        case KnownKernel() as known:
            assert found is not None
            return Found(known, found.reads)
        case None:
            return None


def _staged(
    function: Callable[..., Any],
    types: tuple[ArgType, ...],
    options: Options,
    machine: Machine,
    store: Store,
    key: str | None,
    recording: Recording,
    accept: Accept | None,
    expect: Expect | None = None,
) -> Compilation:
    """Return all stages; that an argument has to be a constant is remembered.

    So is what the front end read, where a call does not fit it.
    """

    def accept_or_remember(signature: Signature) -> None:
        assert accept is not None
        try:
            accept(signature)
        except PolyoptError:
            files = {"signature.json": json.dumps(to_json(signature)).encode()}
            keep(store, KIND, key, recording.reads, files)
            raise

    asked = None if accept is None else accept_or_remember
    try:
        return compile_stages(function, types, options, machine, recording, asked, expect)
    except NeedConstant as need:
        files = {"need.json": json.dumps(need.argument).encode()}
        keep(store, KIND, key, recording.reads, files)
        raise


def _library(
    stack: ExitStack,
    store: Store,
    compiler: Compiler,
    texts: builder.Texts,
    left: float,
    begun: builder.Begun | None,
) -> tuple[Path, builder.Texts, builder.TooSlow | None]:
    """Return the library and the texts it was made of: quick ones, if the others take too long.

    It may be gone after the end of `stack`.
    """

    def made(chosen: builder.Texts, seconds: float) -> Path:
        key = builder.library_key(chosen, compiler)
        found = builder.library(store, compiler, chosen, key, seconds, begun)
        return stack.enter_context(found)

    try:
        return made(texts, max(left * FIRST, SHORTEST)), texts, None
    except builder.TooSlow as error:
        texts = replace(texts, quick=True)
        return made(texts, max(left * (1.0 - FIRST), SHORTEST)), texts, error


def _finish(
    stages: Compilation,
    files: Mapping[str, bytes],
    library: str,
    store: Store,
    key: str | None,
    recording: Recording,
    options: Options,
) -> None:
    """Keep what was made, and warn of what was left out for want of time."""
    warning = _warning(stages, seconds_to_compile(options))
    _warn(warning)
    kept = {**files, **built_as(library, warning)}
    keep(store, KIND, key, recording.reads, kept, anew=True)


def seconds_of(timings: Mapping[str, float]) -> str:
    """Return the stages of a compilation with their times, for a line of a log."""
    return ", ".join(f"{stage} {seconds * 1e3:.1f} ms" for stage, seconds in timings.items())


def _warning(stages: Compilation, seconds: float) -> str:
    """Return what to say of a kernel that is slower than it might be for want of time, or ""."""
    hurried = dict.fromkeys(d.what for d in stages.dropped if d.code in ("PO0703", "PO0504"))
    if not hurried:
        return ""
    return (
        f"`{stages.program.name}` was not compiled as well as it can be in {seconds:g} s, without: "
        f"{', '.join(hurried)}; allow more with POLYOPT_BUDGET or the option `budget`"
    )


def _warn(text: str) -> None:
    if text:
        notice(BudgetWarning, text)


def compile_stages(
    function: Callable[..., Any],
    types: tuple[ArgType, ...],
    options: Options,
    machine: Machine | None = None,
    recording: Recording | None = None,
    accept: Accept | None = None,
    expect: Expect | None = None,
) -> Compilation:
    """Run the front end and the pipeline; no compiler and no cache are involved.

    What the front end reads outside of the function is noted in `recording`.  `accept` gets the
    signature, and may raise; for `expect` see `compile_program`.
    """
    from polyopt.frontend import build
    from polyopt.ir.budget import Budget
    from polyopt.pipeline import compile_program

    budget = Budget(seconds_to_compile(options), kept=KEPT)
    start = time.perf_counter()
    with budget.running():
        with budget.share("frontend"):
            program = build(function, types, recording)
        if accept is not None:
            accept(program.signature)
        seconds = time.perf_counter() - start
        if machine is None:  # code for a device is the same beside any processor
            machine = detect_machine() if options.target.is_host else Machine()
        stages = compile_program(program, options, machine, budget=budget, expect=expect)
    stages.timings["frontend"] = seconds
    return stages


def uses_ctypes() -> bool:
    """Tell whether kernels are called through ctypes: asked for, or `Python.h` is missing."""
    if os.environ.get("POLYOPT_FORCE_CTYPES") == "1":
        return True
    if builder.python_headers() is not None:
        return False
    notice(
        PolyoptWarning,
        "`Python.h` is missing, so calls go through ctypes and take tens of microseconds longer; "
        "install the package python3-dev",
    )
    return True


def texts_of(source: Source, foreign: bool, compiler: Compiler) -> builder.Texts:
    """Return what the C compiler gets of `source`; `foreign`: calls go through ctypes."""
    wrapper = None
    if not foreign:
        from polyopt.emit.wrapper import wrapper_source

        wrapper = wrapper_source(source)
    return builder.kernel_texts(source, wrapper, calls_text(source, compiler))


def _load(
    path: Path,
    source: Source,
    numbers: Sequence[int],
    caller: ModuleType | None,
    threads: int,
    process: int | None,
) -> Loaded:
    """Load a library; without a `caller` its calls go through ctypes."""
    if caller is None:
        return load_foreign(path, source, numbers, threads, process)
    return load_extension(path, source.signature, numbers, source.openmp, threads, caller, process)


@dataclass(frozen=True, eq=False)
class BuiltProgram:
    """A program that no function was read for, ready to be called; numbers as its `weak` say."""

    source: Source
    loaded: Loaded
    schedule_text: str


def build_program(program: Program, weak: tuple[bool, ...], options: Options) -> BuiltProgram:
    """Return a kernel of `program` for a processor, from the cache where it is kept.

    `weak` says which of its numbers are Python's own.  Raises a coded error.
    """
    from polyopt.ir.budget import Budget
    from polyopt.ir.record import encode
    from polyopt.pipeline import compile_program

    store, machine = open_store(), detect_machine()
    compiler = find_compiler(store, options.compiler)
    threads = thread_count(options.threads)
    facts = {
        "program": encode(program),
        "options": repr(options),
        "machine": repr(machine),
        "compiler": [list(compiler.command), compiler.identity, list(compiler.machine)],
        "processor": list(processor_features()),
        "libc": builder.libc(),
        "versions": versions(),
    }
    key = json.dumps(facts, sort_keys=True)
    known = store.load("programs", key, recall)
    with ExitStack() as stack:
        if isinstance(known, KnownKernel) and isinstance(known.source, Source):
            source, schedule, stages = known.source, known.schedule, None
        else:
            with Budget(seconds_to_compile(options), kept=KEPT).running() as budget:
                stages = compile_program(program, options, machine, budget=budget)
            assert isinstance(stages.source, Source)
            source, schedule = stages.source, stages.schedule_text
        foreign = uses_ctypes() or has_no_buffers(source)
        texts = texts_of(source, foreign, compiler)
        path, texts, _ = _library(stack, store, compiler, texts, seconds_to_compile(options), None)
        caller = None if foreign else caller_for(store, compiler)
        loaded = _load(path, source, weak, caller, threads, process_for(source, store, compiler))
        if stages is not None:
            library = builder.library_key(texts, compiler)
            store.write("programs", key, {**remember(stages), **built_as(library, "")})
    return BuiltProgram(source, loaded, schedule)
