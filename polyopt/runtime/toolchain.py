"""Find the C compiler, know it without running it again, and choose its flags from a table.

In: a requested compiler name or None, the environment.  Out: `Compiler`, flags as argument lists.
Refuses: no compiler (PO0501), a compiler that cannot be run (PO0505).
`POLYOPT_MACHINE` may name an instruction-set level in place of the processor that runs.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from enum import Enum, unique
from pathlib import Path

from polyopt.dataclass import dataclass
from polyopt.errors import ToolchainError, UsageError
from polyopt.runtime.store import Store, digest
from polyopt.settings import setting

_PROBE_SECONDS = 30


@unique
class Family(Enum):
    """Compilers that are known."""

    GCC = "gcc"
    CLANG = "clang"


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler: how to start it and what it is.

    `identity` is its version text and the digest of its binary; `machine` are the flags for this
    processor that it accepts.
    """

    command: tuple[str, ...]
    family: Family
    version: str
    identity: str
    machine: tuple[str, ...]

    def describe(self) -> str:
        """Return one line for people."""
        return f"{self.version} ({' '.join(self.command)})"


def find_compiler(
    store: Store, requested: str | None = None, meanwhile: Callable[[], object] = lambda: None
) -> Compiler:
    """Return the compiler to use: `requested`, else POLYOPT_CC, else CC, else gcc, clang or cc.

    `meanwhile` is done while a compiler that the store does not know says what it is.
    """
    command = compiler_command(requested)
    isa = processor_features()
    key = json.dumps(["compiler", 1, *_stamps(command), digest(" ".join(isa).encode())])
    known = store.load(
        "compilers", key, lambda entry: _from_record(command, entry.json("compiler.json"))
    )
    if known is not None:
        return known
    compiler = _probe(command, isa, meanwhile)
    record = {
        "family": compiler.family.value,
        "version": compiler.version,
        "identity": compiler.identity,
        "machine": list(compiler.machine),
    }
    store.write("compilers", key, {"compiler.json": json.dumps(record).encode()})
    return compiler


def compiler_command(requested: str | None = None) -> tuple[str, ...]:
    for text in (requested, setting("cc"), os.environ.get("CC")):
        if text is None or not text.strip():
            continue
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise ToolchainError(
                "PO0505",
                f"the compiler `{text}` is no command: {error}",
                hint="name the program alone: `gcc`",
            ) from None
        if any(word.startswith(("-", "@")) for word in words):
            raise ToolchainError(
                "PO0505",
                f"the compiler `{text}` contains flags; polyopt chooses the flags itself",
                hint=f"name the program alone: `{words[0]}`",
            )
        program = shutil.which(words[0])
        if program is None:
            raise ToolchainError(
                "PO0501",
                f"the C compiler `{words[0]}` is not installed",
                hint=_hint(os.path.basename(words[0])),
            )
        return (os.path.abspath(program), *words[1:])
    for name in ("gcc", "clang", "cc"):
        program = shutil.which(name)
        if program is not None:
            return (os.path.abspath(program),)
    raise ToolchainError("PO0501", "no C compiler is installed", hint=_hint("gcc"))


def _hint(name: str) -> str:
    package = "clang" if "clang" in name else "gcc"
    for manager, install in _MANAGERS:
        if shutil.which(manager):
            return f"install one: `{install} {package}`"
    return f"install one, for example `apt-get install {package}`"


_MANAGERS = (
    ("apt-get", "apt-get install"),
    ("dnf", "dnf install"),
    ("apk", "apk add libc-dev"),
    ("pacman", "pacman -S"),
    ("zypper", "zypper install"),
    ("brew", "brew install"),
)


def _stamps(command: tuple[str, ...]) -> list[object]:
    """Return what tells this binary from another without reading it."""
    path = os.path.realpath(command[0])
    status = os.stat(path)
    return [list(command), path, status.st_size, status.st_mtime_ns, status.st_ino]


