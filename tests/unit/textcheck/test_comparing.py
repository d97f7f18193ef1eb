"""Emitted text read back: equal to its loops, and unequal after any small change."""

from __future__ import annotations

import os
from functools import cache
from random import Random

import pytest

from polyopt.cregion.syntax import parse_unit
from polyopt.emit import optimize_loops
from polyopt.emit.lower import lower
from polyopt.emit.text import emit_for_readers
from polyopt.ir.loops import LoopFunction
from polyopt.ir.scop import Scop
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.textcheck.comparing import Level, Uncompared, difference, may_run_so
from polyopt.textcheck.reading import functions_of
from polyopt.textcheck.tokens import is_same
from polyopt.transforms import parse_steps
from tests import scops
from tests.oracle.program import as_program
from tests.unit.textcheck.mutations import KINDS, mutated

COUNT = int(os.environ.get("POLYOPT_MUTATIONS", "500"))
CASES: dict[str, tuple[Scop, str]] = {
    "gemm": (scops.gemm(), ""),
    "tiled": (scops.gemm(), "tile(L0, 4, 5, 3)"),
    "parallel": (scops.gemm(), "parallelize(i)"),
    "tiles in parallel": (scops.gemm(), "tile(L0, 4, 5); parallelize(i_tile)"),
    "lanes": (scops.gemm(), "vectorize(j)"),
    "lanes in tiles": (scops.gemm(), "tile(L0, 4, 5, 3); parallelize(i_tile); vectorize(j)"),
    "jacobi": (scops.jacobi(), ""),
    "interchanged": (scops.jacobi(), "interchange(L1[0], L1[1])"),
}


@cache
def made(case: str) -> tuple[LoopFunction, str]:
    """Return the loops of a case and their text."""
    scop, steps = CASES[case]
    schedule = source_schedule(scop)
    for step in parse_steps(steps) if steps else ():
        schedule = schedule.apply(step)
    program = as_program(schedule.scop)
    machine = Machine(cores=2, vector_bytes=8)
    loops = optimize_loops(lower(schedule, program), machine, "strict")
    return loops, emit_for_readers(loops, "c", program, "").text


@pytest.mark.parametrize("case", CASES)
def test_text_of_its_loops(case: str) -> None:
    loops, text = made(case)
    assert difference(loops, text, "f.c") is None


def test_reductions_and_private_copies() -> None:
    """A clause that is missing, or of another operator, is seen."""
    levels = [Level(None, "i", (), 1, True, False, combined) for combined in (("+",), (), ("*",))]
    certified = levels[0]
    assert may_run_so((certified,), (certified,))
    assert not any(may_run_so((other,), (certified,)) for other in levels[1:])
    head = "int f(int n, double *s) { double t = 0;\n"
    rest = "for (int64_t i = 0; i < n; i++) t += s[i];\n s[0] = t; return 0; }"
    pragma = "#pragma omp parallel for collapse(1) reduction(+ : t) private(x)\n"
    (function,) = functions_of(parse_unit(f"{head}{pragma}{rest}".encode(), "f.c").root)
    loops = {one for access in function.accesses for one in access.place.loops}
    assert [one.reductions for one in loops] == [("+",)]


@cache
def changes() -> list[tuple[str, str, str]]:
    """Return cases, kinds of change, and texts with one."""
    found = []
    for number in range(20 * COUNT):
        rng = Random(number)
        case, kind = rng.choice(list(CASES)), rng.choice(list(KINDS))
        text = mutated(made(case)[1], kind, rng)
        if text is not None:
            found.append((case, kind, text))
        if len(found) == COUNT:
            break
    return found


def test_every_change_is_seen() -> None:
    missed = []
    for case, kind, text in changes():
        loops, whole = made(case)
        assert not is_same(text, whole)
        try:
            found = difference(loops, text, "f.c")
        except Uncompared:  # what cannot be read is not taken for what was certified
            continue
        if found is None:
            missed.append((case, kind))
    assert missed == []


def test_enough_changes_are_compared() -> None:
    seen = {kind for _, kind, _ in changes()}
    assert seen >= set(KINDS) - {"condition", "reduction"}
    assert len(changes()) == COUNT


@pytest.mark.parametrize(
    "one, two, same",
    [
        ("a = b + c;", "a  =\n b/* x */+c ; // end", True),
        ("a = b+ +c;", "a = b++c;", False),
        ("a = x/**/y;", "a = xy;", False),
        ("#pragma omp for\nf();", "#pragma   omp  for\n\n f();", True),
        ("#pragma omp for\nf();", "#pragma omp for f();", False),
        ("f();\n#pragma omp for\ng();", "f(); //#pragma omp for\ng();", False),
        ('s = "a  b";', 's = "a b";', False),
        ("f(); // x\ng();", "f(); // x \\\ng();", False),
        ("f(); /* */ g();", "f(); /* g(); */", False),
        ("x = 1.0e+5;", "x = 1.0e +5;", False),
        ("f(); // ??/\ng();", "f(); //\ng();", False),
        ("f(); // \\ \ng();", "f();\ng();", False),
        ("f(); // \\\r\ng();", "f();\ng();", False),
        ("f(); // \\\f\ng();", "f();\ng();", False),
        ("f(); // \\\0\ng();", "f();\ng();", False),
        ("f(); // \rh();\ng();", "f();\ng();", False),
        ("#define A 1 \r#define B 2\nf();", "#define A 1 #define B 2\nf();", False),
        ("f(); // x\r\ng();\r\n", "f();\ng();\n", True),
        ("f(); // \\ x\ng();", "f();\ng();", True),
        ("#pragma omp \\\n for\ng();", "#pragma omp for\ng();", True),
    ],
)
def test_tokens(one: str, two: str, same: bool) -> None:
    assert is_same(one, two) is same
    assert is_same(two, one) is same
