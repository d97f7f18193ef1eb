"""Hand-written sources: signatures of every shape with C text that is checked at a glance."""

from __future__ import annotations

from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Expr, Param, add, integer
from polyopt.ir.source import (
    ArrayArg,
    Check,
    ConstArg,
    CParam,
    CParamKind,
    IntegerOf,
    Layout,
    OutputArray,
    Result,
    ResultKind,
    ScalarArg,
    Signature,
    SizeOf,
    Source,
)
from polyopt.ir.types import DType

F64, I64 = DType.FLOAT64, DType.INT64
N, M = Param("N"), Param("M")


def pointer(name: str, dtype: DType = F64, written: bool = False) -> CParam:
    return CParam(CParamKind.ARRAY, name, dtype, name, written)


def size(name: str) -> CParam:
    return CParam(CParamKind.SIZE, name, I64, name)


def stride(name: str, dim: int, dtype: DType = F64) -> CParam:
    return CParam(CParamKind.STRIDE, name, dtype, f"{name}_s{dim}", dim=dim)


def scalar(name: str, dtype: DType) -> CParam:
    return CParam(CParamKind.SCALAR, name, dtype, name)


def array(
    name: str,
    shape: tuple[Expr, ...],
    dtype: DType = F64,
    layout: Layout = Layout.C,
    written: bool = False,
) -> ArrayArg:
    return ArrayArg(name, name, dtype, shape, layout, written)


def make(
    text: str, params: tuple[CParam, ...], signature: Signature, openmp: bool = False
) -> Source:
    head = "#include <stdint.h>\n#include <stdbool.h>\n#include <complex.h>\n"
    return Source("c", "entry", head + text, "", params, signature, openmp, False)


def add_arrays(layout: Layout = Layout.C, openmp: bool = False) -> Source:
    """`C[i] = A[i] + B[i]` for vectors."""
    arrays = tuple(array(n, (N,), layout=layout, written=n == "C") for n in "ABC")
    signature = Signature("add", arrays, (SizeOf("N", 0, 0),), (), (), "N", ())
    strided = layout is Layout.STRIDED
    params = (
        pointer("A"), pointer("B"), pointer("C", written=True), size("N"),
        *((stride("A", 0), stride("B", 0), stride("C", 0)) if strided else ()),
    )  # fmt: skip
    declared = ", int64_t sa, int64_t sb, int64_t sc" if strided else ""
    a, b, c = ("i*sa", "i*sb", "i*sc") if strided else ("i", "i", "i")
    pragma = "#pragma omp parallel for\n" if openmp else ""
    text = f"""
int entry(const double *A, const double *B, double *C, int64_t N{declared}) {{
{pragma}    for (int64_t i = 0; i < N; i++) C[{c}] = A[{a}] + B[{b}];
    return 0;
}}"""
    return make(text, params, signature, openmp)


def strided_copy(rank: int, layout: Layout = Layout.STRIDED) -> Source:
    """`B[...] = A[...] * 2 + position` for arrays of `rank` dimensions."""
    names = tuple(Param(f"n{d}") for d in range(rank))
    arguments = (array("A", names, layout=layout), array("B", names, layout=layout, written=True))
    sizes = tuple(SizeOf(f"n{d}", 0, d) for d in range(rank))
    signature = Signature("copy", arguments, sizes, (), (), "N", ())
    dims = range(rank if layout is Layout.STRIDED else rank - 1)
    params = (
        pointer("A"), pointer("B", written=True), *(size(f"n{d}") for d in range(rank)),
        *(stride("A", d) for d in dims), *(stride("B", d) for d in dims),
    )  # fmt: skip
    declared = "".join(f", int64_t n{d}" for d in range(rank))
    declared += "".join(f", int64_t {x}_s{d}" for x in "AB" for d in dims)

    def at(x: str) -> str:
        terms = [f"i{d}*{x}_s{d}" if d in dims else f"i{d}" for d in range(rank)]
        return f"{x}[{' + '.join(terms)}]"

    loops = "".join(f"for (int64_t i{d} = 0; i{d} < n{d}; i{d}++) " for d in range(rank))
    position = "0"
    for d in range(rank):
        position = f"({position} * n{d} + i{d})"
    text = f"""
int entry(const double *A, double *B{declared}) {{
    {loops}{at("B")} = {at("A")} * 2 + {position};
    return 0;
}}"""
    return make(text, params, signature)


def outputs() -> Source:
    """Return (a new array `A + k`, the sum of A as a number, B itself) and write B."""
    arguments = (
        array("A", (N,)), array("B", (N,), written=True), ScalarArg("k", "k", F64, False),
    )  # fmt: skip
    signature = Signature(
        "outputs",
        arguments,
        (SizeOf("N", 0, 0),),
        (OutputArray("R", F64, (add(N, integer(1)),)), OutputArray("s", F64, ())),
        (
            Result(ResultKind.OUTPUT, "R"),
            Result(ResultKind.SCALAR, "s"),
            Result(ResultKind.ARGUMENT, "B"),
        ),
        "(...)",
        (),
    )
    params = (
        pointer("A"), pointer("B", written=True), pointer("R", written=True),
        pointer("s", written=True), size("N"), scalar("k", F64),
    )  # fmt: skip
    text = """
int entry(const double *A, double *B, double *R, double *s, int64_t N, double k) {
    *s = 0; R[N] = -1;
    for (int64_t i = 0; i < N; i++) { R[i] = A[i] + k; *s += A[i]; B[i] = k; }
    return 0;
}"""
    return make(text, params, signature)


