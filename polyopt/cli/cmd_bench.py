"""`polyopt bench [NAME|FILE.py:FUNC…]`: compare with NumPy, or with every peer that is installed.

In: names of workloads, a suite and a data set, or a function and its sizes.  Out: a table, files;
exit code 4 for a wrong result.  Two kept runs can be compared.
Refuses: an installation that lacks `bench/` and `workloads/` (PO0616).
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click

import polyopt
from polyopt.cli.console import result, result_json, talk
from polyopt.cli.exits import Exit
from polyopt.cli.prepare import Seconds, json_option, sizes_option, types_option, values_options
from polyopt.dataclass import dataclass
from polyopt.errors import UsageError
from polyopt.files import is_readable
from polyopt.report.speed_page import speed_page
from polyopt.report.templates import require_jinja
from polyopt.runtime.toolchain import processor_features, require_level

SPEED = "speed"
_TARGET = re.compile(r"\.py(::?\w*)?$")  # FILE.py:FUNC, which no workload is called
_MOST_BYTES = 1 << 26  # of a kept run
DATASETS = ("MINI", "SMALL", "MEDIUM", "LARGE", "EXTRALARGE")


@dataclass(frozen=True, slots=True)
class _Asked:
    """The command line."""

    names: tuple[str, ...]
    suite: str | None
    size: str
    threads: int | None
    as_json: bool
    dtype: str | None
    fp: str | None
    peers: str | None
    prepare: bool
    budget: float | None
    wait: float
    output: str | None
    csv: str | None
    html: str | None
    sweep: str | None
    types: str | None
    sizes: str | None
    npz: str | None
    seed: int
    c_form: str | None

    @property
    def is_of_function(self) -> bool:
        """Whether a function of a file is compared, and not workloads."""
        return any(map(_TARGET.search, self.names))

    @property
    def is_speed(self) -> bool:
        """Whether every peer takes part: one option of that comparison asks for it."""
        given = (self.csv, self.html, self.sweep, self.peers, self.dtype, self.fp)
        return self.suite == SPEED or self.is_of_function or self.prepare or any(given)


@click.command("bench")
@click.argument("names", nargs=-1, metavar="[NAME|FILE.py:FUNC]...")
@click.option("--suite", help="All workloads of a suite: polybench, learning, science, speed.")
@click.option("--size", type=click.Choice(DATASETS), default="LARGE", show_default=True)
@click.option("--threads", type=click.IntRange(min=1), help="Most threads; default: all cores.")
@click.option("--dtype", type=click.Choice(("float64", "float32")), help="Element type.")
@click.option("--fp", type=click.Choice(("strict", "reassociate")), help="One mode only.")
@click.option("--peers", metavar="A,B", help="These peers only; default: all installed.")
@click.option("--install", metavar="A,B", help="Give libraries an environment each, and end.")
@click.option("--prepare", is_flag=True, help="Compile and check, time nothing.")
@click.option("--sweep", metavar="N=64..4096", help="Sizes, doubled; N=100..1000:100 for steps.")
@types_option
@sizes_option
@values_options
@click.option(
    "--c",
    "c_form",
    metavar="FILE.c",
    type=click.Path(exists=True, dir_okay=False),
    help="The same function in C, for gcc and clang.",
)
@click.option(
    "--budget",
    type=Seconds(min=0.0, min_open=True),
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
    "--clock",
    type=click.Choice(("wall", "processor")),
    help="processor: count what a call computes, for a busy machine and --threads 1.  [wall]",
)
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(),
    help="Keep the run as JSON, from its first row on.",
)
@click.option("--csv", metavar="FILE", type=click.Path(), help="Keep it as a table of values.")
@click.option("--html", metavar="FILE", type=click.Path(), help="Keep it as a page with plots.")
@click.option(
    "--compare",
    nargs=2,
    metavar="A B",
    type=click.Path(exists=True, dir_okay=False),
    help="Compare two kept runs; exit code 1 for what got slower.",
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    compare: tuple[str, str] | None,
    clock: str | None,
    isa: str | None,
    install: str | None,
    **given: Any,  # noqa: ANN401
) -> None:
    """Compare polyopt with NumPy over workloads, or with every peer that is installed.

    A function of a file, the suite speed, and options such as --peers, --sweep, --csv and --html
    compare with every peer.
    """
    root = str(checkout())
    if root not in sys.path:
        sys.path.insert(0, root)
    if compare is not None:
        context.exit(_compare(*map(Path, compare)))
    if install is not None:
        context.exit(_install(tuple(install.split(","))))
    if clock is not None:
        if clock == "processor" and given["threads"] != 1:
            raise click.BadParameter(f"--clock {clock} compares one thread: --threads 1")
        import_module("bench.clock").choose(clock)
        given["wait"] = 0.0 if clock == "processor" else given["wait"]
    if isa is not None:
        import_module("bench.levels").choose(isa)
        require_level(processor_features)
    asked = _Asked(**given)
    outputs = _outputs(asked)
    with tempfile.TemporaryDirectory(prefix="polyopt-bench-") as folder:
        report, render = _measured(asked, outputs, Path(folder))
    if asked.as_json:
        result_json(report.as_json())
    else:
        result(render(report))
    try:
        outputs.write(report)
    except import_module("bench.keep").Unwritable as error:
        raise _unwritable(error) from None
    context.exit(report.exit_code)


def _install(names: tuple[str, ...]) -> int:
    """Make an environment for each peer in Python that is named; return 3 where one fails."""
    _refuse_unknown("library", names, tuple(import_module("bench.peers.registry").PYTHON_PEERS))
    put = import_module("bench.peers.installing").install
    failed = sum(put(name) != 0 for name in names)
    return Exit.TOOLCHAIN if failed else Exit.OK


def _measured(asked: _Asked, outputs: Any, folder: Path) -> tuple[Any, Callable[[Any], str]]:  # noqa: ANN401
    """Return the report of a comparison, and what prints it."""
    if asked.is_speed:
        request = _request(asked, folder)
        report = import_module("bench.speed.run").run(request, talk, outputs)
        return report, import_module("bench.speed.table").render
    short = import_module("bench.compare")
    chosen = _chosen(import_module("workloads"), asked.names, asked.suite)
    report = short.compare(
        chosen, asked.size, asked.threads, talk, outputs, asked.budget, asked.wait
    )
    return report, short.render


def _outputs(asked: _Asked) -> Any:  # noqa: ANN401
    """Return the files of the run; refuses a place that cannot be written, before it begins."""
    keep = import_module("bench.keep")
    files = [keep.Output(Path(asked.output))] if asked.output is not None else []
    if asked.csv is not None:
        files.append(keep.Output(Path(asked.csv), import_module("bench.speed.sheet").sheet))
    if asked.html is not None:
        require_jinja()
        files.append(keep.Output(Path(asked.html), lambda report: speed_page(report.as_json())))
    outputs = keep.Outputs(tuple(files))
    try:
        outputs.prepare()
    except keep.Unwritable as error:
        raise _unwritable(error) from None
    return outputs


def _unwritable(error: Any) -> UsageError:  # noqa: ANN401
    return UsageError(
        "PO0614", f"`{error.path}` cannot be written: {error.reason}", hint="choose another file"
    )


def _request(asked: _Asked, folder: Path) -> object:
    """Return the request of a comparison with every peer: what is not asked for is everything."""
    suite = import_module("bench.speed.suite")
    registry = import_module("bench.peers.registry")
    peers = tuple(name for name in (asked.peers or "").split(",") if name)
    _refuse_unknown("peer", peers, registry.PEERS)
    if asked.is_of_function:
        peers = _of_functions(peers, has_c=asked.c_form is not None)
    most = len(os.sched_getaffinity(0))
    counts = tuple(sorted({1, most})) if asked.threads is None else (asked.threads,)
    more: dict[str, Any] = {
        "dtypes": (asked.dtype or suite.OWN,),
        "modes": suite.MODES if asked.fp is None else (asked.fp,),
        "threads": counts,
        "peers": peers,
        "is_timed": not asked.prepare,
        "budget": asked.budget,
        "patience": asked.wait,
        "sweep": _sweep(asked.sweep),
    }
    if asked.is_of_function:
        return suite.SpeedRequest((), **{**more, **_of_function(asked, more["sweep"], folder)})
    if asked.types or asked.sizes or asked.npz or asked.c_form:
        raise click.BadParameter("--types, --sizes, --npz and --c are for a function: FILE.py:FUNC")
    names = _chosen_for_speed(asked, suite)
    _refuse_unknown_sizes(names, more["sweep"])
    return suite.SpeedRequest(names, (asked.size,), **more)


def _of_functions(peers: tuple[str, ...], *, has_c: bool) -> tuple[str, ...]:
    """Return the peers of a user's function: NumPy is what runs it as Python."""
    compilers = import_module("bench.peers.ccode").C_PEERS
    for peer in peers:
        if peer in compilers and not has_c:
            raise click.BadParameter(f"{peer} compiles C: give the function's C form with --c")
    return tuple(dict.fromkeys("python" if peer == "numpy" else peer for peer in peers))


