"""CUDA text to a library for the emulator, with the compiler's hooks or without.

In: text and the names of its kernels.  Out: `Built`, kept in the cache.
Refuses: no compiler for C++ (PO0520), no space (PO0506), text that does not compile (PO0515).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from polyopt.dataclass import dataclass
from polyopt.errors import PolyoptError, ToolchainError
from polyopt.runtime.device.faults import compile_failure
from polyopt.runtime.device.provider import Log, no_log
from polyopt.runtime.elf import ElfKind, check_elf
from polyopt.runtime.store import Entry, Store, digest
from polyopt.runtime.toolchain import Compiler, Family, call_tool, find_compiler, processor_features

NATIVE = Path(__file__).with_name("native")

_KIND = "libraries"
_SECONDS = 300
_RUN_TIME_FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-fno-omit-frame-pointer", "-w")
_TEXT_FLAGS = (
    "-x", "c++", "-std=c++17", "-g1", "-fPIC", "-fwrapv", "-fno-strict-aliasing",
    "-ffp-contract=off", "-w", "-Wno-psabi", "-fno-exceptions", "-fno-rtti",
    "-fno-threadsafe-statics", "-fno-gnu-unique", "-fmax-errors=5", "-fstack-clash-protection",
)  # fmt: skip
# without optimization: an access that the optimizer drops would not be seen
_CHECKED = (
    "-O0", "-fsanitize=thread", "-fsanitize=bounds-strict,alignment,integer-divide-by-zero",
    "-fno-sanitize-recover=all", "-fsanitize-coverage=trace-pc",
    "--param", "tsan-distinguish-volatile=1",
)  # fmt: skip
_UNCHECKED = ("-O2", "-fno-math-errno", "-fno-trapping-math")
_DYNAMIC = re.compile(
    r"\bextern\s+__shared__\s+(?P<type>(?:__align__\s*\(\s*\d+\s*\)\s*)?[\w:][\w:\s]*?)\s+"
    r"(?P<name>\w+)\s*\[\s*\]\s*;"
)
_SHARED = re.compile(r"^_ZZ(?P<length>\d+)(?P<rest>\w+)$")


@dataclass(frozen=True, slots=True)
class SharedArray:
    """A shared array that a kernel declares: its bytes within all shared memory of the text."""

    entry: str
    name: str
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Built:
    """A library, and the shared arrays of its kernels."""

    image: bytes
    arrays: tuple[SharedArray, ...]

    def shared(self, entry: str) -> int:
        """Return how many bytes the arrays of a kernel take."""
        return sum(array.size for array in self.arrays if array.entry == entry)


def find_gcc(store: Store, requested: str | None = None) -> Compiler:
    """Return gcc, whose hooks the run time knows."""
    compiler = None
    if sys.platform == "linux":
        names = [requested] if requested is not None else [None, "gcc"]
        for name in names:
            try:
                compiler = find_compiler(store, name)
            except PolyoptError:
                continue
            if compiler.family is Family.GCC:
                return compiler
    raise no_compiler(
        f"it needs gcc on Linux, not `{compiler.command[0]}`" if compiler else "there is no gcc"
    )


def no_compiler(reason: str) -> ToolchainError:
    """Return the error of a machine that cannot build for the emulator."""
    return ToolchainError(
        "PO0520",
        f"the emulator cannot be built: {reason}",
        hint="install g++ and binutils, for example `apt-get install g++`",
    )


def build(
    compiler: Compiler,
    store: Store,
    text: str,
    entries: Sequence[str],
    *,
    checks: bool,
    log: Log = no_log,
) -> Built:
    """Return the library of `text`, from `store` where it is known already."""
    sources = {path.name: path.read_bytes() for path in _native()}
    native = digest(b"\0".join(name.encode() + b"\0" + sources[name] for name in sorted(sources)))
    whole = _whole(text, entries)
    flags = (*_TEXT_FLAGS, *compiler.machine, *(_CHECKED if checks else _UNCHECKED))
    facts = ["emulated", 1, compiler.identity, native, digest(whole.encode())]
    key = json.dumps([*facts, flags, processor_features()])
    known = store.load(_KIND, key, _from_entry)
    if known is not None:
        log(known[1])
        return known[0]
    try:
        with store.staging() as work:
            (work / "run_time.o").write_bytes(_run_time(compiler, store, native))
            said = _compile(compiler, work, text, whole, flags)
            image = (work / "kernel.so").read_bytes()
            found = _shared_arrays(_call(("nm", "-S", str(work / "kernel.so")), work)[1])
    except OSError as error:
        raise ToolchainError(
            "PO0506",
            f"there is no space to build in: {error}",
            hint="free some space, or set TMPDIR or POLYOPT_CACHE_DIR to another disk",
        ) from None
    log(said)
    listed = [[a.entry, a.name, a.start, a.size] for a in found]
    files = {
        "kernel.so": image,
        "log.txt": said.encode(),
        "shared.json": json.dumps(listed).encode(),
    }
    store.write(_KIND, key, files)
    return Built(image, found)


def _from_entry(entry: Entry) -> tuple[Built, str]:
    """Return the library of an entry, and what the compiler said."""
    image, arrays = entry.files["kernel.so"], entry.json("shared.json")
    check_elf(image, ElfKind.LIBRARY)
    if not isinstance(arrays, list):
        raise ValueError("its shared arrays are no list")
    found = []
    for array in arrays:
        match array:
            case [str(name), str(own), int(start), int(size)] if (
                0 <= start <= start + size < 1 << 48
            ):
                found.append(SharedArray(name, own, start, size))
            case _:
                raise ValueError("a shared array is malformed")
    return Built(image, tuple(found)), entry.text("log.txt")


def _native() -> list[Path]:
    return sorted([*NATIVE.glob("*.[ch]"), *NATIVE.glob("include/*.h")])


def _whole(text: str, entries: Sequence[str]) -> str:
    """Return the text as g++ gets it: on the same lines, with how its kernels are called."""
    ours = _DYNAMIC.sub(
        lambda m: f"{m['type']} *const {m['name']} = ({m['type']} *)pe_dynamic_memory;", text
    )
    return f"{ours}\n" + "".join(f"PE_ENTRY({entry})\n" for entry in entries)


def _compile(compiler: Compiler, work: Path, text: str, whole: str, flags: tuple[str, ...]) -> str:
    (work / "kernel.cu").write_text(whole, encoding="utf-8")
    header = ("-I", str(NATIVE / "include"), "-include", "po_cuda.h")
    files = ("-c", "kernel.cu", "-o", "kernel.o")
    status, said = _call((*compiler.command, *flags, *header, *files), work)
    if status != 0:
        if "cc1plus" in said:
            raise no_compiler("gcc has no compiler for C++")
        raise compile_failure("the emulator's g++", text, said)
    link = ("-shared", "-Wl,-Bsymbolic", "kernel.o", "run_time.o", "-o", "kernel.so", "-lm")
    status, log = _call((*compiler.command, *link), work)
    if status != 0:
        raise compile_failure("the emulator's linker", text, log)
    return said


@cache
def _run_time(compiler: Compiler, store: Store, native: str) -> bytes:
    key = json.dumps(["emulator", 1, compiler.identity, native, _RUN_TIME_FLAGS])
    known = store.load(_KIND, key, _object_of)
    if known is not None:
        return known
    with store.staging() as work:
        sources = [str(path) for path in sorted(NATIVE.glob("*.c"))]
        command = (*compiler.command, *_RUN_TIME_FLAGS, "-r", "-nostdlib", *sources)
        status, said = _call((*command, "-o", "run_time.o"), work)
        if status != 0:
            raise no_compiler(f"gcc refused the run time: {said.strip()[:200]}")
        image = (work / "run_time.o").read_bytes()
    store.write(_KIND, key, {"run_time.o": image})
    return image


def _object_of(entry: Entry) -> bytes:
    check_elf(entry.files["run_time.o"], ElfKind.OBJECT)
    return entry.files["run_time.o"]


def _shared_arrays(symbols: str) -> tuple[SharedArray, ...]:
    """Read `nm -S`: function-local statics between the ends of the section of shared memory."""
    found: dict[str, tuple[int, int]] = {}
    for line in symbols.splitlines():
        words = line.split()
        if len(words) >= 3:
            size = int(words[1], 16) if len(words) == 4 else 0
            found[words[-1]] = (int(words[0], 16), size)
    start, _ = found.get("__start_pe_shared", (0, 0))
    end, _ = found.get("__stop_pe_shared", (0, 0))
    arrays: list[SharedArray] = []
    for symbol, (at, size) in found.items():
        if size and start <= at < end:
            arrays.append(SharedArray(*_names(symbol), at - start, size))
    return tuple(sorted(arrays, key=lambda array: array.start))


def _names(symbol: str) -> tuple[str, str]:
    """Return function and variable of a mangled local name: `_ZZ6matmulE2As`."""
    match = _SHARED.match(symbol)
    if match is None:
        return "", symbol
    length = int(match["length"])
    function, rest = match["rest"][:length], match["rest"][length:]
    last = re.search(r"E(\d+)(\w+)$", rest)
    return function, last[2][: int(last[1])] if last else rest


def _call(command: tuple[str, ...], work: Path) -> tuple[int, str]:
    return call_tool(command, work, _SECONDS, no_compiler)


def lines_at(image: Path, offsets: Sequence[int]) -> dict[int, tuple[str, int]]:
    """Return function and line at each offset into a library."""
    numbers = sorted({offset for offset in offsets if offset})
    if not numbers:
        return {}
    tool = ("addr2line", "-f", "-e", str(image), *(hex(number) for number in numbers))
    answers = iter(_call(tool, image.parent)[1].splitlines())
    return {number: (next(answers, ""), _line(next(answers, ""))) for number in numbers}


def _line(answer: str) -> int:
    """Return the line of `file:line (discriminator n)`, 0 where it is unknown or not the text's."""
    match = re.search(r"kernel\.cu:(\d+)", answer)
    return int(match[1]) if match else 0
