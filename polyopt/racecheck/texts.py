"""The text that is checked: as emitted for threads; for lanes, `omp simd` made parallel.

In: emitted C.  Out: C whose lines are those of the text.
"""

from __future__ import annotations

import re

from polyopt.never import assert_never
from polyopt.racecheck.races import Level

_SIMD = re.compile(r"^(\s*#pragma omp )simd\b")
_ASKS = re.compile(r"\bomp_get_(?:thread_num|num_threads)\b")
_PARALLEL = re.compile(r"^\s*#pragma omp (?:parallel|for)\b")
_MANY = re.compile(r"(bool po_many\(int64_t work\)\n\{[^}]*return )true;")


def checked_text(text: str, level: Level) -> str:
    """Return `text` as it is compiled to check `level`.

    Lanes become iterations of a parallel loop; the loops around them are run by one thread, as
    where there is little work.
    """
    match level:
        case Level.THREADS:
            return text
        case Level.LANES:
            return "\n".join(map(_of_lanes, _MANY.sub(r"\1false;", text).split("\n")))
        case _:
            assert_never(level)


def has_level(text: str, level: Level) -> bool:
    """Tell whether some loop of `text` runs its iterations at the same time on `level`."""
    pattern = _PARALLEL if level is Level.THREADS else _SIMD
    return any(pattern.match(line) for line in text.split("\n"))


def asks_who_runs(text: str) -> bool:
    """Tell whether `text` itself asks which thread runs it, or how many there are."""
    return _ASKS.search(text) is not None


def _of_lanes(line: str) -> str:
    if _PARALLEL.match(line):
        return ""
    return _SIMD.sub(r"\1parallel for", line)
