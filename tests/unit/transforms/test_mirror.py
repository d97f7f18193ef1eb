"""Mirror: symmetric sums for one triangle, what stands in the way, what the certificate refutes."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.dataclass import replace
from polyopt.emit.lower import lower
from polyopt.errors import ScheduleError
from polyopt.frontend import build, infer_types
from polyopt.ir.affine import condition_set
from polyopt.ir.expr import Compare, CompareOp, Const, Iter, Load, add, integer, rewrite
from polyopt.ir.program import Program
from polyopt.machine import Machine
from polyopt.proof import Verdict, certify
from polyopt.proof.mirroring import check_mirrored, is_mirrored
from polyopt.schedule import source_schedule
from polyopt.strategy import auto_schedule
from polyopt.transforms import parse_schedule

# ruff: noqa: F821, UP037 - sizes are named by strings


def gram(X: po.f64["N,M"]):
    return X.T @ X


def batched(X: po.f64["B,N,M"]):
    return X @ X.transpose(0, 2, 1)


def centred(X: po.f64["N,M"]):
    return X.T @ X / (X.shape[0] - 1)


def written(X: po.f64["N,M"], w: po.f64["N"]):
    H = np.empty((X.shape[1], X.shape[1]))
    for i in range(H.shape[0]):
        for j in range(H.shape[1]):
            H[i, j] = 1.5
            for k in range(X.shape[0]):
                H[i, j] += w[k] * (X[k, i] * X[k, j]) + (X[k, i] + X[k, j])
            H[i, j] /= X.shape[0]
    return H


EVERY = (gram, batched, centred, written)


def program_of(function) -> Program:
    return build(function, infer_types(function))


def mirrored(function, size=3):
    program = program_of(function)
    return program, parse_schedule(source_schedule(program.scop), f"mirror(S1, {size})")


def law_of(program, schedule) -> Program:
    (law,) = lower(schedule, program).laws
    return law


@pytest.mark.parametrize("function", EVERY, ids=lambda f: f.__name__)
def test_is_proven_by_the_law(function):
    program, schedule = mirrored(function)
    assert parse_schedule(source_schedule(program.scop), schedule.text).text == schedule.text
    loops = lower(schedule, program)
    certificate = certify(program, loops)
    assert certificate.is_proven, certificate
    assert certificate.claims[0].kind.value == "law"
    assert not certify(program, replace(loops, laws=())).is_proven


@pytest.mark.parametrize("function", EVERY, ids=lambda f: f.__name__)
@pytest.mark.toolchain
def test_results_are_those_of_the_source(function):
    """Loops in strict mode have the very bits."""
    rng = np.random.default_rng(2)
    kernel = po.kernel(function)
    for size in ((0, 0, 0), (1, 1, 1), (2, 5, 3), (3, 40, 61), (1, 3, 130)):
        X = rng.random(size if function is batched else size[1:])
        given = (X, rng.random(X.shape[0])) if function is written else (X,)
        with np.errstate(all="ignore"):
            found, expected = kernel(*given), function(*given)
        assert np.array_equal(found, np.swapaxes(found, -1, -2), equal_nan=True)
        if function is written:
            assert np.array_equal(found, expected, equal_nan=True)
        else:
            assert np.allclose(found, expected, equal_nan=True)
    assert "mirror(" in kernel.compile(*given).schedule_text


def two_arrays(X: po.f64["N,M"], Y: po.f64["N,M"]):
    return X.T @ Y


def weighted(X: po.f64["N,M"], w: po.f64["M"]):
    H = np.zeros((X.shape[1], X.shape[1]))
    for i in range(H.shape[0]):
        for j in range(H.shape[1]):
            for k in range(X.shape[0]):
                H[i, j] += w[j] * X[k, i] * X[k, j]
    return H


def begun(X: po.f64["N,M"], H: po.f64["M,M"]):
    for i in range(H.shape[0]):
        for j in range(H.shape[1]):
            for k in range(X.shape[0]):
                H[i, j] += X[k, i] * X[k, j]


def triangular(X: po.f64["N,M"]):
    H = np.zeros((X.shape[1], X.shape[1]))
    for i in range(H.shape[0]):
        for j in range(i + 1):
            for k in range(X.shape[0]):
                H[i, j] += X[k, i] * X[k, j]
    return H


def complex_product(X: po.c128["N,M"]):
    return X.T @ X


OTHERS = (two_arrays, weighted, begun, triangular, complex_product)


@pytest.mark.parametrize("function", OTHERS, ids=lambda f: f.__name__)
def test_others_are_refused(function):
    program = program_of(function)
    name = next(s.name for s in program.scop.statements if s.reduction is not None)
    with pytest.raises(ScheduleError) as caught:
        parse_schedule(source_schedule(program.scop), f"mirror({name}, 4)")
    assert caught.value.code == "PO0352"
    assert "mirror" not in auto_schedule(program.scop, Machine()).text


def changing(X: po.f64["N,M"]):
    """Terms of one triangle are read before they change, those of the other one after."""
    H = np.zeros((X.shape[1], X.shape[1]))
    for i in range(H.shape[0]):
        for j in range(H.shape[1]):
            for k in range(X.shape[0]):
                H[i, j] += X[k, i] * X[k, j]
        for k in range(X.shape[0]):
            X[k, i] = 0.5 * X[k, i]
    return H


def test_terms_that_change_are_refuted():
    program = program_of(changing)
    with pytest.raises(ScheduleError):
        parse_schedule(source_schedule(program.scop), "mirror(S1, 4)")


def _with(law: Program, name: str, **fields) -> Program:
    """Return a program with one statement changed."""
    statements = tuple(replace(s, **fields) if s.name == name else s for s in law.scop.statements)
    return replace(law, parts=(replace(law.scop, statements=statements),))


def _copy(law: Program):
    return next(s for s in law.scop.statements if s.name.endswith("_mirror"))


def _other_terms(law):
    """One operand moves with the other subscript."""
    value = law.scop.statement("S1").value

    def rule(part):
        return Iter("j") if part == Iter("i") else None

    return _with(law, "S1", value=replace(value, right=rewrite(value.right, rule)))


def _another_start(law):
    start = law.scop.statement("S0")
    return _with(law, "S0", value=Const(1.0, start.value.dtype))


def _fewer_sums(law):
    sums = law.scop.statement("S1")
    below = Compare(CompareOp.LT, Iter("j"), Iter("i"))
    domain = sums.domain.intersect(condition_set(below, sums.domain.get_space()))
    return _with(law, "S1", domain=domain)


def _fewer_copies(law):
    copy = _copy(law)
    above = Compare(CompareOp.GT, Iter("j"), add(Iter("i"), integer(5)))
    domain = copy.domain.intersect(condition_set(above, copy.domain.get_space()))
    return _with(law, copy.name, domain=domain)


def _other_copies(law):
    copy = _copy(law)
    assert isinstance(copy.value, Load)
    return _with(law, copy.name, value=replace(copy.value, index=(Iter("i"), Iter("i"))))


def _copies_first(law):
    copy = _copy(law)
    return _with(law, copy.name, order=(integer(-1), *copy.order[1:]))


FAULTS = (_other_terms, _another_start, _fewer_sums, _fewer_copies, _other_copies, _copies_first)


@pytest.mark.parametrize("function", [gram, centred], ids=lambda f: f.__name__)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_faults_are_refuted(function, fault):
    program, schedule = mirrored(function)
    law = law_of(program, schedule)
    assert is_mirrored(program, law)
    assert check_mirrored(program, law).verdict is Verdict.PROVEN
    assert check_mirrored(program, fault(law)).verdict is Verdict.REFUTED


def test_sums_that_are_not_symmetric_are_refuted():
    """The law that a defective step would make of a product of two arrays."""
    program, schedule = mirrored(gram)
    law = law_of(program, schedule)
    other = program_of(weighted)
    made = _with(law, "S1", value=other.scop.statement("S1").value)
    before = _with(program, "S1", value=other.scop.statement("S1").value)
    claim = check_mirrored(before, made)
    assert claim.verdict is Verdict.REFUTED


def iterated(X: po.f64["N,M"], steps: int):
    G = X.T @ X
    v = np.ones(X.shape[1])
    n = 0
    while n < steps and v[0] > 1e-300:
        v = G @ v
        v = v / np.sqrt(v @ v)
        n += 1
    return v


@pytest.mark.toolchain
def test_programs_of_several_parts_keep_their_tiles():
    text = po.kernel(iterated).compile(np.ones((3, 4)), 2).schedule_text
    assert "mirror(" not in text
    assert "tile(" in text
