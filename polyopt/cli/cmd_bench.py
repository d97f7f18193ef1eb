"""`polyopt bench [NAMES…]`: compare with NumPy over the workloads of a source checkout.

In: names of workloads, or a suite, and a data set.  Out: a table; exit code 4 for a wrong result.
Refuses: an installation without `bench/` and `workloads/` beside the package (PO0616).
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import click

import polyopt
from polyopt.cli.console import result, result_json, talk
from polyopt.cli.prepare import json_option
from polyopt.errors import UsageError

DATASETS = ("MINI", "SMALL", "MEDIUM", "LARGE", "EXTRALARGE")


@click.command("bench")
@click.argument("names", nargs=-1)
@click.option("--suite", help="All workloads of a suite: polybench, learning, science.")
@click.option("--size", type=click.Choice(DATASETS), default="LARGE", show_default=True)
@click.option("--threads", type=click.IntRange(min=1), help="Most threads; default: all cores.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    names: tuple[str, ...],
    suite: str | None,
    size: str,
    threads: int | None,
    as_json: bool,
) -> None:
    """Compare polyopt with NumPy over the workloads of a source checkout."""
    root = str(checkout())
    if root not in sys.path:
        sys.path.insert(0, root)
    chosen = _chosen(import_module("workloads"), names, suite)
    compare = import_module("bench.compare")
    report = compare.compare(chosen, size, threads, talk)
    if as_json:
        result_json(report.as_json())
    else:
        result(compare.render(report))
    context.exit(report.exit_code)


def _chosen(workloads: ModuleType, names: tuple[str, ...], suite: str | None) -> tuple[str, ...]:
    """Return the names to run: those given, those of the suite, or all."""
    if suite is not None and suite not in workloads.SUITES:
        raise click.BadParameter(f"no suite {suite}; there are {', '.join(workloads.SUITES)}")
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
