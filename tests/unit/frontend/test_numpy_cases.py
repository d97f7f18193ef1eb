"""Every expression of `numpy_cases` against NumPy and Python: values, types and shapes."""

from __future__ import annotations

import linecache
import math
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import PolyoptError
from tests.unit.frontend.harness import agree, equal_to_python
from tests.unit.frontend.numpy_cases import CASES, arrays

SIZES = ((4, 5), (1, 1), (0, 2))
NAMES = tuple(arrays(1, 1))
# Python's lists have no item whose type or shape could be seen when they are empty
NEED_ITEMS = ("for i in range(A.shape[0])])", "sum(v")
AT_NOTHING = {"PO0170", "PO0172", "PO0173", "PO0174"}


def function_of(text: str, name: str) -> tuple[Callable[..., Any], list[str]]:
    """Return a function of the names that the expression uses, with source text to read."""
    used = [n for n in NAMES if re.search(rf"(?<![\w.'\"]){n}(?![\w'\"=])", text)]
    source = f"def case({', '.join(used)}):\n    return {text}\n"
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"np": np, "math": math}
    exec(compile(source, file, "exec"), scope)
    return scope["case"], used


def refusal_of(function: Callable[..., Any], given: list[Any]) -> PolyoptError | None:
    """Compare with NumPy; return the error if the function is refused."""
    try:
        agree(function, *given)
    except PolyoptError as error:
        return error
    return None


PARAMS = [
    pytest.param(text, f"{group} {number}", id=f"{group}-{text}")
    for group, texts in CASES.items()
    for number, text in enumerate(texts)
    if "math.cbrt" not in text or sys.version_info >= (3, 11)
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("text", "name"), PARAMS)
def test_expression_equals_numpy(text: str, name: str) -> None:
    function, used = function_of(text, name)
    for size in SIZES:
        if 0 in size and any(part in text for part in NEED_ITEMS):
            continue
        given = [arrays(*size)[n] for n in used]
        try:
            with np.errstate(all="ignore"):
                function(*given)
        except (ValueError, IndexError, ZeroDivisionError):
            assert size != SIZES[0]
            continue
        refusal = refusal_of(function, given)
        assert refusal is None or (size != SIZES[0] and refusal.code in AT_NOTHING), refusal


COMPILED = [
    "np.gcd(I, J)", "np.lcm(K, K)", "*np.frexp(S)", "np.ldexp(F, I)", "np.spacing(S)",
    "np.bitwise_count(W)", "np.fmod(I, J)", "I < W", "np.maximum(C, D)", "np.sign(C)",
    "np.expm1(C)", "np.var(C)", "np.nanmax(np.where(M, A, np.nan), axis=1)",
    "np.sum(A, where=M)", "np.max(A, initial=1.0)", "np.pad(A, 1, mode='symmetric')",
    "*np.gradient(A)", "np.convolve(v, u, 'same')", "np.mgrid[0:3, 0:4]",
    "np.select([A > 1, A < -1], [A, -A], default=0)", "*np.array_split(v, 4)",
    "np.array([A[i, 0] * i for i in range(A.shape[0])])", "np.cov(A)", "np.round(A, 2)",
]  # fmt: skip


@pytest.mark.toolchain
def test_a_cross_section_is_right_in_c() -> None:
    """One kernel returns many results, so that one build serves them all."""
    found = sorted({n for text in COMPILED for n in NAMES if re.search(rf"\b{n}\b", text)})
    body = ",\n        ".join(COMPILED)
    source = f"def every({', '.join(found)}):\n    return (\n        {body}\n    )\n"
    linecache.cache["<every>"] = (len(source), None, source.splitlines(keepends=True), "<every>")
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, "<every>", "exec"), scope)
    kernel = po.kernel(scope["every"])
    for size in ((4, 5), (7, 3)):
        given = [arrays(*size)[n] for n in found]
        with np.errstate(all="ignore"):
            got, want = kernel(*given), scope["every"](*given)
            program = kernel.compile(*given).program
            equal_to_python(program, given, (got, given), (want, given))