def _from_record(command: tuple[str, ...], record: object) -> Compiler:
    match record:
        case {
            "family": str(family),
            "version": str(version),
            "identity": str(identity),
            "machine": list(flags),
        } if all(type(flag) is str and flag.startswith("-m") for flag in flags):
            return Compiler(command, Family(family), version, identity, tuple(flags))
        case _:
            raise ValueError("it does not describe a compiler")


def _probe(
    command: tuple[str, ...], isa: tuple[str, ...], meanwhile: Callable[[], object]
) -> Compiler:
    """Ask a compiler for its version and, in the same run, for the flags that are wanted."""
    machine = _wanted_flags(isa)
    status, text = _ask(command, ("-v", *machine, *_NOTHING), meanwhile)
    accepts_all = status == 0
    if not accepts_all:
        status, text = _ask(command, ("-v",))
    if status != 0:
        raise ToolchainError(
            "PO0505",
            f"`{' '.join(command)} -v` failed with status {status}",
            notes=tuple(text.strip().splitlines()[:3]),
            hint="set CC to a working gcc or clang",
        )
    version = next((line for line in text.splitlines() if " version " in line), "unknown version")
    family = Family.CLANG if "clang" in version.lower() else Family.GCC
    said = text.partition(version)[0] + version  # what follows is of the one run
    with open(os.path.realpath(command[0]), "rb") as file:
        binary = digest(file.read())
    if not accepts_all:
        machine = tuple(flag for flag in machine if _accepts(command, flag))
    return Compiler(command, family, version.strip(), f"{said}\n{binary}", machine)


def _wanted_flags(isa: tuple[str, ...]) -> tuple[str, ...]:
    level = chosen_level()
    if level is not None:
        return level.flags
    wide = ("-mprefer-vector-width=512",) if "avx512f" in isa else ()
    return ("-march=native", *wide)


_NOTHING = ("-E", "-x", "c", os.devnull, "-o", os.devnull)
"""Arguments for a run on an empty text."""


def _accepts(command: tuple[str, ...], flag: str) -> bool:
    status, _ = _ask(command, (flag, *_NOTHING))
    return status == 0


def _ask(
    command: tuple[str, ...],
    arguments: tuple[str, ...],
    meanwhile: Callable[[], object] = lambda: None,
) -> tuple[int, str]:
    def failed(reason: str) -> ToolchainError:
        hint = "set CC to a working gcc or clang"
        return ToolchainError("PO0505", f"the C compiler {reason}", hint=hint)

    return call_tool((*command, *arguments), None, _PROBE_SECONDS, failed, meanwhile)


def call_tool(
    command: Sequence[str],
    work: Path | None,
    seconds: float,
    failed: Callable[[str], ToolchainError],
    meanwhile: Callable[[], object] = lambda: None,
) -> tuple[int, str]:
    """Run a tool, in `work` if that is given; return its status and what it said on both streams.

    `failed` makes the error of a tool that does not start, or does not end within `seconds` after
    `meanwhile`.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(None if work is None else str(work)),
        )
    except OSError as error:
        raise failed(f"`{command[0]}` cannot be run: {error}") from None
    with process:
        try:
            meanwhile()
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise failed(f"`{command[0]}` cannot be run: {error}") from None
        except BaseException:
            process.kill()
            raise
    return process.returncode, said.decode("utf-8", "replace")


def environment(temporary: str | None) -> dict[str, str]:
    """Return the environment compilers run in: little of the user's, nothing that adds headers."""
    kept = ("PATH", "HOME", "LD_LIBRARY_PATH", "SYSTEMROOT")
    values = {name: os.environ[name] for name in kept if name in os.environ}
    values["LC_ALL"] = "C"
    if temporary is not None:
        values["TMPDIR"] = temporary
    return values


