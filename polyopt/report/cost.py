"""What a kernel costs, in words: predicted, and measured where that was asked for.

In: a `Prediction`, sizes, the measured seconds or None.  Out: lines; plain data for JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polyopt.model.predict import Limit, Prediction

UNITS = {
    "arithmetic": "operations of vectors and single numbers",
    "instructions": "instructions",
    "latency": "cycles",
    "branches": "cycles",
}
LONGEST = 100  # characters of a formula; longer ones tell nobody anything


def cost_lines(
    found: Prediction, sizes: Mapping[str, int], is_measured: bool, seconds: float | None
) -> tuple[str, ...]:
    """Return the words for `polyopt explain --cost`."""
    return tuple(_lines(found, sizes, is_measured, seconds))


def _lines(
    found: Prediction, sizes: Mapping[str, int], is_measured: bool, seconds: float | None
) -> Iterator[str]:
    at = ", ".join(f"{name} = {value}" for name, value in sizes.items())
    yield f"at {at or 'no sizes'}: {found.operations.value:.4g} floating-point operations"
    yield from _formula(found.operations.formula)
    for limit in found.limits:
        if limit.amount.value > 0:
            yield f"{limit.name}: {_show(limit)}, {show_time(limit.seconds)}"
            yield from _formula(limit.amount.formula)
    if found.overhead:
        yield f"starting threads: {show_time(found.overhead)}"
    speeds = "measured speeds" if is_measured else "speeds of a usual machine"
    guess = ", lengths that data decides guessed" if found.is_guess else ""
    binding = found.binding.name
    yield f"predicted: {show_time(found.seconds)}, bound by {binding}, from {speeds}{guess}"
    if seconds is not None:
        longer = seconds / max(found.seconds, 1e-12)
        yield f"measured: {show_time(seconds)}, {longer:.2f} times as long"


def cost_record(
    found: Prediction, sizes: Mapping[str, int], seconds: float | None
) -> dict[str, object]:
    """Return the same as plain data."""
    limits = [
        {
            "name": limit.name,
            "amount": limit.amount.value,
            "formula": show_formula(limit.amount.formula),
            "seconds": limit.seconds,
        }
        for limit in found.limits
    ]
    return {
        "sizes": dict(sizes),
        "operations": found.operations.value,
        "formula": show_formula(found.operations.formula),
        "limits": limits,
        "binding": found.binding.name,
        "predicted": found.seconds,
        "measured": seconds,
        "is_guess": found.is_guess,
    }


def _show(limit: Limit) -> str:
    unit = UNITS.get(limit.name, "bytes")
    return f"{limit.amount.value:.4g} {unit}"


def _formula(formula: object) -> Iterator[str]:
    text = show_formula(formula)
    if text and len(text) <= LONGEST:
        yield f"    = {text}"


def show_formula(formula: object) -> str:
    """Return a formula with its terms collected; numbers alone say nothing new."""
    import sympy

    expanded = sympy.expand(sympy.nsimplify(formula, rational=True))
    return str(expanded) if expanded.free_symbols else ""


def show_time(seconds: float) -> str:
    """Return a time with its unit."""
    if seconds >= 1.0:
        return f"{seconds:.4g} s"
    return f"{seconds * 1e3:.4g} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.4g} us"
