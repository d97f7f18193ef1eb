"""A random program by its seed.

In: a seed.  Out: a `HostileProgram`; the same one for the same seed on every machine.
Programs that raise in every call are seldom kept.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

from tests.hostile import arrays, functions, loops, scalars, statements  # noqa: F401  productions
from tests.hostile.grammar import COMPLEXES, FLOATS, INTEGERS, ORDINARY, Kind, Maker
from tests.hostile.program import HostileProgram, arguments, loaded
from tests.hostile.reference import Ended, Raised, TooLong, run_bounded
from tests.hostile.results import give_back
from tests.hostile.values import Parameter, call_text

TRIES = 12
RAISING = 0.12
"""Share of the programs that raise in every call that are kept."""
CALLS = 4


def generate(seed: int, directory: Path | None = None) -> HostileProgram:
    """Return the program of a seed."""
    if directory is None:
        with tempfile.TemporaryDirectory() as temporary:
            return generate(seed, Path(temporary))
    rng = Random(f"hostile {seed}")
    while True:
        program = _candidate(rng, seed)
        ended = _ends(program, directory)
        if any(isinstance(end, TooLong) for end in ended):
            continue
        raises = all(isinstance(end, Raised) for end in ended)
        if not raises or (not _is_refused(ended) and rng.random() < RAISING):
            return program


def _is_refused(ended: list[Ended]) -> bool:
    """Tell whether Python's compiler refuses the text."""
    return isinstance(ended[0], Raised) and isinstance(ended[0].error, SyntaxError)


def is_ordinary(seed: int) -> bool:
    """Tell whether the program of a seed is meant to be ordinary code."""
    return Random(f"hostile or not {seed}").random() < ORDINARY


def _ends(program: HostileProgram, directory: Path) -> list[Ended]:
    try:
        with loaded(program, directory) as function:
            return [run_bounded(function, arguments(call)) for call in program.calls]
    except SyntaxError as error:  # a name that is used before `:=` gives it another scope
        return [Raised(error)] * len(program.calls)


def _candidate(rng: Random, seed: int) -> HostileProgram:
    maker = Maker(Random(rng.random()), is_ordinary(seed))
    parameters = _parameters(maker)
    _begin(maker, parameters)
    while maker.budget > 0:
        maker.make("statement", 2)
    if maker.chance(0.9) or (maker.returns and not maker.chance(maker.hostility)):
        maker.line(f"return {give_back(maker)}")
    head = ", ".join(p.name + (f"={p.default}" if p.default else "") for p in parameters)
    imports = ["import math", "", "import numpy as np", *maker.imports]
    text = "\n".join(imports) + "\n\n\n"
    text += "".join(f"{helper}\n\n" for helper in maker.prelude)
    text += f"def f({head}):\n" + "\n".join(maker.lines) + "\n"
    calls = tuple(
        call_text(maker.rng, parameters, number, special=number == CALLS - 1)
        for number in range(CALLS)
    )
    modules = {**maker.modules, "main": text}
    return HostileProgram(modules, calls, seed, frozenset(maker.used))


def _parameters(m: Maker) -> list[Parameter]:
    found = [Parameter("a", _array_kind(m, ("N",) if m.chance(0.7) else ("N", "M")))]
    for name in ("b", "c"):
        if m.chance(0.45):
            kind = found[0].kind
            if not m.chance(0.4):
                kind = _array_kind(m, m.rng.choice((("N",), ("N",), ("N", "M"), ("M",))))
            found.append(Parameter(name, kind))
    if m.chance(0.5):
        found.append(Parameter("n", Kind(_integer_kind(m))))
    if m.chance(0.4):
        found.append(Parameter("x", Kind(_float_kind(m))))
    if m.chance(0.12):
        found.append(Parameter("flag", Kind("bool"), default=m.pick("", "False", "True")))
    if m.chance(0.04 + 0.15 * m.hostility) and not found[-1].default:
        found.append(Parameter("z", Kind(m.pick("complex", "complex128"))))
    return found


def _array_kind(m: Maker, dims: tuple[str, ...]) -> Kind:
    if m.ordinary:
        return Kind(m.pick(*("float64",) * 20, *("int64",) * 5, "float32", "float32",
                           "int32", "int32", "complex128", "bool"), dims)  # fmt: skip
    return Kind(m.pick("float64", *INTEGERS, *FLOATS, *COMPLEXES, "bool", "float64", "int64"), dims)


def _integer_kind(m: Maker) -> str:
    return m.pick(*INTEGERS) if m.chance(0.4 * m.hostility) else "int"


def _float_kind(m: Maker) -> str:
    return m.pick(*FLOATS) if m.chance(0.4 * m.hostility) else "float"


def _begin(m: Maker, parameters: list[Parameter]) -> None:
    for parameter in parameters:
        m.bind(parameter.name, parameter.kind)
        for axis, dim in enumerate(parameter.kind.dims):
            known = m.scope.lengths.setdefault(dim, [])
            known.append(f"{parameter.name}.shape[{axis}]")
            if axis == 0:
                known.append(f"len({parameter.name})")
            if len(known) < 3 and m.chance(0.3):
                name = f"size_{dim.lower()}"
                m.line(f"{m.bind(name, Kind('int'))} = {known[0]}")
                m.scope.frozen.add(name)
                m.scope.lengths[dim] = [name]
    m.scope.lengths.setdefault("N", ["3"])
