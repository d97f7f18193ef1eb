"""Define helpers for allocation, faults of threads, and the decision to run in parallel."""

from __future__ import annotations

from collections.abc import Callable

from polyopt.emit.helpers.helper import Helper, HelperKind, function

ENOUGH_WORK = 30_000  # assignments; fewer cost less than waking the threads
LINE = 64  # bytes that memory moves at a time
_HUGE_PAGE = 1 << 21  # bytes of a page that Linux gives on request


def _extent(helper: Helper) -> list[str]:
    return function("int64_t", helper, "int64_t n", ["return n > 0 ? n : 1;"])


def _bytes(helper: Helper) -> list[str]:
    return function(
        "size_t",
        helper,
        "size_t bytes, int64_t n",
        ["return n <= 0 ? 0 : bytes > SIZE_MAX / (uint64_t)n ? SIZE_MAX : bytes * (size_t)n;"],
    )


def _largest(helper: Helper) -> list[str]:
    return function("size_t", helper, "size_t a, size_t b", ["return a > b ? a : b;"])


def _alloc(helper: Helper) -> list[str]:
    return [
        "__attribute__((malloc))",
        *function(
            "void *",
            helper,
            "size_t bytes",
            [
                "if (bytes > SIZE_MAX / 2)",
                "    return NULL;",
                # the first touch of a page costs more than what is written to it
                "#ifdef MADV_HUGEPAGE",
                f"if (bytes >= {2 * _HUGE_PAGE}) {{",
                f"    size_t whole = (bytes / {_HUGE_PAGE} + 1) * {_HUGE_PAGE};",
                f"    void *place = aligned_alloc({_HUGE_PAGE}, whole);",
                "    if (place)",
                "        (void)madvise(place, whole, MADV_HUGEPAGE);",
                "    return place;",
                "}",
                "#endif",
                "return aligned_alloc(64, (bytes / 64 + 1) * 64);",
            ],
        ),
    ]


def _aligned(helper: Helper) -> list[str]:
    body = ["return ((uint64_t)place & (uint64_t)(bytes - 1)) == 0;"]
    return function("bool", helper, "const void *place, int bytes", body)


def _fail(helper: Helper) -> list[str]:
    # of the faults of several threads the lowest is told
    return function(
        "void",
        helper,
        "int *status, int fault",
        [
            "int found = __atomic_load_n(status, __ATOMIC_RELAXED);",
            "while ((found == 0 || fault < found)",
            "       && !__atomic_compare_exchange_n(status, &found, fault, 0, __ATOMIC_RELAXED,",
            "                                       __ATOMIC_RELAXED)) {",
            "}",
        ],
    )


_ALWAYS = ("(void)work;", "return true;")


def _many(helper: Helper) -> list[str]:
    # code that is not optimized is looked at: by the race check, by readers of the text
    body = ["#ifdef __OPTIMIZE__", f"return work > {ENOUGH_WORK};"]
    return function("bool", helper, "int64_t work", [*body, "#else", *_ALWAYS, "#endif"])


def _stream_row(helper: Helper) -> list[str]:
    """Copy whole lines to an aligned address with nontemporal stores."""
    element = helper.dtype.ctype
    body = ["#if defined(__AVX512F__)"]
    for bits, prefix, feature in ((512, "_mm512", "defined(__FMA__)"), (256, "_mm256", "")):
        register = f"__m{bits}i"
        body += [
            f"for (int64_t k = 0; k < n; k += {bits // 8 // helper.dtype.size})",
            f"    {prefix}_stream_si{bits}(({register} *)(p + k),",
            f"        {prefix}_load_si{bits}((const {register} *)(row + k)));",
            f"#elif {feature}" if feature else "#else",
        ]
    body += ["for (int64_t k = 0; k < n; k++)", "    p[k] = row[k];", "#endif"]
    return function("void", helper, f"{element} *p, const {element} *row, int64_t n", body)


def _ahead(helper: Helper) -> list[str]:
    """How many elements there are before the next line of memory."""
    size = helper.dtype.size
    count = f"return (int64_t)(-(uintptr_t)p / {size} % {LINE // size});"
    return function("int64_t", helper, f"const {helper.dtype.ctype} *p", [count])


def _streamed(helper: Helper) -> list[str]:
    """Order a thread's nontemporal stores before its later stores."""
    body = [
        "#if defined(__FMA__) || defined(__AVX512F__)",
        "_mm_sfence();",
        "#endif",
    ]
    return function("void", helper, "void", body)


def _free(helper: Helper) -> list[str]:
    """Keep what is needed later in memory, so that what is declared next gets registers.

    Compilers give registers to constants of loops around, and keep sums of the innermost loop in
    memory, which need almost all of them.
    """

    def clobbering(begin: int) -> list[str]:
        """Return the statement that uses 16 registers."""
        names = [f'"xmm{number}"' for number in range(begin, begin + 16)]
        first, second = ", ".join(names[:8]), ", ".join(names[8:])
        return [f'__asm__ volatile("" ::: {first},', f"    {second});"]

    why = "/* or else constants of outer loops take registers that the sums declared next need */"
    wide = helper.lanes * helper.dtype.size > 32
    asked = "#ifdef __AVX512F__" if wide else "#ifdef __x86_64__"
    body = [why, asked, *clobbering(0), *(clobbering(16) if wide else ()), "#endif"]
    return function("void", helper, "void", body)


DEFINITIONS: dict[HelperKind, Callable[[Helper], list[str]]] = {
    HelperKind.EXTENT: _extent,
    HelperKind.BYTES: _bytes,
    HelperKind.LARGEST: _largest,
    HelperKind.ALLOC: _alloc,
    HelperKind.FAIL: _fail,
    HelperKind.MANY: _many,
    HelperKind.ALIGNED: _aligned,
    HelperKind.STREAM_ROW: _stream_row,
    HelperKind.STREAMED: _streamed,
    HelperKind.AHEAD: _ahead,
    HelperKind.FREE: _free,
}
"""What defines each helper about memory and threads."""
