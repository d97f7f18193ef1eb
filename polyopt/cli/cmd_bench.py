"""`polyopt bench [NAMES…]`: compare with NumPy over the workloads of a source checkout.

In: names of workloads, or a suite, and a data set.  Out: a table; exit code 4 for a wrong result.
The suite `speed` compares with every peer that is installed; two kept runs of it can be compared.
Refuses: an installation without `bench/` and `workloads/` beside the package (PO0616).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click

import polyopt
from polyopt.cli.console import result, result_json, talk
from polyopt.cli.prepare import json_option
from polyopt.errors import UsageError
from polyopt.files import is_readable
from polyopt.runtime.levels import require_level
from polyopt.runtime.toolchain import processor_features

SPEED = "speed"
_MOST_BYTES = 1 << 26  # of a kept run
DATASETS = ("MINI", "SMALL", "MEDIUM", "LARGE", "EXTRALARGE")


@click.command("bench")
@click.argument("names", nargs=-1)
@click.option("--suite", help="All workloads of a suite: polybench, learning, science, speed.")
@click.option("--size", type=click.Choice(DATASETS), default="LARGE", show_default=True)
@click.option("--threads", type=click.IntRange(min=1), help="Most threads; default: all cores.")
@click.option("--dtype", type=click.Choice(("float64", "float32")), help="speed: element type.")
@click.option("--fp", type=click.Choice(("strict", "reassociate")), help="speed: one mode only.")
@click.option("--peers", metavar="A,B", help="speed: these peers only; default: all installed.")
@click.option("--prepare", is_flag=True, help="speed: compile and check, time nothing.")
@click.option(
    "--budget",
    type=click.FloatRange(min=0.0, min_open=True),
    metavar="SECONDS",
    help="For the whole run, compiling included; no limit otherwise.",
)
@click.option(
    "--wait",
    type=click.FloatRange(min=0.0),
    default=10.0,
    metavar="SECONDS",
    help="To wait for a quiet machine before each program.  [10]",
)
@click.option(
    "--isa",
    type=click.Choice(("v2", "v3", "v4")),
    help="Build everything, peers included, for a level of x86-64; default: for this processor.",
)
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(),
    help="Keep the run as JSON, from its first row on.",
)
@click.option(
    "--compare",
    nargs=2,
    metavar="A B",
    type=click.Path(exists=True, dir_okay=False),
    help="Compare two kept runs of the suite speed; exit code 1 for what got slower.",
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    names: tuple[str, ...],
    suite: str | None,
    size: str,
    threads: int | None,
    as_json: bool,
    compare: tuple[str, str] | None,
    dtype: str | None,
    fp: str | None,
    peers: str | None,
    prepare: bool,
    budget: float | None,
    wait: float,
    isa: str | None,
    output: str | None,
) -> None:
    """Compare polyopt with NumPy, or with every peer, over the workloads of a source checkout."""
    root = str(checkout())
    if root not in sys.path:
        sys.path.insert(0, root)
    if compare is not None:
        context.exit(_compare(*map(Path, compare)))
    if isa is not None:
        import_module("bench.levels").choose(isa)
        require_level(processor_features)
    keeper = _keeper(output)
    if suite == SPEED:
        limits = {"is_timed": not prepare, "budget": budget, "patience": wait}
        request = _request(names, size, threads, (dtype, fp, peers), limits)
        report = import_module("bench.speed.run").run(request, talk, keeper)
        _show(report, import_module("bench.speed.table").render, as_json, keeper)
        context.exit(report.exit_code)
    chosen = _chosen(import_module("workloads"), names, suite)
    short = import_module("bench.compare")
    report = short.compare(chosen, size, threads, talk, keeper, budget, wait)
    _show(report, short.render, as_json, keeper)
    context.exit(report.exit_code)


def _keeper(output: str | None) -> Any:  # noqa: ANN401
    """Return what keeps the run; refuses a place that cannot be written, before any measurement."""
    keeper = import_module("bench.keep").Keeper(None if output is None else Path(output))
    try:
        keeper.prepare()
    except OSError as error:
        raise _unwritable(keeper, error) from None
    return keeper


def _unwritable(keeper: Any, error: OSError) -> UsageError:  # noqa: ANN401
    return UsageError(
        "PO0614",
        f"`{keeper.path}` cannot be written: {error.strerror}",
        hint="choose another --output",
    )


def _show(
    report: Any,  # noqa: ANN401
    render: Callable[[Any], str],
    as_json: bool,
    keeper: Any,  # noqa: ANN401
) -> None:
    """Print a report, and keep it."""
    if as_json:
        result_json(report.as_json())
    else:
        result(render(report))
    try:
        keeper.write(report.as_json())
    except OSError as error:
        raise _unwritable(keeper, error) from None


def _request(
    names: tuple[str, ...],
    size: str,
    threads: int | None,
    asked: tuple[str | None, str | None, str | None],
    limits: Mapping[str, Any],
) -> object:
    """Return the request of the suite `speed`: what is not asked for is everything."""
    suite = import_module("bench.speed.suite")
    registry = import_module("bench.peers.registry")
    dtype, fp, peers = asked
    known = import_module("workloads").names()
    wanted = tuple(name for name in (peers or "").split(",") if name)
    for kind, given, there in (("workload", names, known), ("peer", wanted, registry.PEERS)):
        for name in given:
            if name not in there:
                raise click.BadParameter(f"no {kind} {name}; there are {', '.join(there)}")
    most = len(os.sched_getaffinity(0))
    return suite.SpeedRequest(
        names=names or suite.names(),
        datasets=(size,),
        dtypes=(dtype or suite.OWN,),
        modes=suite.MODES if fp is None else (fp,),
        threads=tuple(sorted({1, most})) if threads is None else (threads,),
        peers=wanted,
        **limits,
    )


def _compare(before: Path, after: Path) -> int:
    """Print what changed between two kept runs; return 1 where something got slower."""
    runs = import_module("bench.speed.compare")
    for path in (before, after):
        if not is_readable(path, _MOST_BYTES):
            raise click.BadParameter(f"{path} is not a file of at most {_MOST_BYTES} bytes")
    try:
        found = runs.compare(runs.read(before), runs.read(after))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise click.BadParameter(f"not a run of the suite speed: {error}") from None
    result(runs.render(found))
    return 1 if found.is_worse else 0


def _chosen(workloads: ModuleType, names: tuple[str, ...], suite: str | None) -> tuple[str, ...]:
    """Return the names to run: those given, those of the suite, or all."""
    if suite is not None and suite not in workloads.SUITES:
        there = ", ".join((*workloads.SUITES, SPEED))
        raise click.BadParameter(f"no suite {suite}; there are {there}")
    known = workloads.names(suite)
    for name in names:
        if name not in known:
            raise click.BadParameter(f"no workload {name}; there are {', '.join(known)}")
    return names or tuple(known)


def checkout() -> Path:
    """Return the directory that holds `bench/` and `workloads/`."""
    beside = Path(polyopt.__file__).resolve().parent.parent
    for root in (Path.cwd(), beside):
        if (root / "bench" / "__main__.py").is_file() and (root / "workloads").is_dir():
            return root
    raise UsageError(
        "PO0616",
        "the comparison harness is not part of an installed package",
        hint="run it in a source checkout, the directory that holds bench/ and workloads/",
    )