COMMON_FLAGS = (
    "-std=gnu11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-fwrapv", "-fPIC", "-w",
)  # fmt: skip
GCC_FLAGS = ("-fira-loop-pressure",)
"""gcc moves constants of loops around into registers, and then keeps sums of the innermost one in
memory, where these need almost all; clang has no such option."""
WRAPPER_FLAGS = ("-std=gnu11", "-O1", "-fPIC", "-fno-strict-aliasing", "-w")


def kernel_flags(
    compiler: Compiler, *, openmp: bool, contract: bool, quick: bool = False
) -> tuple[str, ...]:
    """Return the flags for emitted text; which floating-point rules hold is decided here alone.

    `quick` compiles sooner to code that is slower.
    """
    fuse = "-ffp-contract=fast" if contract else "-ffp-contract=off"
    parallel = ("-fopenmp",) if openmp else ("-fopenmp-simd",)
    common = (*COMMON_FLAGS, "-O1") if quick else COMMON_FLAGS
    own = GCC_FLAGS if compiler.family is Family.GCC else ()
    return (*common, *own, *compiler.machine, fuse, *parallel)


def link_flags(*, openmp: bool) -> tuple[str, ...]:
    """Return the flags that make a shared library."""
    own_symbols = ("-Wl,-Bsymbolic",) if sys.platform == "linux" else ()
    return ("-shared", *own_symbols, *(("-fopenmp",) if openmp else ()), "-lm")


def processor_features() -> tuple[str, ...]:
    """Return what kernels may use: the names of the processor's model and instruction sets.

    Where POLYOPT_MACHINE names a level, its name and instruction sets.
    """
    level = chosen_level()
    return listed_features() if level is None else (level.name, *sorted(level.features))


def listed_features() -> tuple[str, ...]:
    """Return the names of the processor's model and instruction sets, as Linux lists them."""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            text = file.read(16384).decode("ascii", "replace")
    except OSError:
        import platform

        return (platform.machine(), platform.processor())
    first = text.split("\n\n", 1)[0]
    facts: dict[str, str] = {}
    for line in first.splitlines():
        name, _, value = line.partition(":")
        facts[name.strip()] = value.strip()
    names = ("model name", "CPU implementer", "CPU part", "uarch", "isa")
    flags = facts.get("flags", facts.get("Features", ""))
    return (*(facts[name] for name in names if name in facts), *sorted(flags.split()))


VARIABLE = "POLYOPT_MACHINE"


@dataclass(frozen=True, slots=True)
class Level:
    """A micro-architecture level of the x86-64 psABI.

    `features` are its instruction sets as Linux names them in `/proc/cpuinfo`; `flags` are the
    compiler's arguments that allow these and no others.
    """

    name: str
    features: frozenset[str]
    flags: tuple[str, ...]


_V2 = frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"})
_V3 = _V2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}

LEVELS = {
    level.name: level
    for level in (
        Level("x86-64-v2", _V2, ("-march=x86-64-v2",)),
        Level("x86-64-v3", _V3, ("-march=x86-64-v3",)),
        Level("x86-64-v4", _V4, ("-march=x86-64-v4", "-mprefer-vector-width=512")),
    )
}


def chosen_level() -> Level | None:
    """Return the level that POLYOPT_MACHINE names, None where it names none."""
    return LEVELS.get(setting("machine") or "")


def require_level(features: Callable[[], tuple[str, ...]]) -> None:
    """Raise `UsageError` (PO0224) if the processor lacks what the chosen level needs.

    `features` returns the names of the processor's instruction sets; it is called for a level only.
    """
    level = chosen_level()
    if level is None:
        return
    missing = sorted(level.features.difference(features()))
    if not missing:
        return
    raise UsageError(
        "PO0224",
        f"{VARIABLE} is `{level.name}`, and this processor lacks {', '.join(missing)}",
        hint=f"unset {VARIABLE} to run kernels here; `polyopt compile` writes code for any level",
    )
