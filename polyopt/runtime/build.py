"""Compile emitted C and what its calls need into one shared library, or take it from the store.

In: the texts, a `Compiler`, a `Store`.  Out: the path of a library that was verified or just built.
Refuses: a compiler that fails (PO0502) or takes too long (PO0504).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from polyopt.dataclass import dataclass
from polyopt.errors import ToolchainError
from polyopt.ir.source import Source
from polyopt.runtime.elf import ElfKind, check_elf
from polyopt.runtime.notices import log
from polyopt.runtime.store import Entry, Store, digest
from polyopt.runtime.toolchain import (
    WRAPPER_FLAGS,
    Compiler,
    environment,
    kernel_flags,
    link_flags,
    processor_features,
)
from polyopt.runtime.waiting import output_of

if TYPE_CHECKING:
    from polyopt.runtime.blas import Blas


ABI = 6
"""Raised when libraries built before must not be loaded any more."""

OWN_MEMORY = {"aligned_alloc": "po_take", "free": "po_give"}
"""What kernels that are linked with `Texts.calls` call in place of the C library."""

OWN_THREADS = "PO_OWN_THREADS"
"""Macro of the text around a kernel whose threads a forked child starts anew."""

_KERNEL_FILES = ("-c", "kernel.c", "-o", "kernel.o")
_LIBRARY = "library.so"
_SECONDS = 300.0
_LOCK_SECONDS, _LOCK_PAUSE = 30.0, 0.02
_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class Texts:
    """What is compiled; `wrapper` is the text that a kernel is called by, None: it is none.

    `quick` asks for less of the compiler.  `calls` is what the kernel calls in place of OpenMP's
    library; None: it has no parallel region, or OpenMP's runs them.  `extension`: the text is no
    kernel but a module for this interpreter.  `alone`: the library links no other one but OpenMP's.
    """

    entry: str
    kernel: str
    wrapper: str | None
    openmp: bool
    contract: bool
    quick: bool = False
    calls: str | None = None
    extension: bool = False
    alone: bool = False

    @property
    def blas(self) -> Blas | None:
        """The library that the kernel's products are made by; raises `ToolchainError` PO0246."""
        if self.alone or "PO_BLAS(" not in self.kernel:
            return None
        from polyopt.runtime.blas import require_blas

        return require_blas()

    @property
    def links_openmp(self) -> bool:
        """Tell whether the library needs OpenMP's."""
        return self.openmp and self.calls is None


def kernel_texts(source: Source, wrapper: str | None, calls: str | None) -> Texts:
    """Return what is compiled for an emitted kernel; `wrapper` is what `emit.wrapper` prints.

    Without one, for calls through ctypes, the library listens to signals itself.
    """
    openmp, contract = source.openmp, source.contract
    text = f"#define PO_STOPS\n{source.text}"
    head = native_text("stops.c" if wrapper is None else "caller/call.h")
    wrapper = head if wrapper is None else f"{head}\n{wrapper}"
    return Texts(source.entry, text, wrapper, openmp, contract, calls=calls)


@dataclass(frozen=True, slots=True)
class Command:
    """One run of the compiler."""

    arguments: tuple[str, ...]
    output: str


Running: TypeAlias = list[tuple[Command, "subprocess.Popen[bytes]"]]
"""Processes of the compiler, and what each of them was started with."""


def library_key(texts: Texts, compiler: Compiler) -> str:
    """Return the text that decides which library results; long parts are named by their digests."""
    flags = _flags(compiler, texts)
    parts = (texts.kernel, texts.wrapper, texts.calls)
    facts = {
        "abi": ABI,
        "entry": texts.entry,
        "texts": [None if part is None else digest(part.encode()) for part in parts],
        "compiler": [list(compiler.command), compiler.identity],
        "flags": [list(flags), list(WRAPPER_FLAGS), list(_link_flags(texts))],
        "processor": list(processor_features()),
        "python": python_abi() if texts.extension else None,
        "libc": libc(),
    }
    return json.dumps(facts, sort_keys=True)


def python_abi() -> list[str]:
    """Return what decides whether an extension module fits this interpreter."""
    suffix = EXTENSION_SUFFIXES[0]  # `sysconfig` has none while another thread reads its variables
    return [sys.implementation.cache_tag or "", hex(sys.hexversion), suffix]


def libc() -> str:
    """Return the C library's name and version."""
    with contextlib.suppress(AttributeError, ValueError, OSError):
        return os.confstr("CS_GNU_LIBC_VERSION") or sys.platform
    return sys.platform


