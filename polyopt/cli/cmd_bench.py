"""`polyopt bench [NAMES…]`: compare with NumPy over the workloads of a source checkout.

In: names of workloads, or a suite, and a data set.  Out: a table; exit code 4 for a wrong result.
The suite `speed` compares with every peer that is installed; two kept runs of it can be compared.
Refuses: an installation without `bench/` and `workloads/` beside the package (PO0616).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
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
@click.option("--budget", type=float, default=1500.0, help="speed: seconds of timing for all.")
@click.option(
    "--isa",
    type=click.Choice(("v2", "v3", "v4")),
    help="Build everything, peers included, for a level of x86-64; default: for this processor.",
)
@click.option("--output", metavar="FILE", type=click.Path(), help="speed: keep the run as JSON.")
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
    budget: float,
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
    if suite == SPEED:
        seconds = 0.0 if prepare else budget
        request = _request(names, size, threads, (dtype, fp, peers), seconds)
        report = import_module("bench.speed.run").run(request, talk)
        _show(report, import_module("bench.speed.table").render, as_json, output)
        context.exit(report.exit_code)
    chosen = _chosen(import_module("workloads"), names, suite)
    short = import_module("bench.compare")
    report = short.compare(chosen, size, threads, talk)
    _show(report, short.render, as_json, output)
    context.exit(report.exit_code)


def _show(
    report: Any,  # noqa: ANN401
    render: Callable[[Any], str],
    as_json: bool,
    output: str | None,
) -> None:
    """Print a report, and keep it."""
    if output is not None:
        text = json.dumps(report.as_json(), indent=1) + "\n"
        try:
            Path(output).write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError("PO0614", f"`{output}` cannot be written: {error.strerror}") from None
    if as_json:
        result_json(report.as_json())
    else:
        result(render(report))


def _request(
    names: tuple[str, ...],
    size: str,
    threads: int | None,
    asked: tuple[str | None, str | None, str | None],
    seconds: float,
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
        seconds=seconds,
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
