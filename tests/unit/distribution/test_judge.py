"""The judge accepts every plan that is made, and refuses planted faults."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import islpy as isl
import pytest

import polyopt as po
from polyopt.dataclass import replace
from polyopt.distribution import placement, planning
from polyopt.distribution.collectives import Pieces
from polyopt.distribution.cyclic import _Dealt, on_mesh
from polyopt.distribution.exchange import Combination, Exchange, Exchanges, Transfer
from polyopt.distribution.execution import Plan, Split
from polyopt.distribution.forms import Form
from polyopt.distribution.judge import claims_of, judge, require
from polyopt.distribution.phases import Phases
from polyopt.distribution.placement import Placement, Rule
from polyopt.errors import InternalError
from polyopt.ir.expr import Binary, BinaryOp, add, integer
from polyopt.ir.interp import points
from polyopt.ir.types import DType
from tests.unit.distribution.programs import CASES, Case, sums_of_sums_before

Faults = Iterator[Plan]


@cache
def plan_of(name: str) -> Plan:
    case = CASES[name]
    plan: Plan = po.kernel(case.function, mesh=po.mesh(4), shard=case.shard).plan()
    return plan


@pytest.mark.parametrize("name", CASES)
def test_plans_are_proven(name: str) -> None:
    claims = judge(plan_of(name))
    assert [claim.name for claim in claims if not claim.holds] == []
    assert len(claims) == 6


def with_exchange(plan: Plan, number: int, exchange: Exchange) -> Plan:
    listed = (*plan.listed[:number], exchange, *plan.listed[number + 1 :])
    return replace(plan, listed=listed)


def transfers(plan: Plan) -> Iterator[tuple[int, int, Transfer]]:
    for number, exchange in enumerate(plan.listed):
        for place, transfer in enumerate(exchange.transfers):
            yield number, place, transfer


def with_transfer(plan: Plan, number: int, place: int, new: Transfer | None) -> Plan:
    exchange = plan.listed[number]
    changed = list(exchange.transfers)
    changed[place : place + 1] = [] if new is None else [new]
    return with_exchange(plan, number, replace(exchange, transfers=tuple(changed)))


def in_place_of_each(change: Callable[[Transfer], Transfer | None]) -> Callable[[Plan], Faults]:
    def faults(plan: Plan) -> Faults:
        for number, place, transfer in transfers(plan):
            new = change(transfer)
            if new is not transfer:
                yield with_transfer(plan, number, place, new)

    return faults


def without_first(one: isl.Set) -> isl.Set:
    """Take the first element away."""
    return one.subtract(one.lexmin())


def moved(one: isl.Set) -> isl.Set:
    """Take each element's neighbour."""
    space = one.get_space().map_from_set()
    multi = isl.MultiAff.identity(space)
    last = multi.dim(isl.dim_type.out) - 1
    multi = multi.set_aff(last, multi.get_aff(last).add_constant_val(isl.Val(1)))
    return one.apply(isl.Map.from_multi_aff(multi))


def each(sets: dict[Any, isl.Set], change: Callable[[isl.Set], isl.Set]) -> dict[Any, isl.Set]:
    return {sign: change(one) for sign, one in sets.items()}


def on_both(change: Callable[[isl.Set], isl.Set]) -> Callable[[Transfer], Transfer]:
    return lambda t: replace(t, sent=each(t.sent, change), received=each(t.received, change))


def later(plan: Plan) -> Faults:
    """Move transfers to the next phase."""
    for number, place, transfer in transfers(plan):
        if number + 1 < len(plan.listed):
            following = plan.listed[number + 1]
            if following.phase.depth == plan.listed[number].phase.depth:
                moved = with_transfer(plan, number, place, None)
                changed = replace(following, transfers=(*following.transfers, transfer))
                yield with_exchange(moved, number + 1, changed)


def not_at_first(plan: Plan) -> Faults:
    """Send nothing in the first iteration of the loop around."""

    def change(one: isl.Set) -> isl.Set:
        position = one.find_dim_by_name(isl.dim_type.param, "step0")
        return one.lower_bound_val(isl.dim_type.param, position, isl.Val(1))

    for number, place, transfer in transfers(plan):
        if plan.listed[number].phase.depth:
            yield with_transfer(plan, number, place, on_both(change)(transfer))


