"""Online: maxima and sums of exponentials in one loop over blocks, what stands in the way, and what
the certificate says of sums that are scaled wrongly.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import polyopt as po
from polyopt.dataclass import replace
from polyopt.emit.lower import lower
from polyopt.errors import ScheduleError
from polyopt.frontend import build, infer_types
from polyopt.ir.expr import Binary, BinaryOp, Const, Iter, Load, add, integer, rewrite
from polyopt.ir.program import Program
from polyopt.ir.scop import Scop, Statement
from polyopt.pipeline import with_mode
from polyopt.proof import Verdict, certify
from polyopt.proof.rescaling import check_rescaled
from polyopt.schedule import source_schedule
from polyopt.schedule.running_sums import maxima
from polyopt.targets import FpMode, Options
from polyopt.transforms import parse_schedule

# ruff: noqa: F821, UP037 - sizes are named by strings


def attention(q: po.f64["T,D"], k: po.f64["S,D"], v: po.f64["S,D"]):
    s = q @ k.T
    w = np.exp(s - np.max(s, axis=1, keepdims=True))
    return (w / np.sum(w, axis=1, keepdims=True)) @ v


def softmax(x: po.f64["T,S"]):
    w = np.exp(x - np.max(x, axis=1, keepdims=True))
    return w / np.sum(w, axis=1, keepdims=True)


def log_sum_exp(x: po.f64["T,S"]):
    top = np.max(x, axis=1)
    return top + np.log(np.sum(np.exp(x - top[:, None]), axis=1))


def powers_of_two(x: po.f32["T,S"]):
    w = np.exp2(x - np.max(x, axis=1, keepdims=True))
    return w / np.sum(w, axis=1, keepdims=True)


def causal(q: po.f64["T,D"], k: po.f64["T,D"], v: po.f64["T,D"]):
    step = np.arange(q.shape[0])
    s = np.where(step[:, None] >= step, q @ k.T, -np.inf)
    w = np.exp(s - np.max(s, axis=1, keepdims=True))
    return (w / np.sum(w, axis=1, keepdims=True)) @ v


def program_of(function, fp=FpMode.REASSOCIATE) -> Program:
    return with_mode(build(function, infer_types(function)), Options(fp=fp))


@cache
def carried(function, rows=4, columns=8):
    """Return the program, and its schedule after the step."""
    program = program_of(function)
    (top,) = maxima(program.scop)
    step = f"online({top.name}, {rows}, {columns})"
    return program, parse_schedule(source_schedule(program.scop), step)


def with_weights(x: po.f64["T,S"]):
    top = np.max(x, axis=1)
    w = np.exp(x - top[:, None])
    return w, top + np.log(np.sum(w, axis=1))


def cross_entropy(x: po.f64["T,S"], label: po.i64["T"]):
    top = np.max(x, axis=1, keepdims=True)
    logs = x - top - np.log(np.sum(np.exp(x - top), axis=1, keepdims=True))
    return -np.mean(logs[np.arange(x.shape[0]), label])


def entropy(x: po.f64["T,S"]):
    top = np.max(x, axis=1, keepdims=True)
    total = np.sum(np.exp(x - top), axis=1)
    mean = np.sum(np.exp(x - top) * x, axis=1) / total
    return np.log(total) + top[:, 0] - mean


def written_as_loops(x: po.f64["T,S"]):
    out = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(1, x.shape[1]):
            top = max(top, x[i, j])
        total = 0.0
        for j in range(x.shape[1]):
            total += np.exp(x[i, j] - top)
        out[i] = np.log(total) + top
    return out


def softmax_as_loops(x: po.f64["T,S"]):
    out = np.empty(x.shape)
    for i in range(x.shape[0]):
        top = -np.inf
        for j in range(x.shape[1]):
            if x[i, j] > top:
                top = x[i, j]
        total = 0.0
        for j in range(x.shape[1]):
            out[i, j] = np.exp(x[i, j] - top)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total
    return out


INLINE = (log_sum_exp, cross_entropy, entropy, written_as_loops)
EVERY = (
    attention, softmax, powers_of_two, with_weights, causal, *INLINE, softmax_as_loops,
)  # fmt: skip


@pytest.mark.parametrize("function", EVERY, ids=lambda f: f.__name__)
def test_is_proven_by_the_law(function):
    program, schedule = carried(function)
    loops = lower(schedule, program)
    assert len(loops.laws) == 1
    certificate = certify(program, loops)
    assert certificate.is_proven, certificate
    assert certificate.claims[0].kind.value == "law"
    without = certify(program, replace(loops, laws=()))
    assert not without.is_proven


def test_no_rows_of_scores_are_kept():
    program, schedule = carried(attention)
    loops = lower(schedule, program)
    large = [a.name for a in loops.arrays if a.role.value == "temp" and len(a.shape) > 1]
    from polyopt.ir.expr import Param
    from polyopt.ir.loops import DeclareArray
    from polyopt.ir.nodes import all_nodes

    local = [node.array for node in all_nodes(loops.body) if isinstance(node, DeclareArray)]
    kept = [a for a in (*local, *loops.arrays) if a.name in ("s", "w_run")]
    assert kept
    assert not [a for a in kept for extent in a.shape if isinstance(extent, Param)], large


def test_blocks_right_of_a_triangle_are_left_out():
    _, schedule = carried(causal)
    keep = schedule.scop.statement("run_keep").domain
    assert str(keep).count("8b <= i") == 1


# -- refusals -----------------------------------------------------------------------------------


def refused(function, step: str, fp=FpMode.REASSOCIATE) -> ScheduleError:
    with pytest.raises(ScheduleError) as info:
        parse_schedule(source_schedule(program_of(function, fp).scop), step)
    return info.value


def not_below(x: po.f64["T,S"]):
    return np.sum(np.exp(x * 2.0 - np.max(x, axis=1, keepdims=True)), axis=1)


def largest(x: po.f64["T,S"]):
    w = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.max(w, axis=1), np.min(w, axis=1)


def squares(x: po.f64["T,S"]):
    w = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.sum(w * w, axis=1)


def squared_terms(x: po.f64["T,S"]):
    return np.sum(np.exp(x - np.max(x, axis=1, keepdims=True)) ** 2, axis=1)


def both(x: po.f64["T,S"]):
    top = np.max(x, axis=1, keepdims=True)
    return np.sum(np.exp(x - top) * top, axis=1)


def started_at_one(x: po.f64["T,S"]):
    out = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(1, x.shape[1]):
            top = max(top, x[i, j])
        total = 1.0
        for j in range(x.shape[1]):
            total += np.exp(x[i, j] - top)
        out[i] = total
    return out


def one_row(x: po.f64["S"]):
    return np.sum(np.exp(x - np.max(x)))


@pytest.mark.parametrize(
    ("function", "step", "code", "reason"),
    [
        (softmax, "online(S9, 4, 8)", "PO0348", "there is no statement `S9`"),
        (softmax, "online(S2, 4, 8)", "PO0348", "not a maximum whose order is open"),
        (one_row, "online(S1, 4, 8)", "PO0348", "not a maximum over one loop of each row"),
        (not_below, "online(S1, 4, 8)", "PO0349", "no statement computes exp(x - tmp)"),
        (largest, "online(S1, 4, 8)", "PO0350", "is not a sum whose order is open"),
        (squared_terms, "online(S1, 4, 8)", "PO0350", "are not products with one exponential"),
        (both, "online(S1, 4, 8)", "PO0350", "are not products with one exponential"),
        (started_at_one, "online(S2, 4, 8)", "PO0350", "does not start at zero"),
        (squares, "online(S1, 4, 8)", "PO0350", "are not products with one exponential"),
        (softmax, "online(S1, 0, 8)", "PO0303", "a tile size must be at least 1"),
    ],
)
def test_refused(function, step, code, reason):
    error = refused(function, step)
    assert error.code == code
    assert reason in error.message


def test_shared_nests_are_distributed():
    program = program_of(softmax)
    schedule = parse_schedule(source_schedule(program.scop), "fuse(L4, L5, 1); online(S1, 4, 8)")
    assert certify(program, lower(schedule, program)).is_proven


def test_tiles_of_others_are_not_taken_apart():
    error = refused(softmax, "fuse(L4, L5, 1); tile(L4, 4); online(S1, 4, 8)")
    assert error.code == "PO0351"
    assert "shares a nest" in error.message


def rows_that_depend_on_each_other(x: po.f64["T,S"]):
    for i in range(1, x.shape[0]):
        top = x[i, 0]
        for j in range(1, x.shape[1]):
            top = max(top, x[i, j])
        total = 0.0
        for j in range(x.shape[1]):
            total += np.exp(x[i, j] - top)
        if i + 1 < x.shape[0]:
            x[i + 1, 0] = total


def test_rows_that_depend_on_each_other_stay_together():
    error = refused(rows_that_depend_on_each_other, "online(S2, 4, 8)")
    assert error.code == "PO0311"
    assert "flow dependence on x" in str(error)


def test_needs_the_mode():
    error = refused(softmax, "online(S1, 4, 8)", FpMode.STRICT)
    assert error.code == "PO0350"
    assert "reassociate" in str(error.hint)


# -- mutants ------------------------------------------------------------------------------------


def changed(scop: Scop, name: str, change) -> Scop:
    """Return the Scop with one statement changed, or left out where `change` returns None."""
    found = [change(s) if s.name == name else s for s in scop.statements]
    return replace(scop, statements=tuple(s for s in found if s is not None))


def swapped(statement: Statement) -> Statement:
    """Return the statement with the operands of its difference swapped."""

    def rule(part):
        if isinstance(part, Binary) and part.op is BinaryOp.SUB:
            return replace(part, left=part.right, right=part.left)
        return None

    return replace(statement, value=rewrite(statement.value, rule))


def later(statement: Statement) -> Statement:
    """Return the statement after all others of its block."""
    *first, _ = statement.order
    order = tuple(integer(99) if n == 2 else e for n, e in enumerate(statement.order))
    del first
    return statement.at(order)


def other_row(statement: Statement) -> Statement:
    rows = {"i": add(Iter("i"), integer(1))}
    value = rewrite(statement.value, lambda e: rows.get(e.name) if isinstance(e, Iter) else None)
    return replace(statement, value=value)


MUTANTS = {
    "no factor for the sum": ("run_times", lambda s: None),
    "no factor for the rows": ("run_times2", lambda s: None),
    "no last factor": ("run_last2", lambda s: None),
    "swapped factor": ("run_scale", swapped),
    "factor of another row": ("run_scale", other_row),
    "maximum of before": ("run_keep", lambda s: None),
    "factor twice": ("run_times2", lambda s: replace(
        s, value=Binary(BinaryOp.MUL, s.value, s.value.right, s.value.dtype))),
    "no maximum": ("run_raise", lambda s: None),
    "start at infinity": ("run_begin", lambda s: replace(
        s, value=Const(float("-inf"), s.value.dtype))),
    "fewer blocks": ("run_times2", lambda s: replace(
        s, domain=s.domain.subtract(s.domain.lexmax()))),
    "an exponential of another row": ("run_exp", other_row),
    "a product left out": ("S8", lambda s: replace(s, domain=s.domain.subtract(s.domain.lexmax()))),
    "another product": ("S8", lambda s: replace(
        s, value=replace(s.value, right=s.value.right.left))),
}  # fmt: skip


def test_the_law_holds_for_the_program_itself():
    program, schedule = carried(attention)
    assert check_rescaled(program, law_of(program, schedule)).verdict is Verdict.PROVEN


def law_of(program, schedule) -> Program:
    (law,) = lower(schedule, program).laws
    return law


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_factor_is_refuted(name):
    program, schedule = carried(attention)
    law = law_of(program, schedule)
    statement, change = MUTANTS[name]
    wanted = {"S8": next(s.name for s in law.scop.statements if len(s.iters) == 3
                         and any(a.array == "w_run" for a in s.reads))}  # fmt: skip
    wrong = changed(law.scop, wanted.get(statement, statement), change)
    assert wrong.statements != law.scop.statements
    claim = check_rescaled(program, replace(law, parts=(wrong,)))
    assert claim.verdict is Verdict.REFUTED
    assert claim.reason


@pytest.mark.parametrize("name", ["run_times", "run_times2", "run_scale", "run_raise"])
def test_the_order_in_a_block_matters(name):
    program, schedule = carried(attention)
    law = law_of(program, schedule)
    place = next(n for n, e in enumerate(law.scop.statement(name).order) if "b" in str(e)) + 1

    def change(statement: Statement) -> Statement:
        order = [integer(99) if n == place else e for n, e in enumerate(statement.order)]
        return statement.at(tuple(order))

    wrong = changed(law.scop, name, change)
    claim = check_rescaled(program, replace(law, parts=(wrong,)))
    assert claim.verdict is Verdict.REFUTED


IN_TERMS = {
    "no factor": ("run_times", lambda s: None),
    "no last factor": ("run_last", lambda s: None),
    "swapped factor": ("run_scale", swapped),
    "no maximum": ("run_raise", lambda s: None),
    "terms of another row": ("S3", lambda s: replace(s, value=replace(
        s.value, right=other_row(replace(s, value=s.value.right)).value))),
    "swapped difference": ("S3", swapped),
    "a term left out": ("S3", lambda s: replace(s, domain=s.domain.subtract(s.domain.lexmax()))),
    "terms twice": ("S3", lambda s: replace(
        s, value=Binary(BinaryOp.ADD, s.value, s.value.right, s.value.dtype))),
    "squares": ("S3", lambda s: replace(s, value=replace(
        s.value, right=Binary(BinaryOp.MUL, s.value.right, s.value.right, s.value.dtype)))),
    "below the whole maximum": ("S3", lambda s: replace(s, value=rewrite(
        s.value, lambda e: replace(e, array="top")
        if isinstance(e, Load) and e.array == "top_run" else None))),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_TERMS)
def test_a_wrong_sum_of_exponentials_in_its_terms_is_refuted(name):
    program, schedule = carried(log_sum_exp)
    law = law_of(program, schedule)
    assert check_rescaled(program, law).verdict is Verdict.PROVEN
    wrong = changed(law.scop, *IN_TERMS[name])
    assert wrong.statements != law.scop.statements
    claim = check_rescaled(program, replace(law, parts=(wrong,)))
    assert claim.verdict is Verdict.REFUTED
    assert claim.reason


def test_a_maximum_that_falls_is_refuted():
    """A start of the maximum after its updates might be less than the maximum so far."""
    program, schedule = carried(log_sum_exp)
    law = law_of(program, schedule)

    def late(scop: Scop) -> Scop:
        start, top = scop.statement("S0"), scop.statement("S1")
        order = tuple(integer(0) if n == len(start.order) - 1 else e
                      for n, e in enumerate(top.order))  # fmt: skip
        moved = {"S0": start.at(top.order[: len(start.order)]), "S1": top.at(order)}
        return replace(scop, statements=tuple(moved.get(s.name, s) for s in scop.statements))

    first = late(program.scop)
    last = first.statement("S0").order
    after = (*last[:-1], integer(9))
    first = changed(first, "S0", lambda s: s.at(after))
    claim = check_rescaled(replace(program, parts=(first,)), law)
    assert claim.verdict is Verdict.REFUTED


def test_maxima_in_scalars_get_a_cell_for_each_row():
    scop = program_of(written_as_loops).scop
    shapes = {a.name: len(a.shape) for a in scop.arrays}
    carried_sums = [s for s in scop.statements if s.reduction and s.reduction.carried]
    assert [shapes[s.target.array] for s in carried_sums] == [1]
    strict = program_of(written_as_loops, FpMode.STRICT).scop
    assert not [s for s in strict.statements if s.reduction and s.reduction.carried]


# -- results ------------------------------------------------------------------------------------


def run(function, *args, rows=4, columns=8):
    program = program_of(function)
    (top,) = maxima(program.scop)
    kernel = po.kernel(fp="reassociate", schedule=f"online({top.name}, {rows}, {columns})")
    return kernel(function)(*args)


@cache
def loops_of(function):
    program, schedule = carried(function)
    return program, lower(schedule, program)


def interpreted(function, *args):
    """Run the loops after the step by the interpreter, as compilers are slow."""
    from polyopt.ir.interp import run_loops, run_program

    program, loops = loops_of(function)

    def loop(arrays, params, symbols):
        run_loops(loops, arrays, params, symbols)

    with np.errstate(all="ignore"):
        return run_program(program, args, loop)


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_length(dtype):
    scalar = po.f32 if dtype is np.float32 else po.f64

    def rows(x: scalar["T,S"], v: scalar["S,2"]):
        w = np.exp(x - np.max(x, axis=1, keepdims=True))
        return (w / np.sum(w, axis=1, keepdims=True)) @ v

    kernel = po.kernel(fp="reassociate", schedule="online(S1, 4, 16)", budget=300)(rows)
    rng = np.random.default_rng(1)
    for length in (*range(1, 35), 63, 64, 65, 257):  # the last strip of 16 has each length twice
        x = (rng.normal(size=(5, length)) * 20).astype(dtype)
        v = rng.normal(size=(length, 2)).astype(dtype)
        (compared,) = kernel.compile(x, v).compare(x, v)
        assert compared.holds, (length, compared)
        assert np.allclose(kernel(x, v), rows(x, v), rtol=2e-5 if dtype is np.float32 else 1e-12)


SPECIAL = {
    "minus infinity first": [-np.inf] * 9 + [0.5, 2.0, -1.0],
    "minus infinity last": [0.5, 2.0, -1.0] + [-np.inf] * 9,
    "all masked": [-np.inf] * 12,
    "not a number": [0.0] * 9 + [np.nan, 1.0, 2.0],
    "not a number first": [np.nan] + [1.0] * 11,
    "infinity": [0.0] * 9 + [np.inf, 1.0, 2.0],
    "infinity first": [np.inf] + [-np.inf] * 11,
    "large": [1e308, -1e308] * 6,
    "rising": [100.0 * n for n in range(12)],
    "falling": [-100.0 * n for n in range(12)],
}


ROWS = (softmax, softmax_as_loops, log_sum_exp, entropy, written_as_loops)


@pytest.mark.parametrize("function", ROWS, ids=lambda f: f.__name__)
def test_special_rows(function):
    x = np.array([*SPECIAL.values(), np.linspace(-1, 1, 12)])
    with np.errstate(all="ignore"):
        want = function(x)
    got = interpreted(function, x)
    got = got[0] if isinstance(got, tuple | list) else got
    for name, ours, theirs in zip(SPECIAL, got, want, strict=False):
        assert np.allclose(ours, theirs, rtol=1e-12, equal_nan=True), name


@pytest.mark.matrix(3)
@pytest.mark.parametrize("function", ROWS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("length", [1, 2, 7, 70])
@pytest.mark.parametrize("rows", [0, 1, 7])
def test_sizes(function, rows, length):
    rng = np.random.default_rng(length)
    x = np.concatenate([rng.normal(size=(rows, length)) * 9, np.full((min(rows, 1), length), 2.5)])
    got = interpreted(function, x)
    got = got[0] if isinstance(got, tuple | list) else got
    assert np.allclose(got, function(x), rtol=1e-12)


@pytest.mark.toolchain
def test_cross_entropy_holds_its_bound():
    kernel = po.kernel(fp="reassociate", schedule="online(S1, 1, 16)")(cross_entropy)
    rng = np.random.default_rng(2)
    for rows, length in ((1, 1), (2, 7), (7, 2), (5, 70)):
        x = rng.normal(size=(rows, length)) * 5
        label = rng.integers(0, length, rows)
        (compared,) = kernel.compile(x, label).compare(x, label)
        assert compared.holds, (rows, length, compared)
        assert np.isclose(kernel(x, label), cross_entropy(x, label), rtol=1e-13)


@pytest.mark.toolchain
def test_compiled_special_rows():
    x = np.array([*SPECIAL.values()])
    with np.errstate(all="ignore"):
        want = softmax(x)
    assert np.allclose(run(softmax, x), want, rtol=1e-12, equal_nan=True)
