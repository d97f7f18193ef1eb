"""One run of one kernel in a process of its own, which may crash or hang: the child of `bisect`.

In: a request as JSON on standard input.  Out: the results in an .npz file, and what became of the
run as JSON in another; nothing of it on the streams, which belong to the program.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from polyopt.dataclass import asdict, dataclass
from polyopt.errors import IllegalSchedule, PolyoptError, ScheduleError, ToolchainError


@dataclass(frozen=True, slots=True)
class Request:
    """What to run; `schedule` is a text, `results` and `report` are files to write."""

    target: str
    types: str | None
    sizes: str | None
    seed: int
    npz: str | None
    fp: str | None
    threads: int | None
    schedule: str
    results: str
    report: str

    def to_json(self) -> str:
        """Return the request as text."""
        return json.dumps(asdict(self))


def values_of(request: Request) -> tuple[Any, tuple[Any, ...]]:
    """Return the loaded target and the values it is called with."""
    from polyopt.cli.prepare import target_and_values

    return target_and_values(
        request.target, request.types, request.sizes, request.npz, request.seed
    )


def kernel_of(request: Request, target: Any) -> Any:  # noqa: ANN401
    """Return the kernel that the request asks for."""
    import polyopt
    from polyopt.cli.prepare import make_options

    options = make_options(request.fp, request.threads, request.schedule, target.kernel)
    return polyopt.kernel(
        fp=options.fp.value,
        threads=options.threads,
        schedule=options.schedule,
        compiler=options.compiler,
    )(target.func)


def carry_out(request: Request) -> None:
    """Run the request; raises what the compiler or the kernel raises."""
    import numpy as np

    from polyopt.numerics.results import named_results

    target, values = values_of(request)
    compiled = kernel_of(request, target).compile(*values)
    returned = compiled(*values)
    found = named_results(compiled.program, values, returned)
    with Path(request.results).open("wb") as stream:
        np.savez(stream, allow_pickle=False, **found)


def main() -> None:
    """Serve the request on standard input."""
    request = Request(**json.load(sys.stdin))
    report: dict[str, object]
    try:
        carry_out(request)
        report = {"kind": "done"}
    except PolyoptError as error:
        report = {"kind": _kind(error), "code": error.code, "text": error.message}
    except Exception as error:  # what the program raises of its own is a result, too
        report = {"kind": "raised", "code": "", "text": f"{type(error).__name__}: {error}"}
    Path(request.report).write_text(json.dumps(report), encoding="utf-8")


def _kind(error: PolyoptError) -> str:
    match error:
        case IllegalSchedule() | ScheduleError():
            return "refused"
        case ToolchainError():
            return "failed"
        case _:
            return "raised"


if __name__ == "__main__":
    main()
