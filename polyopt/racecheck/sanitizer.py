"""Run emitted C under gcc's address and undefined-behaviour sanitizers.

In: a `Source`, arguments (which stay as they are).  Out: `Sanitized`: what they reported, results.
Refuses: no gcc, or one without the sanitizers' libraries (PO0508); a run without end (PO0509).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from polyopt.dataclass import dataclass
from polyopt.errors import ToolchainError
from polyopt.ir.source import Source
from polyopt.racecheck.library import build_sanitized, sanitizer_libraries
from polyopt.racecheck.worker import Worker, Workshop, read_result, write_job

_REPORT = re.compile(r"(AddressSanitizer: .*|kernel\.c:\d+:\d+: runtime error: .*)")
_FRAME = re.compile(r"#\d+ .* in (\S+) .*?(kernel\.c:\d+)")
_OPTIONS = "detect_leaks=0:allocator_may_return_null=1:handle_segv=1"


@dataclass(frozen=True, slots=True)
class Sanitized:
    """What one run showed: reports (then there are no results), or results."""

    reports: tuple[str, ...]
    arguments: tuple[Any, ...]
    returned: Any
    error: tuple[str, str] | None


class Sanitizer(Workshop):
    """Builds and runs kernels under the sanitizers; use it in a `with` statement."""

    def __init__(self, compiler: str | None = None) -> None:
        super().__init__(compiler)
        preload = " ".join(sanitizer_libraries(self._gcc))
        environment = {"LD_PRELOAD": preload, "ASAN_OPTIONS": _OPTIONS}
        self._worker = Worker(self._directory, environment)

    def run(self, source: Source, arguments: Sequence[object], seconds: float = 120.0) -> Sanitized:
        """Run `source` on copies of `arguments`."""
        work = self._new_job(source, arguments)
        library = build_sanitized(self._gcc, source, work)
        write_job(work, library, source, arguments, None)
        ended = self._worker.do(work, seconds)
        if ended is None:
            result = read_result(work)
            return Sanitized((), result.arguments, result.returned, result.error)
        if ended.status is None:
            raise ToolchainError(
                "PO0509",
                f"the kernel did not end within {seconds:g} s under the sanitizers",
                hint="use smaller arguments",
            )
        return Sanitized(_reports(ended.said), (), None, None)


def _reports(said: str) -> tuple[str, ...]:
    """Return the reports in the sanitizers' text, each with the first line of the kernel."""
    found = [match.group(1).strip() for match in _REPORT.finditer(said)]
    frame = _FRAME.search(said)
    if frame is not None:
        found = [f"{text} [{frame.group(2)}, {frame.group(1)}]" for text in found[:1]]
    return tuple(found) or (said.strip()[-300:] or "the process ended without a word",)
