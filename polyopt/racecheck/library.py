"""Build emitted C with the compiler's hooks, linked with our run time in place of OpenMP's.

In: C text, a directory.  Out: a shared library that notes its conflicting accesses.
Refuses: no gcc (PO0508); a compiler that fails or does not end (PO0502, PO0504).
Two iterations that no order separates, and the memory both touch, are a race.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from enum import Enum, unique
from pathlib import Path

from polyopt.dataclass import dataclass
from polyopt.errors import ToolchainError
from polyopt.ir.source import Source
from polyopt.runtime.toolchain import Compiler, Family, environment

NATIVE = Path(__file__).with_name("native")

_SECONDS = 120.0
_RUN_TIME_FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-fno-omit-frame-pointer", "-w")
# without optimization: an access that the optimizer drops would not be seen
_KERNEL_FLAGS = (
    "-std=gnu11", "-O0", "-g1", "-fPIC", "-fwrapv", "-ffp-contract=off", "-w", "-Wno-psabi",
    "-fopenmp", "-fsanitize=thread", "-fsanitize-coverage=trace-pc", "-fno-inline-atomics",
)  # fmt: skip
_SANITIZED_FLAGS = (
    "-std=gnu11", "-O0", "-g1", "-fPIC", "-fwrapv", "-ffp-contract=off", "-w", "-Wno-psabi",
    "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer",
)  # fmt: skip
_WRAPPED = (
    "malloc", "calloc", "aligned_alloc", "posix_memalign", "free", "memset", "memcpy", "memmove",
)  # fmt: skip
_HELPER = re.compile(r"^po_\w+$")


def require_gcc(compiler: Compiler) -> Compiler:
    """Return `compiler`, whose hooks and OpenMP calls must be gcc's."""
    if compiler.family is not Family.GCC:
        raise ToolchainError(
            "PO0508",
            f"the race check needs gcc, and `{compiler.command[0]}` is {compiler.family.value}",
            hint='install gcc and ask for it: `compiler="gcc"`',
        )
    return compiler


def build_run_time(compiler: Compiler, directory: Path) -> Path:
    """Compile the run time in `directory`; return the object file."""
    sources = [str(path) for path in sorted(NATIVE.glob("*.c"))]
    target = directory / "run_time.o"
    _run([*compiler.command, *_RUN_TIME_FLAGS, "-r", "-nostdlib", *sources, "-o", str(target)])
    return target


def build_checked(compiler: Compiler, text: str, run_time: Path, directory: Path) -> Path:
    """Build the library of `text` in `directory`."""
    (directory / "kernel.c").write_text(text, encoding="utf-8")
    objects = (str(directory / "kernel.o"), str(run_time))
    files = ("-c", str(directory / "kernel.c"), "-o", objects[0])
    _run([*compiler.command, *_KERNEL_FLAGS, *files])
    library = directory / "kernel.so"
    wraps = [f"-Wl,--wrap={name}" for name in _WRAPPED]
    link = ("-shared", "-Wl,-Bsymbolic", *wraps, *objects, "-o", str(library), "-lm")
    _run([*compiler.command, *link])
    return library


def build_sanitized(compiler: Compiler, source: Source, directory: Path) -> Path:
    """Build the library of `source` with the sanitizers in `directory`."""
    (directory / "kernel.c").write_text(source.text, encoding="utf-8")
    library = directory / "kernel.so"
    openmp = "-fopenmp" if source.openmp else "-fopenmp-simd"
    files = (str(directory / "kernel.c"), "-o", str(library))
    _run([*compiler.command, *_SANITIZED_FLAGS, openmp, "-shared", *files, "-lm"])
    return library


def sanitizer_libraries(compiler: Compiler) -> tuple[str, str]:
    """Return the sanitizers' libraries, which a process must load first."""
    found = [
        _run([*compiler.command, f"-print-file-name={name}"]).strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    if not all(os.path.isabs(path) for path in found):
        raise ToolchainError(
            "PO0508",
            "gcc's sanitizers are not installed",
            hint="install gcc's own package whole, with `libasan` and `libubsan`",
        )
    return found[0], found[1]


def places(
    library: Path, text: str, offsets: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], SourceLine]:
    """Return the lines at (place, call) offsets: inside a helper function, the line of its call."""
    numbers = sorted({number for pair in offsets for number in pair if number})
    tool = ["addr2line", "-f", "-e", str(library), *(hex(number) for number in numbers)]
    answers = iter(_run(tool).splitlines()) if numbers else iter(())
    found = {number: (next(answers), _line(next(answers))) for number in numbers}
    lines = text.split("\n")
    result: dict[tuple[int, int], SourceLine] = {}
    for place, call in offsets:
        function, line = found.get(place, ("", 0))
        if _HELPER.match(function) and call in found:
            _, line = found[call]
        shown = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        result[place, call] = SourceLine(line, shown)
    return result


def _line(answer: str) -> int:
    """Return the line of `file:line (discriminator n)`, 0 where it is unknown."""
    digits = re.search(r":(\d+)", answer)
    return int(digits.group(1)) if digits else 0


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            env=environment(None),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ToolchainError(
            "PO0504",
            f"`{command[0]}` did not end within {_SECONDS:.0f} s",
            hint="check a smaller kernel",
        ) from None
    except OSError as error:
        raise ToolchainError(
            "PO0508",
            f"the race check needs `{command[0]}`, which cannot be run: {error}",
            hint="install gcc and binutils",
        ) from None
    output = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        lines = [line for line in output.splitlines() if "error" in line] or output.splitlines()
        raise ToolchainError(
            "PO0502",
            f"`{command[0]}` failed on the text to be checked with status {done.returncode}",
            notes=tuple(line.strip()[:200] for line in lines[:5]),
            hint="give it C text that gcc compiles with -fopenmp",
        )
    return output


@unique
class Level(Enum):
    """Which iterations run at the same time."""

    THREADS = "threads"  # those of loops under `omp parallel for`
    LANES = "lanes"  # those of loops under `omp simd`


@unique
class RaceKind(Enum):
    """What the two accesses of a race do; who comes first is not determined."""

    WRITE_WRITE = "write-write"
    READ_WRITE = "read-write"


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the C text."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Touch:
    """One access: by which iteration of the loop (from 0), where, and whether it writes."""

    iteration: int
    place: SourceLine
    writes: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """An element: of an argument or result by its subscripts, of a temporary by its position."""

    array: str
    index: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.array}[{', '.join(map(str, self.index))}]"


@dataclass(frozen=True, slots=True)
class Race:
    """Two iterations of `loop` touch `cell` and nothing orders them; one of them writes.

    `cell` is None for a variable of the function.  `times`: how often the two places met so.
    """

    kind: RaceKind
    level: Level
    loop: SourceLine
    first: Touch
    second: Touch
    cell: Cell | None
    times: int

    def __str__(self) -> str:
        where = "a variable" if self.cell is None else str(self.cell)
        lines = [
            f"{self.kind.value} race on {where}: iterations {self.first.iteration} and "
            f"{self.second.iteration} ({self.level.value}) of the loop in line {self.loop.line}"
        ]
        for touch in (self.first, self.second):
            verb = "writes" if touch.writes else "reads"
            place = touch.place
            lines.append(f"  {touch.iteration} {verb}, line {place.line}: {place.text}")
        return "\n".join(lines)