def _of_function(asked: _Asked, sweep: object, folder: Path) -> dict[str, Any]:
    """Write the function for the harness; return what differs from the request of workloads."""
    from polyopt.cli.bench_function import Wanted, write_function

    if len(asked.names) != 1 or asked.suite is not None:
        raise click.BadParameter("one function at a time: polyopt bench FILE.py:FUNC")
    if asked.dtype is not None:
        raise click.BadParameter("--dtype is for workloads; a function has --types")
    if asked.npz is not None and asked.sweep is not None:
        raise click.BadParameter("--npz gives the sizes that --sweep would change")
    (target,) = asked.names
    talk(f"{target}: compiled for its operations, values made")
    wanted = Wanted(
        target, asked.types, asked.sizes, asked.npz, asked.seed, sweep, asked.fp, asked.threads,
        asked.c_form,
    )  # fmt: skip
    begun = time.monotonic()
    options = write_function(wanted, folder, asked.budget)
    left = asked.budget
    if left is not None:
        left = max(1e-3, left - (time.monotonic() - begun))
    threads = options.threads or len(os.sched_getaffinity(0))
    return {"modes": (options.fp.value,), "threads": (threads,), "function": folder, "budget": left}


def _sweep(text: str | None) -> Any:  # noqa: ANN401
    try:
        return None if text is None else import_module("bench.sweeps").parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _chosen_for_speed(asked: _Asked, suite: ModuleType) -> tuple[str, ...]:
    """Return the names to run: those given, those of a suite, or those of the suite speed."""
    workloads = import_module("workloads")
    if asked.suite is not None and asked.suite != SPEED:
        return _chosen(workloads, asked.names, asked.suite)
    _refuse_unknown("workload", asked.names, workloads.names())
    names: tuple[str, ...] = asked.names or suite.names()
    return names