def python_headers() -> Path | None:
    """Return the directory of `Python.h`, or None where it is not installed."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}{sys.abiflags}"
    usual = Path(sys.base_prefix, "include", version)  # to ask `sysconfig` takes a millisecond
    if os.access(usual / "Python.h", os.R_OK):
        return usual
    directory = Path(sysconfig.get_path("include"))
    return directory if os.access(directory / "Python.h", os.R_OK) else None


def find_library(store: Store, key: str) -> Path | None:
    """Return the library kept under `key`, or None."""
    return store.load("libraries", key, _library_of)


def _library_of(entry: Entry) -> Path:
    """Return the library of an entry: one that may be loaded, under the name of its contents."""
    (name,) = entry.files
    if name != library_name(entry.files[name]):
        raise ValueError(f"{name} is not the name of the library's contents")
    check_elf(entry.files[name], ElfKind.LIBRARY)
    return entry.path(name)


def library_name(data: bytes) -> str:
    """Return the name of a library: a loader takes two of the same path for one and the same."""
    return f"polyopt_{digest(data)[:32]}.so"


@dataclass(frozen=True, eq=False, slots=True)
class Begun:
    """A build that goes on in directory `work`, of which nobody knows yet whether it is wanted."""

    texts: Texts
    work: Path
    running: Running


def begin(
    stack: contextlib.ExitStack, store: Store, compiler: Compiler, texts: Texts, key: str
) -> Begun | None:
    """Start to build the library of `key` for `library` to go on with.

    None: it is there already, another process builds it, or it cannot be begun.  The end of `stack`
    ends what still runs, and removes it.
    """
    if find_library(store, key) is not None:
        return None
    with contextlib.ExitStack() as own:
        is_mine = own.enter_context(_one_builder(store, key, seconds=0.0))
        if not is_mine or find_library(store, key) is not None:
            return None
        work = own.enter_context(store.staging())
        try:
            running = _begin(compiler, texts, work)
        except ToolchainError:
            return None  # it is told by who needs the library
        own.callback(_end, running)
        stack.push(own.pop_all())
        return Begun(texts, work, running)


@contextlib.contextmanager
def library(
    store: Store,
    compiler: Compiler,
    texts: Texts,
    key: str,
    seconds: float | None = None,
    begun: Begun | None = None,
) -> Iterator[Path]:
    """Give the library of `key`, building it if need be; it may be gone after the block.

    The compiler may use `seconds` of a processor, or a few minutes.  `begun`: a build that may be
    of the same texts, and has the others wait.
    """
    with contextlib.ExitStack() as stack:
        if begun is not None and begun.texts == texts:
            work = begun.work
        else:
            begun = None
            found = find_library(store, key)
            if found is None:
                stack.enter_context(_one_builder(store, key))
                found = find_library(store, key)  # others may have been at it
            if found is not None:
                yield found
                return
            work = stack.enter_context(store.staging())
        try:
            running = _begin(compiler, texts, work) if begun is None else begun.running
            name = _finish(compiler, texts, work, running, seconds)
        except DiskFull:
            work = stack.enter_context(Store(None).staging())
            name = build(compiler, texts, work, seconds)
        for leftover in set(os.listdir(work)) - {name}:
            (work / leftover).unlink(missing_ok=True)
        entry = store.publish("libraries", key, work, (name,))
        yield (work if entry is None else entry.directory) / name


@contextlib.contextmanager
def _one_builder(store: Store, key: str, seconds: float | None = None) -> Iterator[bool]:
    """Keep other processes from the same work, and tell whether they are kept from it.

    Without a lock the work is merely done twice.
    """
    if store.root is None:
        yield True
        return
    path = store.root / "locks" / f"{digest(key.encode())[:32]}.lock"
    with contextlib.ExitStack() as stack:
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            file = os.open(path, _LOCK_FLAGS, 0o600)
            stack.callback(os.close, file)  # which ends the lock
            is_kept = _locked(file, _LOCK_SECONDS if seconds is None else seconds)
        except OSError:
            is_kept = False
        yield is_kept


def _locked(file: int, seconds: float) -> bool:
    """Lock an open file for this process and thread, within so many seconds of the clock."""
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_LOCK_PAUSE)


class DiskFull(ToolchainError):
    """No space is left where the library was to be built."""

    def __init__(self, reason: str) -> None:
        hint = "free some space, or set POLYOPT_CACHE_DIR and TMPDIR to directories with space"
        super().__init__("PO0506", f"there is no space to build in: {reason[:200]}", hint=hint)


class TooSlow(ToolchainError):
    """The C compiler took longer than it may."""

    def __init__(self, seconds: float) -> None:
        hint = 'use a schedule with smaller unroll factors, or `schedule="source"`'
        super().__init__("PO0504", f"the C compiler needs over {seconds:.3g} s", hint=hint)


def build(compiler: Compiler, texts: Texts, work: Path, seconds: float | None = None) -> str:
    """Compile `texts` in directory `work`; return the library's file name there.

    Each of the compiler's processes may use so many `seconds` of a processor.
    """
    return _finish(compiler, texts, work, _begin(compiler, texts, work), seconds)


def build_assembly(compiler: Compiler, texts: Texts, work: Path) -> str:
    """Return the assembly of the kernel, with the lines of C in it; `work` is for files."""
    command = _compile_kernel(compiler, texts)
    wanted = ("-S", "-g1", "kernel.c", "-o", "kernel.s")
    arguments = (*command.arguments[: -len(_KERNEL_FILES)], *wanted)
    try:
        (work / "kernel.c").write_text(texts.kernel, encoding="utf-8")
    except OSError as error:
        raise DiskFull(str(error)) from None
    _wait(_start_all([Command(arguments, "kernel.s")], work), _SECONDS)
    return (work / "kernel.s").read_text(encoding="utf-8", errors="replace")


def _begin(compiler: Compiler, texts: Texts, work: Path) -> Running:
    """Start the compiler on each of the texts; a library of a single one it also links."""
    commands = [_compile_kernel(compiler, texts)]
    try:
        (work / "kernel.c").write_text(texts.kernel, encoding="utf-8")
        beside = [text for text in (texts.calls, texts.wrapper) if text is not None]
        if beside:
            (work / "beside.c").write_text("\n".join(beside), encoding="utf-8")
            commands.append(_compile_beside(compiler, texts))
        else:
            commands = [_build_at_once(compiler, texts)]
    except OSError as error:
        raise DiskFull(str(error)) from None
    return _start_all(commands, work)


def _finish(
    compiler: Compiler, texts: Texts, work: Path, running: Running, seconds: float | None
) -> str:
    """Wait for the compiler, then link what it made, if that is several files."""
    most = _SECONDS if seconds is None else min(seconds, _SECONDS)
    _wait(running, most)
    objects = tuple(command.output for command, _ in running)
    if objects != (_LIBRARY,):
        link = (*compiler.command, *objects, "-o", _LIBRARY, *_link_flags(texts))
        _wait(_start_all([Command(link, _LIBRARY)], work), most)
    name = library_name((work / _LIBRARY).read_bytes())
    os.rename(work / _LIBRARY, work / name)
    return name


def _flags(compiler: Compiler, texts: Texts) -> tuple[str, ...]:
    own = kernel_flags(compiler, openmp=texts.openmp, contract=texts.contract, quick=texts.quick)
    return own if texts.blas is None else (*own, *texts.blas.compile_flags)


def _link_flags(texts: Texts) -> tuple[str, ...]:
    own = link_flags(openmp=texts.links_openmp)
    return own if texts.blas is None else (*texts.blas.link_flags, *own)


def _compile_kernel(compiler: Compiler, texts: Texts) -> Command:
    flags = _flags(compiler, texts)
    if texts.extension:
        headers = python_headers()
        assert headers is not None
        flags = (*WRAPPER_FLAGS, "-I", str(headers))
    renamed = [f"-D{name}={own}" for name, own in OWN_MEMORY.items() if texts.calls is not None]
    return Command((*compiler.command, *flags, *renamed, *_KERNEL_FILES), "kernel.o")


def _build_at_once(compiler: Compiler, texts: Texts) -> Command:
    compiling = _compile_kernel(compiler, texts).arguments[: -len(_KERNEL_FILES)]
    files = ("kernel.c", "-o", _LIBRARY)
    return Command((*compiling, *files, *_link_flags(texts)), _LIBRARY)


def _compile_beside(compiler: Compiler, texts: Texts) -> Command:
    threads = () if texts.links_openmp else (f"-D{OWN_THREADS}",)
    files = ("-c", "beside.c", "-o", "beside.o")
    return Command((*compiler.command, *WRAPPER_FLAGS, *threads, *files), "beside.o")


def _start_all(commands: list[Command], work: Path) -> Running:
    """Start the compiler processes, side by side."""
    running: Running = []
    try:
        for command in commands:
            running.append((command, _start(command, work)))
    except BaseException:
        _end(running)
        raise
    return running


def _wait(running: Running, seconds: float) -> None:
    """Wait for processes of the compiler; all have ended when this returns, or raises."""
    try:
        for command, process in running:
            output = output_of(process, seconds)
            if output is None:
                raise TooSlow(seconds)
            if process.returncode != 0:
                _refuse(command, process.returncode, output.decode("utf-8", "replace"))
    finally:
        _end(running)


def _end(running: Running) -> None:
    for _, process in running:
        _stop(process)


def _start(command: Command, work: Path) -> subprocess.Popen[bytes]:
    log("build", "in %s: %s", work, shlex.join(command.arguments))
    try:
        return subprocess.Popen(
            command.arguments,
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(str(work)),
            start_new_session=True,
        )
    except OSError as error:
        raise ToolchainError(
            "PO0505",
            f"the C compiler `{command.arguments[0]}` cannot be run: {error}",
            hint="set CC to a working gcc or clang",
        ) from None


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _refuse(command: Command, status: int, output: str) -> None:
    if "No space left on device" in output or "Disk quota exceeded" in output:
        raise DiskFull(output.strip())
    lines = [line for line in output.splitlines() if "error" in line.lower()] or output.splitlines()
    raise ToolchainError(
        "PO0502",
        f"`{os.path.basename(command.arguments[0])}` failed on the emitted C with status {status}",
        notes=tuple(line.strip()[:200] for line in lines[:5]),
        hint='report this with the program; `schedule="source"` may avoid it',
    )


NATIVE = Path(__file__).with_name("native")


@cache
def native_text(*names: str) -> str:
    """Return the text of files; headers that they include are named before them."""
    parts = [(NATIVE / name).read_text(encoding="utf-8") for name in names]
    return re.sub(r'^#include "\w+\.h"\n', "", "\n".join(parts), flags=re.MULTILINE)
