"""What is refused of kernels for several ranks, and how it is said."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.distribution import transport
from polyopt.distribution.simulator import Simulated, simulate
from polyopt.errors import PolyoptError
from tests.unit.distribution.programs import gemm, jacobi_2d


def until_small(A: po.f64["N"]):
    while A[0] > 1.0:
        A[0] *= 0.5


def gathered(x: po.f64["N"], index: po.i64["N"], y: po.f64["N"]):
    for i in range(y.shape[0]):
        y[i] = x[index[i]]


def on_four(function: Any, **options: Any) -> Any:
    return po.kernel(function, mesh=po.mesh(4), threads=1, **options)


MESHES: list[tuple[Any, str, str]] = [
    (lambda: po.mesh(), "PO0850", "no ranks"),
    (lambda: po.mesh(2, 0), "PO0850", "2, 0"),
    (lambda: po.kernel(gemm, mesh=4, shard={"A": 0}), "PO0850", "int"),
    (lambda: po.kernel(gemm, shard={"A": 0}), "PO0850", "NoneType"),
    (lambda: on_four(gemm, shard={"D": 0}).plan(), "PO0853", "no array `D`"),
    (lambda: on_four(gemm, shard={"A": 2}).plan(), "PO0853", "no axis 2"),
    (lambda: on_four(gemm, shard={"A": (0, 1)}).plan(), "PO0853", "the mesh has 1"),
    (lambda: on_four(gemm).plan(), "PO0853", "no array is cut"),
    (lambda: on_four(until_small, shard={"A": 0}).plan(), "PO0854", "depend on data"),
    (lambda: on_four(gathered, shard={"y": 0}).plan(), "PO0854", "when it runs"),
    (lambda: po.distribute(np.zeros(3), axis=1), "PO0853", "no axis 1"),
    (lambda: po.cyclic(0, 0), "PO0853", "axis 0 in blocks of 0 indices"),
    (lambda: on_four(gemm, shard={"A": po.cyclic(2)}).plan(), "PO0853", "no axis 2"),
    (lambda: on_four(gemm, shard={"A": po.cyclic(0), "C": 0}).plan(), "PO0853", "`C` is cut in"),
]


@pytest.mark.parametrize("act, code, said", MESHES, ids=range(len(MESHES)))
def test_wrong_meshes_and_cuts_are_refused(act: Any, code: str, said: str) -> None:
    with pytest.raises(PolyoptError, match=said) as caught:
        act()
    assert caught.value.code == code
    assert caught.value.hint


STEPS = [
    ("shard(D, 0)", "PO0853", "no array `D`", 1),
    ("replicate(D); shard(A, 0)", "PO0853", "no array `D`", 1),
    ("unroll(k); shard(A, 2)", "PO0853", "no axis 2", 12),
    ("shard(A, 0/2)", "PO0331", "no axis to cut along", 1),
    ("shard(A)", "PO0323", "at least 2 arguments", 1),
    ("shard(A, 0@1)", "PO0323", "no dimension", 10),
    ("shard(A, i)", "PO0323", "no dimension", 10),
    ("shard(A, 0); shard(A, 1)", "PO0853", "already said", 14),
    ("shard(A, 0); replicate(A)", "PO0853", "already said", 14),
]


@pytest.mark.parametrize("text, code, said, column", STEPS)
def test_wrong_steps_for_ranks_are_refused(text: str, code: str, said: str, column: int) -> None:
    with pytest.raises(PolyoptError, match=said) as caught:
        on_four(gemm, schedule=text).plan()
    assert caught.value.code == code
    assert caught.value.hint
    assert caught.value.loc is not None
    assert (caught.value.loc.line, caught.value.loc.col) == (1, column)


def test_a_step_and_an_option_cannot_say_different_things() -> None:
    with pytest.raises(PolyoptError, match="already said"):
        on_four(gemm, schedule="shard(A, 0)", shard={"A": 1})


@pytest.mark.toolchain
@pytest.mark.parametrize("step", ["shard(D, 0)", "shard(A, 2)", "shard(A, 0/2)", "replicate(D)"])
def test_steps_for_ranks_are_checked_on_one_rank(step: str) -> None:
    with pytest.raises(PolyoptError) as caught:
        po.kernel(gemm, schedule=step).compile()
    assert caught.value.code == "PO0331"


def _differing(argument: int) -> Any:
    """Run `gemm` on three ranks, of which one has another element, or number, in an argument."""
    kernel = on_four(gemm, shard={"C": 0})
    given = (1.5, 1.0, np.ones((6, 3)), np.ones((6, 4)), np.ones((4, 3)))

    def act(t: Simulated) -> Any:
        mine = [np.array(value) if np.ndim(value) else value for value in given]
        if t.rank == 1 and argument >= 0:
            changed = np.array(mine[argument])
            changed[(-1,) * changed.ndim] += 1.0
            mine[argument] = changed if changed.ndim else float(changed)
        kernel.run(t, *mine)
        return mine[2]

    return simulate(3, act)


@pytest.mark.toolchain
@pytest.mark.parametrize("setting", ["verify", "debug"])
def test_arguments_that_differ_between_ranks_are_refused_on_demand(setting: str) -> None:
    wanted = _differing(-1)[0]
    with po.config(**{setting: True}):
        for found in _differing(-1):
            np.testing.assert_array_equal(found, wanted)
        for argument, name in ((0, "alpha"), (4, "B")):
            with pytest.raises(PolyoptError, match=f"`{name}` is not the same on all ranks") as e:
                _differing(argument)
            assert e.value.code == "PO0859"
            assert "on rank 1 than on rank 0" in str(e.value)
        for found in _differing(2):  # of what is cut a rank takes its own part
            np.testing.assert_array_equal(found[:2], wanted[:2])
    _differing(4)  # nothing is compared


@pytest.mark.toolchain
def test_arrays_distributed_in_another_way_are_refused() -> None:
    kernel = on_four(jacobi_2d, shard={"A": 0})
    A = np.zeros((8, 8))
    with pytest.raises(PolyoptError, match="along axis 1") as caught:
        kernel(1, po.distribute(A, axis=1), A.copy())
    assert caught.value.code == "PO0857"
    twice = po.distribute(A)
    with pytest.raises(PolyoptError, match="passed twice") as caught:
        kernel(1, twice, twice)
    assert caught.value.code == "PO0857"
    in_turn = on_four(jacobi_2d, shard={"A": po.cyclic(0, 2)})
    with pytest.raises(PolyoptError, match="deals blocks in turn") as caught:
        in_turn(1, po.distribute(A), A.copy())
    assert caught.value.code == "PO0857"
    whole = po.kernel(gemm, mesh=po.mesh(4), shard={"C": 0}, threads=1)
    with pytest.raises(PolyoptError, match="has it whole") as caught:
        whole(1.0, 1.0, A, po.distribute(A), A.copy())
    assert caught.value.code == "PO0857"


@pytest.mark.toolchain
def test_a_job_of_another_number_of_ranks_is_refused() -> None:
    kernel = po.kernel(jacobi_2d, mesh=po.mesh(2, 2), shard={"A": (0, 1)}, threads=1)
    A = np.zeros((8, 8))
    with pytest.raises(PolyoptError, match="4 ranks in a job of 3") as caught:
        kernel.simulate(1, A, A.copy(), ranks=3)
    assert caught.value.code == "PO0855"


def test_ranks_without_mpi4py_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.setattr(transport, "_KNOWN", {})
    with pytest.raises(PolyoptError) as caught:
        transport.world(1.0)
    assert caught.value.code == "PO0852"
    assert "polyopt[mpi]" in str(caught.value)


def test_a_process_of_its_own_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"):
        monkeypatch.delenv(name, raising=False)
    assert transport.world(1.0).size == 1


def test_too_long_a_wait_names_the_ranks() -> None:
    error = transport.too_long(1, [0, 3], 2.5)
    assert error.code == "PO0860"
    assert "rank 1 has waited 2.5 s for ranks 0, 3" in str(error)


def _bytes(count: int) -> Any:
    return np.zeros(count, np.uint8)


def never_sent(t: Simulated) -> None:
    t.begin(0, {}, {1 - t.rank: 4})()


def crossed(t: Simulated) -> None:
    t.begin(t.rank, {1 - t.rank: _bytes(4)}, {1 - t.rank: 4})()


def too_short(t: Simulated) -> None:
    t.begin(0, {1 - t.rank: _bytes(3)}, {1 - t.rank: 4})()


def never_received(t: Simulated) -> None:
    t.begin(0, {1 - t.rank: _bytes(3)}, {})()


def other_collective(t: Simulated) -> None:
    if t.rank:
        t.reduce_all(np.zeros(2), "+", np.add)
    t.gather_all(_bytes(1), [1, 1])


def one_left_out(t: Simulated) -> None:
    if t.rank:
        t.reduce_all(np.zeros(2), "+", np.add)


def other_root(t: Simulated) -> None:
    t.broadcast(_bytes(4), t.rank, 4)


def nothing_to_broadcast(t: Simulated) -> None:
    t.broadcast(None, 0, 4)


def other_count(t: Simulated) -> None:
    t.gather_all(_bytes(2), [2, 3])


def too_short_to_all(t: Simulated) -> None:
    t.all_to_all([_bytes(2), _bytes(3)], [2, 3])


def sums_of_other_parts(t: Simulated) -> None:
    t.reduce_scatter([np.zeros(1 + t.rank), np.zeros(2)], "+", np.add)


def scans_of_other_lengths(t: Simulated) -> None:
    t.scan(np.zeros(1 + t.rank), "+", np.add)


def another_scan(t: Simulated) -> None:
    t.scan(np.zeros(1), "+*"[t.rank], np.add)


FAULTS = [
    (too_short_to_all, "PO0863"),
    (sums_of_other_parts, "PO0863"),
    (scans_of_other_lengths, "PO0863"),
    (another_scan, "PO0864"),
    (never_sent, "PO0862"),
    (crossed, "PO0862"),
    (too_short, "PO0863"),
    (never_received, "PO0863"),
    (other_collective, "PO0864"),
    (one_left_out, "PO0862"),
    (other_root, "PO0864"),
    (nothing_to_broadcast, "PO0863"),
    (other_count, "PO0863"),
]


@pytest.mark.parametrize("act, code", FAULTS, ids=[f.__name__ for f, _ in FAULTS])
@pytest.mark.parametrize("delay", [0.0, 0.003])
def test_the_simulator_finds(act: Any, code: str, delay: float) -> None:
    with pytest.raises(PolyoptError) as caught:
        simulate(2, act, seed=1, delay=delay)
    assert caught.value.code == code
