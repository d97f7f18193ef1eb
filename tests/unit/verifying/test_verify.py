"""Python as the oracle: what agrees, what is skipped, what a misreading is reported as."""

import json
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.cli.app import run
from polyopt.frontend.numpy.ufuncs import UFUNCS
from polyopt.frontend.reader.pyfunc import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Const, Param
from polyopt.ir.source import Check
from polyopt.verifying import verify_program
from polyopt.verifying.limits import TooLong, limited
from polyopt.verifying.sampling import Scale, sample

# ruff: noqa: F821 - sizes are named by strings


def scaled(C: po.f64["N,M"], A: po.f64["N,M"], alpha: float):
    n, m = C.shape
    for i in range(n):
        for j in range(m):
            C[i, j] = alpha * A[i, j] - C[i, j]
    return A.T @ C


@contextmanager
def swapped_differences() -> Iterator[None]:
    """Have the front end read `a - b` as `b - a`."""
    right = UFUNCS["subtract"]
    wrong = replace(right, rule=lambda args, out: right.rule(args[::-1], out))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(UFUNCS, "subtract", wrong)
        yield


def misread() -> Any:
    """Return the Program of `scaled` with another factor in it than the source's."""
    program = build(scaled, infer_types(scaled))
    scop = program.scops[0]
    first = scop.statements[0]
    wrong = replace(
        first, value=Binary(BinaryOp.ADD, first.value, first.target, first.target.dtype)
    )
    parts = tuple(
        replace(p, statements=(wrong, *scop.statements[1:])) if p is scop else p
        for p in program.parts
    )
    return replace(program, parts=parts)


def test_a_function_read_right_agrees_in_every_sample() -> None:
    found = po.kernel(scaled).verify(samples=20)
    assert found.ok
    assert found.samples + sum(skip.count for skip in found.skipped) == 20
    assert found.samples >= 18
    assert "samples agree" in str(found)


def test_python_gets_by_name_what_it_only_takes_so() -> None:
    def shifted(x: po.f64["N"], /, *, by: float = 1.0):
        return x + by

    found = po.kernel(shifted).verify(samples=5)
    assert found.ok
    assert found.samples == 5


def test_no_compiler_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYOPT_CC", "/nowhere/cc")
    assert po.kernel(scaled).verify(samples=2).ok


def test_the_same_seed_gives_the_same_outcome() -> None:
    kernel = po.kernel(scaled)
    assert kernel.verify(samples=6, seed=3) == kernel.verify(samples=6, seed=3)


def test_a_misread_function_is_reported_with_its_smallest_call() -> None:
    found = verify_program(scaled, misread(), infer_types(scaled))
    assert not found.ok
    assert found.mismatch is not None
    assert found.mismatch.element == "C[0, 0]"
    assert "array([[" in found.mismatch.call
    loc = found.mismatch.loc
    assert loc is not None
    text = Path(loc.file).read_text(encoding="utf-8").splitlines()[loc.line - 1]
    assert text.strip() == "C[i, j] = alpha * A[i, j] - C[i, j]"
    with pytest.raises(po.MisreadError) as error:
        found.raise_mismatch()
    assert error.value.code == "PO0920"
    assert "C[0, 0]" in str(error.value)


def positive(x: po.f64["N"]):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    assert total >= 0.0
    return total


def test_both_sides_may_raise() -> None:
    found = po.kernel(positive).verify(samples=30)
    assert found.ok
    assert 0 < found.raised < found.samples


def test_an_error_that_the_program_does_not_have_is_a_mismatch() -> None:
    program = build(positive, infer_types(positive))
    calls = iter(range(1000))

    def raising(x: Any) -> Any:
        if next(calls) % 2 == 0 and x.size:
            raise ValueError("none of the program's")
        return positive(x)

    found = verify_program(raising, program, infer_types(positive), samples=12)
    assert found.mismatch is not None
    assert "raises ValueError" in found.mismatch.want


def solved(a: po.f64["N,N"], b: po.f64["N"]):
    return np.linalg.solve(a, b) * 2.0


def test_library_calls_are_made_by_the_interpreter() -> None:
    found = po.kernel(solved).verify(samples=12)
    assert found.ok
    assert found.samples > 3


def divided(n: int, x: po.f64["N"]):
    return x * (1.0 / n)


def rooted(n: int, x: po.f64["N"]):
    return x * math.sqrt(n - 2.5)


def test_errors_of_pythons_own_floats_are_skipped() -> None:
    found = po.kernel(rooted).verify(samples=40)
    assert found.ok
    assert any("floats of its own" in skip.reason for skip in found.skipped)


def narrowed(x: po.f64["N"]):
    return x.astype(np.uint32)


def narrowed_wrong(x: po.f64["N"]):
    return (x + 1).astype(np.uint32)


