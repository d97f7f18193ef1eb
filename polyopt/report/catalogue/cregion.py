"""Codes of C files: what a region between `#pragma scop` and `#pragma endscop` may not contain."""

from __future__ import annotations

from polyopt.report.catalogue.entry import Entry

CREGION: dict[str, Entry] = {
    "PO0190": Entry(
        "a statement or expression of C that a region may not contain",
        "return 0;  p + 1;  x = (y = z) + 1;  print(a[i]);",
        "keep loops, conditions and assignments in the region, and the rest around it",
    ),
    "PO0191": Entry(
        "a C file has no region, or one that does not begin and end in the same block",
        "#pragma scop without #pragma endscop",
        "put `#pragma scop` before and `#pragma endscop` behind the loops, in one block",
    ),
    "PO0192": Entry(
        "a region uses a variable that is no number and no array of numbers",
        "double **rows; struct point p;",
        "use numbers, and arrays or pointers of numbers: `double A[n][m]`, `double *x`",
    ),
    "PO0193": Entry(
        "a `for` loop of a region does not count",
        "for (i = 1; i < n; i *= 2)",
        "write `for (int i = first; i < last; i++)`, or a `while` loop",
    ),
    "PO0194": Entry(
        "a variable that a region counts or declares is read where the region does not set it",
        "for (i = 0; i < n; i++) ...;  x[i] = 0;",
        "use another variable, set in the loop or behind the region",
    ),
    "PO0195": Entry(
        "the C preprocessor refuses the file",
        '#include "missing.h"',
        "give folders of headers and macros as for the compiler: -I DIR, -D NAME=VALUE",
    ),
}
