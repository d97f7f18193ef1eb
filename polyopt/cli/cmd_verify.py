"""`polyopt verify FILE.py:FUNC`: the program as it was read against the Python function.

In: a target, types, how many samples.  Out: what was compared; exit 4 where they differ (PO0920).
No C compiler is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from polyopt.cli.console import result, result_json
from polyopt.cli.prepare import (
    Prepared,
    json_option,
    parse_sizes,
    prepare,
    sizes_option,
    target_argument,
    types_option,
)
from polyopt.dataclass import asdict

if TYPE_CHECKING:
    from polyopt.verifying import Verification


@click.command("verify")
@target_argument
@click.option("--samples", type=click.IntRange(min=1), default=100, help="Random calls.  [100]")
@click.option("--seed", type=int, default=0, help="Seed of the random values.  [0]")
@types_option
@sizes_option
@json_option
def command(
    target: str, samples: int, seed: int, types: str | None, sizes: str | None, as_json: bool
) -> None:
    """Compare a function as polyopt reads it with Python, on small random calls."""
    found = verified(prepare(target, types, parse_sizes(sizes)), samples, seed)
    if as_json:
        result_json(asdict(found))
    else:
        result(str(found))
    found.raise_mismatch()


def verified(prepared: Prepared, samples: int, seed: int) -> Verification:
    """Return how a function and its Program compare."""
    from polyopt.verifying import verify_program

    return verify_program(prepared.target.func, prepared.program, prepared.types, samples, seed)
