"""Define the spellings in which CUDA and OpenCL differ.

In: what a kernel's printer wants to say.  Out: text.
Reductions of 32-bit integers over all lanes of a warp.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from polyopt.dataclass import dataclass, field
from polyopt.emit.dialect import call_text, literal
from polyopt.emit.gpu.half_conversions import Shortcuts
from polyopt.ir.expr import BinaryOp, Call, Const, MathFunc
from polyopt.ir.loops import Scope
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class DeviceDialect:
    """One language for kernels; `words` gives the text for each of C11's.

    `flag` is the type of a stored truth value, `long` ends 64-bit literals, `single` names of
    functions on FLOAT32.  A kernel begins with the line `kernel_head`, which has its number of
    threads, and `kernel_name` before its name.  `barriers` are the statements for a scope,
    `all_memory` those that order arrays of the device, too.  `many_blocks` says that the grid's y
    and z may be as large as x.  Short loops of up to `unrolled` iterations are unrolled.  `vectors`
    names types of so many elements, which must be aligned in memory where `aligns`.  `macros` are
    defined where their name is used, a line of `prelude` stands where its word is; `rounding` and
    `flags` are without and with contraction.  `asynchronous`: copies may complete later.
    `pool` declares shared memory that a launch gives.
    `matrices`: warps have matrix instructions.
    `shortcuts` are a device's instructions for what helpers do.
    `shuffle` is the `value` of the thread that is `by` further in a group of `width`, if there is a
    way without memory, `shuffle_up` of the one that is `by` before in its warp; functions in `warp`
    combine what all lanes have.  `fence` has other
    blocks see what a thread knows of; `count_block` adds 1 to a `counter` and tells whether all
    blocks have, which sets it to 0.  `limits`: what the threads of a block share of guards is
    computed once; PoCL 3 takes such numbers for those that some threads compute under a condition.
    """

    language: str
    words: Mapping[str, str]
    types: Mapping[DType, str]
    flag: str
    long: str
    single: str
    function_head: str
    kernel_head: str
    kernel_name: str
    pointer: str
    restrict: str
    shared: str
    align: str
    thread: str
    blocks: tuple[str, str, str]
    block_counts: tuple[str, str, str]
    barriers: Mapping[Scope, str]
    all_memory: Mapping[Scope, str]
    popcount: str
    many_blocks: bool
    unrolled: int
    macros: Mapping[str, Sequence[str]]
    vectors: Mapping[DType, str]
    load_vector: str
    store_vector: str
    make_vector: str
    aligns: bool
    prelude: tuple[tuple[str, str], ...]
    rounding: tuple[str, str]
    flags: tuple[tuple[str, ...], tuple[str, ...]]
    own_functions: bool = False
    asynchronous: bool = False
    pool: str = ""
    matrices: bool = False
    shortcuts: Shortcuts = field(default_factory=dict)
    shuffle: str = ""
    shuffle_up: str = ""
    warp: Mapping[tuple[BinaryOp, DType], WarpFunction] = field(default_factory=dict)
    fence: str = ""
    count_block: str = ""
    limits: bool = False
    privatizes: bool = False

    def type_name(self, dtype: DType) -> str:
        """Return the type of a value."""
        return self.types[DType.FLOAT32 if dtype.is_half else dtype]

    def storage(self, dtype: DType) -> str:
        """Return the type of an array's element."""
        return self.flag if dtype is DType.BOOL else self.types[dtype]

    def passed(self, dtype: DType) -> str:
        """Return the type of a number that is a parameter."""
        return self.type_name(dtype) if dtype.is_half else self.storage(dtype)

    def declared(self, dtype: DType) -> str:
        """Return the type of an element of an array that a thread has."""
        return self.storage(dtype) if dtype.is_half else self.type_name(dtype)

    @property
    def index(self) -> str:
        """The type of sizes."""
        return self.types[DType.INT64]

    def literal(self, const: Const, *, wide: bool = False) -> str:
        """Return a constant's text."""
        return self.respelled(literal(const, wide=wide))

    def function(self, name: str, dtype: DType) -> str:
        """Return the name for `dtype` of a function."""
        return f"{name}{self.single}" if dtype is DType.FLOAT32 else name

    def call(self, call: Call, operand: DType, args: tuple[str, ...]) -> str:
        """Return the text of a call."""
        if call.func is MathFunc.POPCOUNT:
            wide = self.types[DType.UINT64]
            return f"(({self.types[DType.UINT8]}){self.popcount}(({wide}){args[0]}))"
        return call_text(call, operand, args, self.single)

    def respelled(self, text: str) -> str:
        """Return C11 text in this language: types, literals, functions on FLOAT32."""
        text = re.sub(r"\bU?INT64_C\((\d+)\)", self._integer, text)
        text = text.replace("INT64_MIN", f"(-9223372036854775807{self.long} - 1)")
        text = text.replace("INT32_MIN", "(-2147483647 - 1)")
        text = text.replace("static inline", self.function_head)
        return re.sub(r"[A-Za-z_]\w*", lambda m: self.words.get(m.group(), m.group()), text)

    def _integer(self, match: re.Match[str]) -> str:
        sign = "U" if match.group().startswith("U") else ""
        return f"{match.group(1)}{sign}{self.long}"

    def parameter(self, dtype: DType, name: str, *, written: bool) -> str:
        """Return the declaration of a pointer to an array of the device."""
        const = "" if written else "const "
        return f"{self.pointer}{const}{self.storage(dtype)} *{self.restrict} {name}"

    def flags_parameter(self, name: str) -> str:
        """Return the declaration of a pointer to flags that threads set in any order."""
        return f"{self.pointer}volatile {self.storage(DType.BOOL)} *{name}"

    def barrier(self, scope: Scope, *, orders_arrays: bool) -> str:
        """Return the statement that waits for all threads of `scope`."""
        return (self.all_memory if orders_arrays else self.barriers)[scope]


