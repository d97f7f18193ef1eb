"""The error codes of calls and of the toolchain, in one table.

In: nothing.  Out: code -> what it means, one line each.
"""

from __future__ import annotations

CODES = {
    "PO0201": "the arguments do not bind to the function's parameters",
    "PO0202": "an element type polyopt does not compute with",
    "PO0203": "shapes that do not fit together",
    "PO0204": "a written array is read-only",
    "PO0205": "a written array shares memory with another argument",
    "PO0206": "something that is not an array where an array is needed",
    "PO0207": "another element type than the kernel was compiled for",
    "PO0208": "another rank than the kernel was compiled for",
    "PO0209": "another memory layout than the kernel was compiled for",
    "PO0210": "an integer out of range",
    "PO0211": "elements that are not aligned",
    "PO0212": "a written array whose own elements share memory",
    "PO0213": "another value than the one compiled in",
    "PO0214": "a size that is negative",
    "PO0215": "something that is not a number where a number is needed",
    "PO0221": "an unknown option",
    "PO0222": "an option's value is wrong",
    "PO0223": "something that cannot be compiled where a function is needed",
    "PO0224": "a variable or a setting has a wrong value",
    "PO0225": "a value that must be known to compile is not given",
    "PO0226": "a value of type bfloat16 without the package ml_dtypes",
    "PO0228": "a captured value is another one than the kernel was compiled for",
    "PO0231": "a subscript found while the kernel ran is outside its array",
    "PO0232": "values found while the kernel ran do not fit together",
    "PO0233": "a divisor found while the kernel ran is zero",
    "PO0234": "a number found while the kernel ran is too large",
    "PO0235": "an `assert` did not hold while the kernel ran",
    "PO0236": "the function that was run raised an exception",
    "PO0501": "no C compiler",
    "PO0502": "the C compiler refused emitted code",
    "PO0503": "a built library cannot be loaded",
    "PO0504": "the C compiler took too long",
    "PO0505": "the C compiler could not be run",
    "PO0506": "there is no disk space to build in",
    "PO0507": "a library function needs a package that is not installed, or a newer one",
    "PO0702": "memory for a result or a temporary could not be had",
}
