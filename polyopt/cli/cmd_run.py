"""`polyopt run FILE.py:FUNC`: compile, call on random or stored values, time, compare.

In: a target, sizes or an .npz file.  Out: times on stdout, results in `--out`, exit 4 when wrong.
Refuses: values that do not fit the function.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import click

from polyopt.cli.console import result, result_json, talk
from polyopt.cli.prepare import (
    compile_options,
    json_option,
    make_options,
    sizes_option,
    target_and_values,
    target_argument,
    types_option,
    values_options,
)
from polyopt.dataclass import dataclass
from polyopt.errors import KernelFault, PolyoptError, UsageError
from polyopt.files import write_whole

if TYPE_CHECKING:
    from polyopt.ir.program import Program
    from polyopt.numerics.compare import Comparison


@click.command("run")
@target_argument
@values_options
@click.option("--out", metavar="FILE", help="Write results and written arrays to an .npz file.")
@click.option("--check", is_flag=True, help="Compare with the undecorated function.")
@click.option(
    "--verify", is_flag=True, help="Compare the program as it was read with Python, on small calls."
)
@click.option("--repeat", type=click.IntRange(min=1), default=3, help="Timed calls.  [3]")
@types_option
@sizes_option
@compile_options
@json_option
def command(
    target: str,
    npz: str | None,
    out: str | None,
    check: bool,
    verify: bool,
    repeat: int,
    seed: int,
    types: str | None,
    sizes: str | None,
    as_json: bool,
) -> None:
    """Compile a function and run it on random or given values."""
    from polyopt.api import Kernel
    from polyopt.frontend.syntax.annotations import by_position
    from polyopt.numerics.results import named_results

    loaded, values = target_and_values(target, types, sizes, npz, seed)
    options = make_options(loaded.kernel)
    kernel = Kernel(loaded.func, options.changed({"tune": None}))
    started = time.perf_counter()
    compiled = kernel.compile(*values)
    run = _Run(loaded.name, values, time.perf_counter() - started)
    timed = run.repeat(compiled, repeat)
    comparisons = None
    if check:
        comparisons = _check(run, timed, by_position(loaded.func), compiled.program)
    if verify:
        verification = kernel.verify(seed=seed)
        talk(str(verification))
        verification.raise_mismatch()
    if out is not None:
        _save(Path(out), named_results(compiled.program, timed.arguments, timed.returned))
    _print(run, timed, comparisons, as_json)


@dataclass(frozen=True, slots=True)
class _Timed:
    """The state after the last call, and how long the calls took."""

    arguments: tuple[Any, ...]
    returned: object
    seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Run:
    """What is run."""

    name: str
    values: tuple[Any, ...]
    compile_seconds: float

    def repeat(self, func: Callable[..., object], count: int) -> _Timed:
        """Call `func` on fresh copies of the values, `count` times."""
        seconds = []
        for _ in range(count):
            arguments = copy.deepcopy(self.values)
            started = time.perf_counter()
            returned = self._call(func, arguments)
            seconds.append(time.perf_counter() - started)
        return _Timed(arguments, returned, tuple(seconds))

    def _call(self, func: Callable[..., object], arguments: tuple[Any, ...]) -> object:
        """Call `func`; what it raises of its own is a failure of the program, not of polyopt."""
        try:
            return func(*arguments)
        except PolyoptError:
            raise
        except Exception as error:
            raise KernelFault(
                "PO0236",
                f"`{self.name}` raised {type(error).__name__}: {error}",
                hint="pass values that it takes, with --npz, or choose other sizes",
            ) from error


def _check(
    run: _Run, timed: _Timed, func: Callable[..., object], program: Program
) -> tuple[_Timed, list[Comparison]]:
    import numpy as np

    from polyopt.cli.compare import judge
    from polyopt.numerics.results import named_results

    with np.errstate(all="ignore"):
        reference = run.repeat(func, 1)
    got = named_results(program, timed.arguments, timed.returned)
    want = named_results(program, reference.arguments, reference.returned)
    return reference, judge(program, run.values, got, want)


def _save(path: Path, arrays: dict[str, Any]) -> None:
    import numpy as np

    try:
        write_whole(path, lambda stream: np.savez(stream, **arrays))
    except OSError as error:
        raise UsageError(
            "PO0614", f"`{path}` cannot be written: {error.strerror}", hint="choose another --out"
        ) from None


def _print(
    run: _Run, timed: _Timed, check: tuple[_Timed, list[Comparison]] | None, as_json: bool
) -> None:
    shapes = [list(getattr(value, "shape", ())) for value in run.values]
    record: dict[str, Any] = {
        "function": run.name,
        "shapes": shapes,
        "compile_seconds": run.compile_seconds,
        "seconds": list(timed.seconds),
    }
    lines = [
        f"{run.name}({', '.join(_describe(value) for value in run.values)})",
        f"  compile   {show_seconds(run.compile_seconds)}",
        f"  run       {show_seconds(median(timed.seconds))}"
        f"   median of {len(timed.seconds)}, fastest {show_seconds(min(timed.seconds))}",
    ]
    if check is not None:
        reference, comparisons = check
        record["reference_seconds"] = reference.seconds[0]
        record["comparisons"] = [comparison.to_record() for comparison in comparisons]
        ratio = reference.seconds[0] / max(median(timed.seconds), 1e-9)
        lines.append(f"  python    {show_seconds(reference.seconds[0])}   speed-up {ratio:.3g}")
        lines += [f"  check     {_verdict(c)}" for c in comparisons]
    if as_json:
        result_json(record)
    else:
        result("\n".join(lines))


def _verdict(comparison: Comparison) -> str:
    name = comparison.name
    if comparison.bitwise:
        return f"{name}: bitwise equal" + (", as it must be" if comparison.is_exact else "")
    text = (
        f"{name}: largest error {comparison.error:.2g}, at most {comparison.used:.1%} of its bound"
    )
    if comparison.unbounded:
        text += f"; no bound for {comparison.unbounded} of {comparison.elements} elements"
    return text


def _describe(value: object) -> str:
    shape = getattr(value, "shape", None)
    if shape is None:
        return f"{value:.6g}" if isinstance(value, float) else repr(value)
    return f"{getattr(value, 'dtype', '')}[{', '.join(map(str, shape))}]"


def show_seconds(value: float) -> str:
    """Return a time with a fitting unit."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"
