"""`polyopt bench …`: the comparison harness of a source checkout.

In: the harness's own arguments.  Out: its table and exit code.
Refuses: an installation without `bench/` and `workloads/` beside the package (PO0616).
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import click

import polyopt
from polyopt.errors import UsageError


@click.command(
    "bench",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Run the comparison harness; `polyopt bench --help` shows its arguments."""
    root = checkout()
    sys.path.insert(0, str(root))
    sys.argv = ["polyopt bench", *arguments]
    try:
        runpy.run_module("bench", run_name="__main__", alter_sys=False)
    except SystemExit as leave:
        context.exit(leave.code if isinstance(leave.code, int) else int(leave.code is not None))


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