def test_casts_that_the_processor_decides_are_skipped() -> None:
    found = po.kernel(narrowed).verify(samples=40)
    assert found.ok
    assert found.samples > 20
    assert any("becomes an integer" in skip.reason for skip in found.skipped)
    types = infer_types(narrowed)
    other = verify_program(narrowed, build(narrowed_wrong, types), types, 40)
    assert other.mismatch is not None
    assert "nan" not in other.mismatch.call


def endless(x: po.f64["N"]):
    k = 0
    while x[0] < 1.0:
        k += 1
    return k


def test_a_function_without_an_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyopt.verifying.verify.LONGEST", 0.05)
    found = po.kernel(endless).verify(samples=6)
    assert found.ok
    assert any("too long" in skip.reason for skip in found.skipped)


def test_a_call_is_ended_after_its_time() -> None:
    def spin() -> None:
        while True:
            pass

    started = time.perf_counter()
    with pytest.raises(TooLong):
        limited(spin, 0.05)
    assert time.perf_counter() - started < 5
    assert sys.gettrace() is None or "trace" not in repr(sys.gettrace())


def test_types_of_results_count() -> None:
    def halves(x: po.f32["N"]):
        return x / 2

    program = build(halves, infer_types(halves))
    found = verify_program(lambda x: halves(x).astype(float), program, infer_types(halves))
    assert found.mismatch is not None
    assert found.mismatch.want == "float64[0]"


def test_arguments_that_nothing_writes_must_stay() -> None:
    program = build(divided, infer_types(divided))

    def writing(n: Any, x: Any) -> Any:
        result = divided(n, x)
        x += 1.0
        return result

    found = verify_program(writing, program, infer_types(divided))
    assert found.mismatch is not None
    assert found.mismatch.element.startswith("x[")


def test_samples_satisfy_checks_and_hold_odd_numbers() -> None:
    types = infer_types(scaled)
    signature = build(scaled, types).signature
    rng = np.random.default_rng(0)
    drawn = [sample(signature, types, rng, Scale(5, odd=True)) for _ in range(30)]
    arrays = [v[0] for v in drawn if v is not None]
    assert len(arrays) == 30
    assert {a.shape[0] for a in arrays} >= {0, 1, 5}
    assert any(np.isnan(a).any() for a in arrays)
    assert any(np.isinf(a).any() for a in arrays)
    assert all(v is not None and v[0].shape == v[1].shape for v in drawn)


def test_sizes_are_repaired_where_a_check_says_how() -> None:
    types = infer_types(divided)
    signature = build(divided, types).signature
    (size,) = [s.param for s in signature.sizes if type(s).__name__ == "SizeOf"]
    asked = Compare(CompareOp.EQ, Param(size), Const(4, Param(size).dtype))
    narrow = replace(signature, checks=(Check(asked, "PO0203", "four"),))
    drawn = [sample(narrow, types, np.random.default_rng(n), Scale(5, odd=False)) for n in range(5)]
    assert [v[1].shape for v in drawn if v is not None] == [(4,)] * 5


# -- POLYOPT_VERIFY and the command ---------------------------------------------------------------


def difference(x: po.f64["N"], y: po.f64["N"]):
    return x - y


@pytest.mark.toolchain
def test_the_variable_compares_at_the_first_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYOPT_VERIFY", "1")
    monkeypatch.setenv("POLYOPT_CACHE", "0")
    with swapped_differences():
        kernel = po.kernel(difference)
        with pytest.raises(po.MisreadError):
            kernel(np.ones(3), np.zeros(3))
    assert po.kernel(difference)(np.ones(3), np.zeros(3)).tolist() == [1.0, 1.0, 1.0]


FILE = """
import numpy as np
import polyopt as po

def difference(x: po.f64["N"], y: po.f64["N"]):
    return x - y
"""


@pytest.fixture
def target(tmp_path: Path) -> str:
    path = tmp_path / "f.py"
    path.write_text(FILE, encoding="utf-8")
    return f"{path}:difference"


def test_the_command_tells_what_agrees(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", target, "--samples", "9"]) == 0
    assert capsys.readouterr().out.strip() == "difference(f64[:], f64[:]): 9 samples agree"
    assert run(["verify", target, "--samples", "9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 9


def test_the_command_ends_with_4_and_the_call(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with swapped_differences():
        assert run(["verify", target]) == 4
    shown = capsys.readouterr().err
    assert "error[PO0920]: `difference` as read gives result[0] = " in shown
    assert "return x - y" in shown
    assert "called with x=array([" in shown


@pytest.mark.toolchain
def test_run_verifies_on_demand(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", target, "--sizes", "N=4", "--repeat", "1", "--verify"]) == 0
    assert "20 samples agree" in capsys.readouterr().err


def _sum_of_few(b, x):
    total = 0
    for i in range(len(x)):
        total += x[i]
    return b + total


def test_a_type_that_is_another_where_a_loop_does_not_run_is_the_wider_one() -> None:
    found = po.kernel(_sum_of_few).verify(np.ones(2, np.float32), np.ones(3))
    assert found.mismatch is None