_SIGNED, _UNSIGNED = "int", "unsigned int"


@dataclass(frozen=True, slots=True)
class WarpFunction:
    """`name` takes and gives a value of `kind`, whose bits are those of either sign."""

    name: str
    kind: str

    def call(self, value: str, dtype: DType) -> str:
        """Return the text of a call with a variable of `dtype`."""
        if self.kind == _UNSIGNED and dtype is DType.INT32:
            return f"({_SIGNED}){self.name}(({_UNSIGNED}){value})"
        return f"{self.name}({value})"


_BITS = {
    BinaryOp.ADD: "value + other",
    BinaryOp.AND: "value & other",
    BinaryOp.OR: "value | other",
    BinaryOp.XOR: "value ^ other",
}
_ORDERS = {BinaryOp.MIN: "other < value", BinaryOp.MAX: "value < other"}
_SUFFIX = {DType.INT32: "i32", DType.UINT32: "u32"}

CUDA_WARP: Mapping[tuple[BinaryOp, DType], WarpFunction] = {
    (op, dtype): WarpFunction(f"po_warp_{op.name.lower()}", _UNSIGNED)
    for op in _BITS
    for dtype in _SUFFIX
} | {
    (op, dtype): WarpFunction(f"po_warp_{op.name.lower()}_{suffix}", kind)
    for op in _ORDERS
    for (dtype, suffix), kind in zip(_SUFFIX.items(), (_SIGNED, _UNSIGNED), strict=True)
}
"""Functions of whole warps by what they combine; sums wrap around, as those of integers do."""


def _definition(function: WarpFunction, op: BinaryOp) -> Sequence[str]:
    joined = _BITS.get(op) or f"{_ORDERS[op]} ? other : value"
    kind = function.kind
    return (
        f"static __device__ inline {kind} {function.name}({kind} value)",
        "{",
        "#if defined(PO_EMULATED) || __CUDA_ARCH__ >= 800",
        f"    return __reduce_{op.name.lower()}_sync(0xffffffffu, value);",
        "#else",
        "#pragma unroll",
        "    for (int by = 16; by > 0; by /= 2) {",
        f"        const {kind} other = __shfl_xor_sync(0xffffffffu, value, by);",
        f"        value = {joined};",
        "    }",
        "    return value;",
        "#endif",
        "}",
        "",
    )


WARP_HELPERS: Mapping[str, Sequence[str]] = {
    function.name: _definition(function, op) for (op, _), function in CUDA_WARP.items()
}
"""Definitions in CUDA by the name that a text uses."""