def one_way(transfer: Transfer) -> Transfer:
    """Send in one direction only."""
    if len(transfer.received) < 2:
        return transfer
    sign = next(iter(transfer.received))
    turned = tuple(-s for s in sign)
    return replace(
        transfer, received={sign: transfer.received[sign]}, sent={turned: transfer.sent[turned]}
    )


def as_form(form: Form) -> Callable[[Transfer], Transfer]:
    return lambda t: t if t.form is form else replace(t, form=form)


def combinations(change: Callable[[Combination], tuple[Combination, ...]]) -> Any:
    def faults(plan: Plan) -> Faults:
        for number, exchange in enumerate(plan.listed):
            for one in exchange.combinations:
                others = tuple(c for c in exchange.combinations if c is not one)
                yield with_exchange(
                    plan, number, replace(exchange, combinations=(*others, *change(one)))
                )

    return faults


def scans(change: Callable[[isl.Set], isl.Set]) -> Callable[[Combination], Any]:
    """Change what a scan completes, what all ranks write of it, or what a rank begins with."""

    def changed(one: Combination) -> tuple[Combination, ...]:
        if one.scan is None:
            return ()
        scan = one.scan
        return tuple(
            replace(one, scan=wrong)
            for wrong in (
                replace(scan, written=change(scan.written)),
                replace(scan, mine=change(scan.mine)),
                replace(scan, begun=each(dict(scan.begun), change)),
                replace(scan, begun=dict(list(scan.begun.items())[1:])),
                replace(scan, axis=1 - scan.axis),
            )
        )

    return changed


def one_by_one(change: Callable[[Combination], Any]) -> Any:
    """Yield a fault for each of the changes of a combination."""

    def faults(plan: Plan) -> Faults:
        for number, exchange in enumerate(plan.listed):
            for one in exchange.combinations:
                others = tuple(c for c in exchange.combinations if c is not one)
                for new in change(one):
                    yield with_exchange(
                        plan, number, replace(exchange, combinations=(*others, new))
                    )

    return faults


def other_bounds(plan: Plan) -> Faults:
    """Let a loop around phases run for other iterations, or for those of this rank's block."""
    for key, bounds in plan.bounds.items():
        place = bounds.dim(isl.dim_type.set) - 1
        block = bounds.find_dim_by_name(isl.dim_type.param, "low0")
        for wrong in (
            bounds.lower_bound_val(isl.dim_type.set, place, isl.Val(1)),
            bounds.equate(isl.dim_type.param, block, isl.dim_type.set, place),
        ):
            faulty = replace(plan)
            faulty.__dict__["bounds"] = {**plan.bounds, key: wrong}
            yield faulty


def swapped_phases(plan: Plan) -> Faults:
    if len(plan.listed) > 1:
        first, second, *rest = plan.listed
        yield replace(plan, listed=(second, first, *rest))


def placed(change: Callable[[Placement, str], Placement | None]) -> Callable[[Plan], Faults]:
    def faults(plan: Plan) -> Faults:
        before = plan.exchanges.phases.placement
        for name in before.rules:
            new = change(before, name)
            if new is not None:
                phases = Phases(new)
                phases.__dict__["steps"] = plan.exchanges.phases.steps
                yield replace(plan, exchanges=Exchanges(phases))

    return faults


def with_domain(placement: Placement, name: str, domain: isl.Set) -> Placement:
    return replace(placement, domains={**placement.domains, name: domain})


def fewer(placement: Placement, name: str) -> Placement:
    return with_domain(placement, name, without_first(placement.domains[name]))


def everywhere(placement: Placement, name: str) -> Placement | None:
    """Run on every rank what one rank alone may run."""
    if placement.rules[name] not in (Rule.OWNER, Rule.PARTIAL):
        return None
    whole = placement.own.scop.statement(name).domain
    whole = isl.Set.align_params(whole, placement.domains[name].get_space())
    return with_domain(placement, name, whole)


