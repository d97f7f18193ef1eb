"""Jobs and their results as files in a directory, as parent and child write and read them.

In: a library, its `Source`, arguments.  Out: `Result`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polyopt.dataclass import dataclass
from polyopt.ir.source import Source
from polyopt.racecheck.packing import pack, unpack
from polyopt.runtime.records import to_json


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a job: arguments as the kernel left them, what it returned or ran into."""

    arguments: tuple[Any, ...]
    returned: Any
    error: tuple[str, str] | None
    conflicts: list[Any]
    totals: dict[str, int]


def write_job(
    work: Path,
    library: Path,
    source: Source,
    arguments: Sequence[object],
    rules: dict[str, int] | None,
) -> None:
    """Write a job to `work`; `rules` are for libraries whose accesses are watched."""
    job = {
        "library": str(library),
        "source": to_json(source),
        "arguments": pack(arguments, work),
        "rules": rules,
    }
    (work / "job.json").write_text(json.dumps(job), encoding="utf-8")


def read_result(work: Path) -> Result:
    """Return what the child wrote to `work`."""
    job = json.loads((work / "job.json").read_text(encoding="utf-8"))
    result = json.loads((work / "result.json").read_text(encoding="utf-8"))
    after, _ = unpack(job["arguments"], work)
    parts, _ = unpack(result["returned"], work / "returned")
    return Result(
        after,
        parts if result["is_tuple"] else parts[0],
        None if result["error"] is None else tuple(result["error"]),
        result["conflicts"],
        result["totals"],
    )