def _refuse_unknown(kind: str, given: tuple[str, ...], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise click.BadParameter(f"no {kind} {name}; there are {', '.join(known)}")


def _refuse_unknown_sizes(names: tuple[str, ...], sweep: Any) -> None:  # noqa: ANN401
    """Refuse a sweep over a size that a workload lacks."""
    workloads = import_module("workloads")
    for name in names if sweep is not None else ():
        known = workloads.get(name).parameters
        for size in sweep.names:
            if size not in known:
                raise click.BadParameter(f"{name} has no size {size}; it has {', '.join(known)}")


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
        raise click.UsageError(f"there is no suite {suite}: choose among {there}")
    known = workloads.names(suite)
    for name in names:
        if name not in known:
            raise click.BadParameter(f"no workload {name}; there are {', '.join(known)}")
    return names or tuple(known)


def checkout() -> Path:
    """Return the directory that holds `bench/` and `workloads/`: of a checkout, or as installed."""
    package = Path(polyopt.__file__).resolve().parent
    for root in (Path.cwd(), package.parent, package / "harness"):
        if (root / "bench" / "__main__.py").is_file() and (root / "workloads").is_dir():
            return root
    raise UsageError(
        "PO0616",
        "the comparison harness is not part of this installation",
        hint="install a wheel of polyopt, which has it, or run the command in a source checkout",
    )