def exclusive_end(placement: Placement, name: str) -> Placement | None:
    """Let blocks overlap by one index: what the next rank runs first, this one runs, too."""
    if placement.rules[name] is not Rule.OWNER:
        return None
    domain = placement.domains[name]
    b = placement.own.blocks[0]
    position = domain.find_dim_by_name(isl.dim_type.param, b.high)
    space = domain.get_space()
    more = domain.add_dims(isl.dim_type.param, 1)
    last = more.dim(isl.dim_type.param) - 1
    aff = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(more.get_space()))
    aff = aff.set_coefficient_val(isl.dim_type.param, position, 1)
    aff = aff.set_coefficient_val(isl.dim_type.param, last, -1).set_constant_val(-1)
    more = more.add_constraint(isl.Constraint.equality_from_aff(aff))
    more = more.project_out(isl.dim_type.param, position, 1)
    more = more.set_dim_name(isl.dim_type.param, last - 1, b.high)
    return with_domain(placement, name, isl.Set.align_params(more, space))


FAULTS: dict[str, Callable[[Plan], Faults]] = {
    "a dropped exchange": in_place_of_each(lambda t: None),
    "a dropped send": in_place_of_each(lambda t: replace(t, sent=dict(list(t.sent.items())[1:]))),
    "a dropped receive": in_place_of_each(
        lambda t: replace(t, received=dict(list(t.received.items())[1:]))
    ),
    "one element less is sent": in_place_of_each(
        lambda t: replace(t, sent=each(t.sent, without_first))
    ),
    "one element less is received": in_place_of_each(
        lambda t: replace(t, received=each(t.received, without_first))
    ),
    "one element less": in_place_of_each(on_both(without_first)),
    "other elements are sent": in_place_of_each(lambda t: replace(t, sent=each(t.sent, moved))),
    "other elements": in_place_of_each(on_both(moved)),
    "one direction": in_place_of_each(one_way),
    "one phase later": later,
    "not in the first iteration": not_at_first,
    "a halo as a broadcast": in_place_of_each(as_form(Form.BROADCAST)),
    "all blocks": in_place_of_each(as_form(Form.ALL_GATHER)),
    "messages of all to all": in_place_of_each(
        lambda t: t if t.form is Form.ALL_GATHER else as_form(Form.ALL_TO_ALL)(t)
    ),
    "early for late": in_place_of_each(lambda t: replace(t, late=False) if t.late else t),
    "late for early": in_place_of_each(lambda t: t if t.late else replace(t, late=True)),
    "no combination": combinations(lambda c: ()),
    "two combinations": combinations(lambda c: (c, c)),
    "another operation": combinations(
        lambda c: (replace(c, op=BinaryOp.MIN if c.op is BinaryOp.ADD else BinaryOp.ADD),)
    ),
    "another collective": one_by_one(
        lambda c: (
            replace(c, form=form)
            for form in (Form.ALL_REDUCE, Form.REDUCE_SCATTER, Form.SCAN)
            if form is not c.form
        )
    ),
    "a scan of less": one_by_one(scans(without_first)),
    "a scan of other elements": one_by_one(scans(moved)),
    "other iterations": other_bounds,
    "swapped phases": swapped_phases,
    "an instance less": placed(fewer),
    "instances on every rank": placed(everywhere),
    "overlapping blocks": placed(exclusive_end),
}
PROGRAMS = (
    *("jacobi_2d", "seidel_2d", "conjugate_gradient", "softmax", "nbody", "transpose"),
    *("running_least", "later_product"),
)


def test_there_are_many_faults_of_every_kind() -> None:
    counts = {
        kind: sum(1 for name in PROGRAMS for _ in faults(plan_of(name)))
        for kind, faults in FAULTS.items()
    }
    assert min(counts.values()) > 0
    assert sum(counts.values()) > 100


def is_refused(plan: Plan) -> bool:
    """Tell whether a claim does not hold; the others are not judged after it."""
    return any(not claim.holds for claim in claims_of(plan))