ONES = {DType.FLOAT16: "0x3c00", DType.BFLOAT16: "0x3f80"}
"""The bits of 1 where elements are kept as bits."""


def one_array(
    dtype: DType, layout: Layout = Layout.C, written: bool = True, rank: int = 1
) -> Source:
    """Write 1 into every element of a contiguous array (or nothing, for other layouts)."""
    names = tuple(Param(f"n{d}") for d in range(rank))
    signature = Signature(
        "one", (array("A", names, dtype, layout, written),),
        tuple(SizeOf(f"n{d}", 0, d) for d in range(rank)), (), (), "N", (),
    )  # fmt: skip
    declared = "".join(f", int64_t n{d}" for d in range(rank))
    total = " * ".join(f"n{d}" for d in range(rank)) or "1"
    one = ONES.get(dtype, "1")
    body = f"for (int64_t i = 0; i < {total}; i++) A[i] = {one};"
    text = f"""
int entry({dtype.ctype} *A{declared}) {{
    {body if layout is Layout.C and written else ""}
    return 0;
}}"""
    params = (pointer("A", dtype, written), *(size(f"n{d}") for d in range(rank)))
    return make(text, params, signature)


def one_number(dtype: DType, is_param: bool = False) -> Source:
    """Return the number it is given."""
    signature = Signature(
        "number", (ScalarArg("x", "x", dtype, is_param),),
        (IntegerOf("x", 0),) if is_param else (),
        (OutputArray("r", dtype, ()),), (Result(ResultKind.SCALAR, "r"),), ".", (),
    )  # fmt: skip
    params = (pointer("r", dtype, True), size("x") if is_param else scalar("x", dtype))
    kind = "int64_t" if is_param else dtype.value_ctype
    value = f"x == 1 ? {ONES[dtype]} : 0" if dtype.is_half else "x"
    text = f"int entry({dtype.ctype} *r, {kind} x) {{ *r = {value}; return 0; }}"
    return make(text, params, signature)


def checked() -> Source:
    """A vector of length N, a square matrix of length N // 2 + 1, and a check `N >= k`."""
    half = add(Binary(BinaryOp.FLOORDIV, N, integer(2), I64), integer(1))
    k = Param("k")
    signature = Signature(
        "checked",
        (array("A", (N,)), array("B", (half, half)), ScalarArg("k", "k", I64, True)),
        (SizeOf("N", 0, 0), IntegerOf("k", 2)),
        (OutputArray("R", F64, (Binary(BinaryOp.SUB, N, k, I64),)),),
        (Result(ResultKind.OUTPUT, "R"),),
        ".",
        (Check(Compare(CompareOp.GE, N, Binary(BinaryOp.MOD, k, integer(100), I64)), "PO0203",
               "`A` is shorter than `k`", hint="pass a smaller k"),),
    )  # fmt: skip
    params = (pointer("A"), pointer("B"), pointer("R", written=True), size("N"), size("k"))
    text = """
int entry(const double *A, const double *B, double *R, int64_t N, int64_t k) {
    for (int64_t i = 0; i < N - k; i++) R[i] = A[i] + B[0];
    return 0;
}"""
    return make(text, params, signature)


def constant(value: object) -> Source:
    """A vector and a compiled-in value; doubles the vector."""
    signature = Signature(
        "constant", (array("A", (N,), written=True), ConstArg("axis", value)),
        (SizeOf("N", 0, 0),), (), (Result(ResultKind.ARGUMENT, "A"),), ".", (),
    )  # fmt: skip
    text = """
int entry(double *A, int64_t N) {
    for (int64_t i = 0; i < N; i++) A[i] *= 2;
    return 0;
}"""
    return make(text, (pointer("A", written=True), size("N")), signature)


def without_memory() -> Source:
    """A kernel whose temporaries never fit."""
    signature = Signature("big", (array("A", (N,), written=True),), (SizeOf("N", 0, 0),), (), (),
                          "N", ())  # fmt: skip
    text = "int entry(double *A, int64_t N) { return 1; }"
    return make(text, (pointer("A", written=True), size("N")), signature)


def negate_in_parallel() -> Source:
    """`B[i] = -A[i]` for vectors, in parallel."""
    arguments = (array("A", (N,)), array("B", (N,), written=True))
    signature = Signature("negate", arguments, (SizeOf("N", 0, 0),), (), (), "N", ())
    text = """
int entry(const double *A, double *B, int64_t N) {
#pragma omp parallel for
    for (int64_t i = 0; i < N; i++) B[i] = -A[i];
    return 0;
}"""
    params = (pointer("A"), pointer("B", written=True), size("N"))
    return make(text, params, signature, openmp=True)
