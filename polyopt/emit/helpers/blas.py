"""Define helpers that call BLAS, or tell that there is none, or that it cannot have the operands.

`PO_BLAS(dgemm)` names a function of the library's interface for C, `cblas_dgemm`; `PO_BLAS_INT` is
its type of integers.  Who compiles the text defines both; without them no library is called.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.emit.helpers.helper import Helper, function
from polyopt.ir.types import DType

MACRO = "PO_BLAS"
"""Defined where a library is linked; a text that may call one has the word."""

_INTEGER = ("#ifndef PO_BLAS_INT", "#define PO_BLAS_INT int", "#endif")
_ROW_MAJOR, _PLAIN, _TRANSPOSED = 101, 111, 112
_LETTER = {DType.FLOAT32: "s", DType.FLOAT64: "d"}


def _gemm(helper: Helper) -> list[str]:
    t, call = helper.dtype.ctype, f"{MACRO}({_LETTER[helper.dtype]}gemm)"
    matrix = f"const {t} *, PO_BLAS_INT"
    sizes = "PO_BLAS_INT, PO_BLAS_INT, PO_BLAS_INT"
    # strides of rows and of columns: one of them is 1
    arguments = (
        f"int64_t m, int64_t n, int64_t k, int sign, const {t} *a, int64_t ai, int64_t ak, "
        f"const {t} *b, int64_t bk, int64_t bj, {t} *c, int64_t ci, int64_t cj"
    )
    body = [
        "const int64_t lda = ak == 1 ? ai : ak, ldb = bj == 1 ? bk : bj;",
        "const int64_t wa = ak == 1 ? k : m, wb = bj == 1 ? n : k;",
        "if (m <= 0 || n <= 0 || k <= 0)",
        "    return 1;",
        "if ((ak != 1 && ai != 1) || (bj != 1 && bk != 1) || cj != 1)",
        "    return 0;",
        *_fits("m", "n", "k", "lda", "ldb", "ci"),
        "if (lda < wa || ldb < wb || ci < n)",
        "    return 0;",
        f"{call}({_ROW_MAJOR}, ak == 1 ? {_PLAIN} : {_TRANSPOSED}, "
        f"bj == 1 ? {_PLAIN} : {_TRANSPOSED}, (PO_BLAS_INT)m, (PO_BLAS_INT)n, (PO_BLAS_INT)k, "
        f"({t})sign, a, (PO_BLAS_INT)lda, b, (PO_BLAS_INT)ldb, 1, c, (PO_BLAS_INT)ci);",
        "return 1;",
    ]
    names = ("m", "n", "k", "sign", "a", "ai", "ak", "b", "bk", "bj", "c", "ci", "cj")
    declared = (
        f"extern void {call}(int, int, int, {sizes}, {t}, {matrix}, {matrix}, {t}, {t} *, "
        "PO_BLAS_INT);"
    )
    return _guarded(helper, declared, arguments, body, names)


def _gemv(helper: Helper) -> list[str]:
    t, call = helper.dtype.ctype, f"{MACRO}({_LETTER[helper.dtype]}gemv)"
    arguments = (
        f"int64_t m, int64_t k, int sign, const {t} *a, int64_t ai, int64_t ak, "
        f"const {t} *x, int64_t xk, {t} *y, int64_t yi"
    )
    body = [
        "const int64_t lda = ak == 1 ? ai : ak, rows = ak == 1 ? m : k, wide = ak == 1 ? k : m;",
        "if (m <= 0 || k <= 0)",
        "    return 1;",
        "if ((ak != 1 && ai != 1) || xk < 1 || yi < 1)",
        "    return 0;",
        *_fits("m", "k", "lda", "xk", "yi"),
        "if (lda < wide)",
        "    return 0;",
        f"{call}({_ROW_MAJOR}, ak == 1 ? {_PLAIN} : {_TRANSPOSED}, (PO_BLAS_INT)rows, "
        f"(PO_BLAS_INT)wide, ({t})sign, a, (PO_BLAS_INT)lda, x, (PO_BLAS_INT)xk, 1, y, "
        "(PO_BLAS_INT)yi);",
        "return 1;",
    ]
    names = ("m", "k", "sign", "a", "ai", "ak", "x", "xk", "y", "yi")
    declared = (
        f"extern void {call}(int, int, PO_BLAS_INT, PO_BLAS_INT, {t}, const {t} *, PO_BLAS_INT, "
        f"const {t} *, PO_BLAS_INT, {t}, {t} *, PO_BLAS_INT);"
    )
    return _guarded(helper, declared, arguments, body, names)


def _fits(*names: str) -> list[str]:
    """Return the lines that refuse integers which the library's type does not hold."""
    tests = " || ".join(f"(PO_BLAS_INT){name} != {name}" for name in names)
    return [f"if ({tests})", "    return 0;"]


def _guarded(
    helper: Helper, declared: str, arguments: str, body: list[str], names: tuple[str, ...]
) -> list[str]:
    unused = " ".join(f"(void){name};" for name in names)
    own = [f"#ifdef {MACRO}", *body, "#else", unused, "return 0;", "#endif"]
    return [
        f"#ifdef {MACRO}", *_INTEGER, declared, "#endif", *function("int", helper, arguments, own)
    ]  # fmt: skip


DEFINITIONS: dict[str, Callable[[Helper], list[str]]] = {"gemm": _gemm, "gemv": _gemv}
"""What defines each helper, by the name of its kind."""