def test_the_judge_refuses_faults_of_wide_halos() -> None:
    case = CASES["fdtd_2d"]
    kernel = po.kernel(case.function, mesh=po.mesh(4), shard=case.shard, exchange_every=2)
    plan = kernel.plan()
    assert Rule.WIDENED in plan.exchanges.phases.placement.rules.values()
    for kind in ("a dropped send", "one element less", "not in the first iteration"):
        for number, faulty in enumerate(FAULTS[kind](plan)):
            assert is_refused(faulty), f"{kind}, number {number}"
    for faulty in FAULTS["an instance less"](plan):
        assert is_refused(faulty)


@pytest.mark.parametrize("kind", FAULTS)
def test_the_judge_refuses(kind: str) -> None:
    for name in PROGRAMS:
        for number, faulty in enumerate(FAULTS[kind](plan_of(name))):
            assert is_refused(faulty), f"{kind}, number {number} of {name}"


def test_a_proven_plan_is_kept_and_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same plan; one that is not proven is not kept, nor what is damaged used."""
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path))
    judged = []

    def counted(plan: Plan, name: str) -> object:
        judged.append(name)
        return require(plan, name)

    monkeypatch.setattr(planning, "require", counted)
    for number, name in enumerate(("seidel_2d", "running_least", "later_product"), start=1):
        case = CASES[name]

        def made(case: Case = case) -> Plan:
            found: Plan = po.kernel(case.function, mesh=po.mesh(4), shard=case.shard).plan()
            return found

        first, second = made(), made()
        assert len(judged) == 1
        assert is_same(first, second)
        assert not is_refused(second)
        for kept in tmp_path.rglob("plan.json"):
            kept.write_text(kept.read_text() + " ")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", po.CacheWarning)
            assert is_same(first, made())
        assert len(list(tmp_path.rglob("quarantine/*/*"))) == number
        assert len(judged) == 2
        judged.clear()


def is_same(one: Plan, two: Plan) -> bool:
    assert one.storage == two.storage or (
        one.storage.windows == two.storage.windows and one.storage.shared == two.storage.shared
    )
    for first, second in zip(one.listed, two.listed, strict=True):
        assert first.phase == second.phase
        for a, b in zip(first.transfers, second.transfers, strict=True):
            assert (a.array, a.form, a.late, a.halo) == (b.array, b.form, b.late, b.halo)
            for mine, theirs in ((a.received, b.received), (a.sent, b.sent)):
                assert mine.keys() == theirs.keys()
                assert all(mine[sign].is_equal(theirs[sign]) for sign in mine)
        for c, d in zip(first.combinations, second.combinations, strict=True):
            assert (c.array, c.op, c.form) == (d.array, d.op, d.form)
            if c.scan is not None:
                assert d.scan is not None
                assert c.scan.written.is_equal(d.scan.written)
                assert c.scan.mine.is_equal(d.scan.mine)
    return True


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("size", [1, 3])
def test_each_instance_runs_on_one_of_the_ranks_that_get_blocks_in_turn(
    ranks: int, size: int
) -> None:
    kernel = po.kernel(CASES["lu"].function, mesh=po.mesh(4), shard={"A": po.cyclic(0, size)})
    plan = on_mesh(kernel.plan(), (ranks,))
    assert plan.domains is not None
    for name, mine in plan.domains.items():
        position = mine.find_dim_by_name(isl.dim_type.param, "low0")
        parts = [mine.fix_val(isl.dim_type.param, position, isl.Val(r)) for r in range(ranks)]
        parts = [part.project_out(isl.dim_type.param, position, 1) for part in parts]
        whole = plan.exchanges.own.scop.statement(name).domain
        together = parts[0].subtract(parts[0])
        for part in parts:
            assert together.is_disjoint(part)
            together = together.union(part)
        assert together.is_equal(isl.Set.align_params(whole, together.get_space()))


@pytest.mark.parametrize("wrong, what", [(3, "two owners"), (1, "no owner")])
def test_blocks_in_turn_that_overlap_or_leave_gaps_are_refused(
    wrong: int, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = po.kernel(CASES["lu"].function, mesh=po.mesh(4), shard={"A": po.cyclic(0, 2)}).plan()

    def ends(self: Any, b: Any, other: bool) -> Iterator[tuple[str, Any]]:
        (low, first), (high, _) = right(self, b, other)
        yield low, first
        end = add(first, integer(wrong))
        yield high, Binary(BinaryOp.MIN, end, b.extent, DType.INT64)

    right = _Dealt._blocks
    monkeypatch.setattr(_Dealt, "_blocks", ends)
    with pytest.raises(InternalError, match=what) as caught:
        on_mesh(plan, (2,))
    assert caught.value.code == "PO0856"


def test_what_needs_no_message_runs_meanwhile() -> None:
    plan = plan_of("jacobi_2d")
    assert set(plan.splits) == set(plan.exchanges.phases.phases)
    for parts in plan.splits.values():
        for name, inner in parts.inner.items():
            assert not inner.is_empty()
            assert not parts.outer[name].is_empty()
    assert not plan_of("seidel_2d").splits  # ranks follow one another
    assert not plan_of("conjugate_gradient").splits  # a collective comes first


def test_the_judge_refuses_to_run_what_needs_messages_meanwhile() -> None:
    plan = plan_of("jacobi_2d")
    for phase, parts in plan.splits.items():
        for name in phase.statements:
            both = parts.inner[name].union(parts.outer[name])
            none = both.subtract(both)
            for inner, outer in ((both, none), (parts.outer[name], parts.inner[name])):
                faulty = replace(plan)
                wrong = Split({**parts.inner, name: inner}, {**parts.outer, name: outer})
                faulty.__dict__["splits"] = {**plan.splits, phase: wrong}
                assert [c.name for c in judge(faulty) if not c.holds] == ["order"]


def test_what_is_not_proven_does_not_run() -> None:
    faulty = next(FAULTS["a dropped exchange"](plan_of("jacobi_2d")))
    with pytest.raises(InternalError, match="do not arrive in time") as caught:
        require(faulty, "jacobi_2d")
    assert caught.value.code == "PO0856"


def test_a_collective_of_some_ranks_is_refused_with_the_condition() -> None:
    faulty = next(FAULTS["a halo as a broadcast"](plan_of("seidel_2d")))
    failures = [claim.failure for claim in judge(faulty) if claim.name == "collectives"]
    assert "a collective only for ranks with T = " in failures[0] or "low0 = " in failures[0]


def test_terms_that_read_sums_which_other_ranks_add_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def plan() -> Plan:
        kernel = po.kernel(sums_of_sums_before, mesh=po.mesh(4), shard={"A": 1}, fp="reassociate")
        found: Plan = kernel.plan()
        return found

    assert Rule.PARTIAL not in plan().exchanges.phases.placement.rules.values()
    monkeypatch.setattr(placement, "reads_sums", lambda statement: False)
    with pytest.raises(InternalError, match="S0 reads `x` before its partial results") as caught:
        plan()
    assert caught.value.code == "PO0856"


def test_messages_have_one_order_however_their_elements_are_written() -> None:
    """A sender and a receiver derive equal sets in different ways."""
    rows, column = "0 <= i < 3 and 0 <= j < n", "2 <= i < 6 and j = 1"
    texts = (f"{rows} or {column}", f"{column} or {rows}")
    one, other = (isl.Set(f"[n] -> {{ [i, j] : {text} }}") for text in texts)
    listed = isl.Set("{ [i, j] : 1 = 0 }")
    for i, j in points(one, {"n": 2}):
        listed = listed.union(isl.Set(f"{{ [{i}, {j}] }}"))
    wanted = ((slice(0, 3), slice(0, 2)), (slice(3, 6), slice(1, 2)))
    for elements in (one, other, listed):
        assert Pieces(elements).at({"n": 2}) == (wanted, 9)
    single = isl.Set("[n] -> { [i] : 0 <= i < n and i mod 2 = 0 }")
    (((numbers,),), count) = Pieces(single).at({"n": 100})
    assert count == 50
    assert list(numbers) == list(range(0, 100, 2))
