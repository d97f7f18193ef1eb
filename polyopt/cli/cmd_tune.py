"""`polyopt tune FILE.py:FUNC`: search for a faster schedule by measuring, and keep it.

In: a target, sizes or an .npz file, seconds.  Out: the best schedule and how much it helps; kernels
of the function use it from then on.  Refuses: what `run` refuses; calls on shared memory (PO0227).
"""

from __future__ import annotations

import click

from polyopt.cli.console import result, result_json
from polyopt.cli.prepare import (
    Seconds,
    compile_options,
    json_option,
    make_options,
    sizes_option,
    target_and_values,
    target_argument,
    types_option,
    values_options,
)


@click.command("tune")
@target_argument
@click.option(
    "--seconds",
    type=Seconds(1.0, 86_400.0),
    metavar="SECONDS",
    default=60.0,
    help="How long to search.  [60]",
)
@click.option(
    "--save",
    metavar="FILE.jsonl",
    type=click.Path(dir_okay=False),
    help="Add what was found to a file, too; POLYOPT_TUNINGS=FILE.jsonl uses it.",
)
@values_options
@types_option
@sizes_option
@compile_options
@json_option
def command(
    target: str,
    seconds: float,
    save: str | None,
    npz: str | None,
    seed: int,
    types: str | None,
    sizes: str | None,
    as_json: bool,
) -> None:
    """Measure schedules on random or given values, and keep the fastest for later kernels."""
    from polyopt.api import Kernel

    loaded, values = target_and_values(target, types, sizes, npz, seed)
    options = make_options(loaded.kernel).changed({"tune": None})
    kernel = Kernel(loaded.func, options)
    found = kernel.tune(seconds, *values)
    if save is not None:
        from polyopt.tuning.saved import append

        append(save, loaded.func, kernel.compile(*values).types, options, found.record())
    if as_json:
        result_json({"function": loaded.name, **found.record()})
        return
    result("\n".join([f"{loaded.name}: {found.lines()[0]}", *found.lines()[1:], "", found.text]))
