"""Run emitted C with a thread for each iteration and report the races.

In: a `Source`, arguments (which stay as they are).  Out: `Race`s; with a `Checker`, results too.
Refuses: arguments that do not fit; no gcc (PO0508); a run that crashes, or that cannot be judged
because threads wait for each other or it takes too long (PO0509).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polyopt.dataclass import dataclass
from polyopt.errors import ToolchainError
from polyopt.ir.source import Source
from polyopt.never import assert_never
from polyopt.racecheck.library import (
    Cell,
    Level,
    Race,
    RaceKind,
    SourceLine,
    Touch,
    build_checked,
    build_run_time,
    places,
)
from polyopt.racecheck.worker import Workshop, read_result, write_job

_GIVEN_UP = 86  # status of a child whose run time cannot go on
_TEAM_HINT = "check a kernel without it, or name the size of the team: `Rules(team=64)`"
_ASKED = re.compile(r"(\w+)\s*(?:\)\s*)?=\s*\w*alloc\w*\s*\(")


@dataclass(frozen=True, slots=True)
class Checked:
    """What one run showed.

    `regions` parallel loops ran, the `longest` with so many iterations.  `arguments` are copies as
    the kernel left them, `returned` what it gave back, `error` the code and text of its fault.
    """

    races: tuple[Race, ...]
    regions: int
    iterations: int
    longest: int
    arguments: tuple[Any, ...]
    returned: Any
    error: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Rules:
    """How parallel loops are run.

    `team` 0 gives each iteration a thread; where threads wait for each other inside a region a team
    of at least the longest loop must be named.  `obeys_if`: a false `if` clause means one thread.
    """

    team: int = 0
    obeys_if: bool = False
    seconds: float = 60.0


def check_races(
    source: Source,
    *arguments: object,
    levels: Sequence[Level] = tuple(Level),
    rules: Rules | None = None,
) -> tuple[Race, ...]:
    """Return the races of one call, among threads and among lanes."""
    with Checker() as checker:
        found = [
            checker.check(source, arguments, level, rules).races
            for level in levels
            if has_level(source.text, level)
        ]
    return tuple(race for races in found for race in races)


class Checker(Workshop):
    """Builds and runs kernels to be checked; use it in a `with` statement."""

    def __init__(self, compiler: str | None = None) -> None:
        super().__init__(compiler)
        self._run_time = build_run_time(self._gcc, self._directory)

    def check(
        self,
        source: Source,
        arguments: Sequence[object],
        level: Level = Level.THREADS,
        rules: Rules | None = None,
    ) -> Checked:
        """Run `source` on copies of `arguments`."""
        chosen = rules or Rules()
        work = self._new_job(source, arguments)
        if chosen.team == 0 and asks_who_runs(source.text):
            raise _no_verdict("it asks which thread runs it", _TEAM_HINT)
        text = checked_text(source.text, level)
        library = build_checked(self._gcc, text, self._run_time, work)
        settings = {"obeys_if": int(chosen.obeys_if), "team": chosen.team}
        write_job(work, library, source, arguments, settings)
        self._do(work, chosen.seconds)
        result = read_result(work)
        found = _races(result.conflicts, library, text, level)
        return Checked(
            found, **result.totals, arguments=result.arguments, returned=result.returned,
            error=result.error,
        )  # fmt: skip

    def _do(self, work: Path, seconds: float) -> None:
        """Have the worker do the job in `work`."""
        ended = self._worker.do(work, seconds)
        if ended is None:
            return
        if ended.status is None:
            raise _no_verdict(f"it did not end within {seconds:g} s", "use smaller arguments")
        lines = [line for line in ended.said.splitlines() if line.strip()]
        said = lines[-1].removeprefix("po_race: ")[:200] if lines else "nothing was said"
        if ended.status == _GIVEN_UP:
            raise _no_verdict(said, _TEAM_HINT)
        cause = f"signal {-ended.status}" if ended.status < 0 else f"status {ended.status}"
        raise _no_verdict(
            f"its process ended with {cause}: {said}", "look for subscripts outside their arrays"
        )


def _no_verdict(reason: str, hint: str) -> ToolchainError:
    return ToolchainError("PO0509", f"the kernel cannot be checked for races: {reason}", hint=hint)


def _races(conflicts: list[Any], library: Path, text: str, level: Level) -> tuple[Race, ...]:
    """Return the conflicts that a run noted with their lines."""
    if not conflicts:
        return ()
    wanted = [
        pair
        for c in conflicts
        for pair in (
            (c["earlier_place"], c["earlier_call"]),
            (c["later_place"], c["later_call"]),
            (c["loop"], 0),
            (c["block_place"], c["block_call"]),
        )
    ]
    found = places(library, text, wanted)
    return tuple(_race(c, found, level) for c in conflicts)


def _race(conflict: Any, found: dict[tuple[int, int], SourceLine], level: Level) -> Race:  # noqa: ANN401
    first, second = (_touch(conflict, who, found) for who in ("earlier", "later"))
    both = first.writes and second.writes
    return Race(
        RaceKind.WRITE_WRITE if both else RaceKind.READ_WRITE,
        level,
        found[conflict["loop"], 0],
        first,
        second,
        _cell(conflict, found),
        conflict["times"],
    )


def _touch(conflict: Any, who: str, found: dict[tuple[int, int], SourceLine]) -> Touch:  # noqa: ANN401
    place = found[conflict[f"{who}_place"], conflict[f"{who}_call"]]
    return Touch(conflict[f"{who}_iteration"], place, bool(conflict[f"{who}_writes"]))


def _cell(conflict: Any, found: dict[tuple[int, int], SourceLine]) -> Cell | None:  # noqa: ANN401
    if conflict["cell"] is not None:
        name, index = conflict["cell"]
        return Cell(name, tuple(index))
    if conflict["block_size"] == 0:
        return None
    line = found[conflict["block_place"], conflict["block_call"]].text
    name = _ASKED.search(line)
    position = (conflict["address"] - conflict["block"]) // max(1, conflict["size"])
    shown = "memory" if name is None else name.group(1).removeprefix("po_").removesuffix("_")
    return Cell(shown, (position,))


# -- the text that is checked: as emitted for threads; for lanes, `omp simd` made parallel


_SIMD = re.compile(r"^(\s*#pragma omp )simd\b(?: simdlen\(\d+\))?")
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
