"""What the C compiler can do with kernels: vectors, vector mathematics, threads.

In: a `Compiler`.  Out: `Capabilities`, found by compiling small texts once and kept in the store.
"""

from __future__ import annotations

import json

from polyopt.dataclass import asdict, dataclass
from polyopt.errors import ToolchainError
from polyopt.runtime.store import Store
from polyopt.runtime.toolchain import Compiler, call_tool

KIND = "machines"
SECONDS = 30.0
VERSION = 1


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What was compiled and linked without complaint."""

    vector_types: bool
    vector_shuffles: bool
    simd_declarations: bool
    vector_mathematics: bool
    openmp: bool
    prefers_wide_vectors: bool


TEXTS = {
    "vector_types": (
        "typedef double V __attribute__((vector_size(32)));\n"
        "V f(V a, V b) { return a * b + 1.0; }\nint main(void) { return 0; }\n",
        (),
    ),
    "vector_shuffles": (
        "typedef double V __attribute__((vector_size(32)));\n"
        "V f(V a, V b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }\n"
        "int main(void) { return 0; }\n",
        (),
    ),
    "simd_declarations": (
        '__attribute__((simd("notinbranch"))) double g(double);\n'
        "int main(void) { return 0; }\n",
        (),
    ),
    "vector_mathematics": (
        "#include <math.h>\n"
        "typedef double V __attribute__((vector_size(16)));\nV _ZGVbN2v_exp(V);\n"
        "int main(void) { V a = {1.0, 2.0}; a = _ZGVbN2v_exp(a); return a[0] < 0; }\n",
        ("-lmvec", "-lm"),
    ),
    "openmp": (
        "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n",
        ("-fopenmp",),
    ),
    "prefers_wide_vectors": (
        "int main(void) { return 0; }\n",
        ("-mprefer-vector-width=512",),
    ),
}  # fmt: skip
"""A text, and flags behind it, for each capability."""


def capabilities(store: Store, compiler: Compiler) -> Capabilities:
    """Return what the compiler can do; asked once."""
    key = json.dumps(["capabilities", VERSION, list(compiler.command), compiler.identity])
    known = store.load(KIND, key, lambda entry: _from_record(entry.json("capabilities.json")))
    if known is not None:
        return known
    found = Capabilities(**{name: _compiles(store, compiler, name) for name in TEXTS})
    store.write(KIND, key, {"capabilities.json": json.dumps(asdict(found)).encode()})
    return found


def _from_record(known: object) -> Capabilities:
    if not isinstance(known, dict) or not all(type(value) is bool for value in known.values()):
        raise ValueError("it does not hold capabilities")
    return Capabilities(**known)


def _compiles(store: Store, compiler: Compiler, name: str) -> bool:
    text, flags = TEXTS[name]
    with store.staging() as work:
        source = work / "probe.c"
        source.write_text(text, encoding="ascii")
        command = (*compiler.command, "-std=gnu11", "-w", "-Werror=unknown-warning-option",
                   str(source), *flags, "-o", str(work / "probe"))  # fmt: skip
        if compiler.family.value == "gcc":
            command = tuple(part for part in command if not part.startswith("-Werror"))
        return call_tool(command, work, SECONDS, _refused)[0] == 0


def _refused(reason: str) -> ToolchainError:
    return ToolchainError("PO0505", reason, hint="set CC to a working gcc or clang")
