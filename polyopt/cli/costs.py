"""The cost of a compiled function for `polyopt explain`: predicted, and measured on request.

In: a prepared target, its compilation, options, sizes.  Out: a section's lines, a record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from polyopt.cli.prepare import Prepared
from polyopt.dataclass import dataclass
from polyopt.errors import ToolchainError

if TYPE_CHECKING:
    from polyopt.model.predict import Prediction
    from polyopt.pipeline import Compilation
    from polyopt.targets import Options

ROUNDS = 5


@dataclass(frozen=True, eq=False)
class Cost:
    """A prediction for sizes; `seconds` is what a call took, if it was asked for."""

    prediction: Prediction
    sizes: Mapping[str, int]
    is_measured: bool
    seconds: float | None

    def lines(self) -> tuple[str, ...]:
        """Return the section's lines."""
        from polyopt.report.cost import cost_lines

        return cost_lines(self.prediction, self.sizes, self.is_measured, self.seconds)

    def to_record(self) -> dict[str, object]:
        """Return plain data."""
        from polyopt.report.cost import cost_record

        return cost_record(self.prediction, self.sizes, self.seconds)


def cost_of(
    prepared: Prepared,
    compilation: Compilation,
    options: Options,
    given: Mapping[str, int],
    measure: bool,
) -> Cost:
    """Return what a call with these sizes costs; raises `UsageError` for sizes that do not fit."""
    import sympy

    from polyopt.cli.inputs import random_values
    from polyopt.measuring.rates import rates_of
    from polyopt.model.amount import Amount
    from polyopt.model.predict import predict
    from polyopt.pipeline import machine_for
    from polyopt.runtime.store import open_store
    from polyopt.runtime.toolchain import find_compiler
    from polyopt.sizing import choose_sizes
    from polyopt.targets import detect_machine

    signature = prepared.program.signature
    chosen = choose_sizes(signature, prepared.target.func, given)
    sizes = {name: chosen[name] for name in compilation.loops.params if name in chosen}
    amounts = {name: Amount(value, sympy.Symbol(name)) for name, value in sizes.items()}
    store, machine = open_store(), machine_for(options, detect_machine())
    try:
        compiler = find_compiler(store, options.compiler)
    except ToolchainError:
        compiler = None
    rates = rates_of(detect_machine(), store, compiler)
    prediction = predict(compilation.loops, amounts, machine, rates)
    values = random_values(signature, chosen, 0) if measure else ()
    seconds = _seconds(prepared.target.func, options, values) if measure else None
    return Cost(prediction, sizes, rates.is_measured, seconds)


def _seconds(func: Callable[..., Any], options: Options, values: tuple[Any, ...]) -> float:
    """Return the median time of a call, on copies of the values."""
    from statistics import median

    from polyopt.api import Kernel
    from polyopt.tuning.timing import Copies

    compiled = Kernel(func, options).compile(*values)
    copies = Copies(values, range(len(values)))
    copies.seconds(compiled)
    return median(copies.seconds(compiled) for _ in range(ROUNDS))
