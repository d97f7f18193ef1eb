"""`polyopt tune FILE.py:FUNC`: search for a faster schedule by measuring, and keep it.

In: a target, sizes or an .npz file, seconds.  Out: the best schedule and how much it helps; kernels
of the function use it from then on.  Refuses: what `run` refuses; calls on shared memory (PO0227).
"""

from __future__ import annotations

from pathlib import Path

import click

from polyopt.cli.console import result, result_json
from polyopt.cli.load import load_target
from polyopt.cli.prepare import (
    compile_options,
    json_option,
    make_options,
    prepare,
    sizes_option,
    target_argument,
    types_option,
)
from polyopt.cli.typespec import parse_sizes
from polyopt.dataclass import asdict


@click.command("tune")
@target_argument
@click.option(
    "--seconds",
    type=click.FloatRange(1.0, 86_400.0),
    default=60.0,
    help="How long to search.  [60]",
)
@click.option(
    "--npz",
    metavar="FILE",
    help="Take the arguments from an .npz file, by name, or the only one from an .npy file.",
)
@click.option("--seed", type=int, default=0, help="Seed of the random values.  [0]")
@types_option
@sizes_option
@compile_options
@json_option
def command(
    target: str,
    seconds: float,
    npz: str | None,
    seed: int,
    types: str | None,
    sizes: str | None,
    threads: int | None,
    fp: str | None,
    schedule: str | None,
    as_json: bool,
) -> None:
    """Measure schedules on random or given values, and keep the fastest for later kernels."""
    from polyopt.api import Kernel
    from polyopt.cli.inputs import choose_sizes, random_values
    from polyopt.cli.stored import stored_values

    given = parse_sizes(sizes)
    if npz is not None:
        loaded = load_target(target)
        values = stored_values(loaded.func, Path(npz))
    else:
        prepared = prepare(target, types, given)
        loaded = prepared.target
        chosen = choose_sizes(prepared.program.signature, loaded.func, given)
        values = random_values(prepared.program.signature, chosen, seed)
    options = make_options(fp, threads, schedule, loaded.kernel).changed({"tune": None})
    found = Kernel(loaded.func, options).tune(seconds, *values)
    if as_json:
        result_json({"function": loaded.name, **asdict(found)})
        return
    result("\n".join([f"{loaded.name}: {found.lines()[0]}", *found.lines()[1:], "", found.text]))
