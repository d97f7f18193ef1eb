"""Room in memory, faults that threads meet, and whether work is worth several threads."""

from __future__ import annotations

from collections.abc import Callable

from polyopt.emit.helpers.helper import Helper, HelperKind, function

ENOUGH_WORK = 30_000  # assignments; fewer cost less than waking the threads
_HUGE_PAGE = 1 << 21  # bytes of a page that Linux gives on request


def _extent(helper: Helper) -> list[str]:
    return function("int64_t", helper, "int64_t n", ["return n > 0 ? n : 1;"])


def _bytes(helper: Helper) -> list[str]:
    return function(
        "size_t",
        helper,
        "size_t bytes, int64_t n",
        [
            "if (n <= 0)",
            "    return 0;",
            "return bytes > SIZE_MAX / (uint64_t)n ? SIZE_MAX : bytes * (size_t)n;",
        ],
    )


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


DEFINITIONS: dict[HelperKind, Callable[[Helper], list[str]]] = {
    HelperKind.EXTENT: _extent,
    HelperKind.BYTES: _bytes,
    HelperKind.ALLOC: _alloc,
    HelperKind.FAIL: _fail,
    HelperKind.MANY: _many,
    HelperKind.ALIGNED: _aligned,
}
"""What defines each helper about memory and threads."""
