"""The search, in a world where a schedule's time is a formula."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from polyopt.tuning.knobs import knobs
from polyopt.tuning.search import GAIN, Candidate, Found, search


class World:
    """Each building takes a second; a kernel is its own time."""

    def __init__(self, cost: Callable[[Candidate], float | None]) -> None:
        self.cost, self.now, self.built = cost, 0.0, []

    def build(self, candidate: Candidate, seconds: float) -> object | None:
        assert seconds > 0
        self.now += 1.0
        self.built.append(candidate)
        return self.cost(candidate)

    def race(self, champion: object, challenger: object) -> tuple[float, float]:
        assert isinstance(champion, float)
        assert isinstance(challenger, float)
        return champion, challenger

    def clock(self) -> float:
        return self.now


def _far_from(*wanted: int) -> Callable[[Candidate], float]:
    def cost(candidate: Candidate) -> float:
        values = [knob.value for knob in knobs(candidate.text)]
        ratios = (max(v / w, w / v) for v, w in zip(values, wanted, strict=True))
        return 1.0 + sum(ratios)

    return cost


def _search(world: World, text: str, seconds: float, **more: object) -> Found:
    start = Candidate(text)
    first = world.cost(start)
    given = {"others": [], "threads": [], **more}
    return search(start, first, seconds=seconds, shop=world, **given)


def test_the_best_sizes_are_found_from_afar():
    world = World(_far_from(64, 512))
    found = _search(world, "tile(L0, 8, 8)", 1000.0)
    assert found.is_complete
    assert (
        found.seconds == world.cost(found.best) < 1.1 * world.cost(Candidate("tile(L0, 64, 512)"))
    )
    assert found.before == pytest.approx(_far_from(64, 512)(Candidate("tile(L0, 8, 8)")))
    assert len(set(world.built)) == len(world.built) == found.tried


def test_the_time_is_kept():
    world = World(_far_from(64, 512))
    found = _search(world, "tile(L0, 8, 8)", 5.5)
    assert world.now <= 5.5
    assert not found.is_complete
    assert found.tried == 5
    assert _search(World(_far_from(1)), "tile(L0, 8)", 0.0).tried == 0


def test_what_cannot_be_built_is_passed_over():
    def cost(candidate: Candidate) -> float | None:
        return None if knobs(candidate.text)[0].value < 64 else _far_from(64)(candidate)

    world = World(cost)
    found = search(Candidate("tile(L0, 512)"), 9.0, [], [], 100.0, world)
    assert found.best.text == "tile(L0, 64)"


def test_noise_is_no_improvement():
    world = World(lambda candidate: 1.0 if candidate.text == "tile(L0, 8)" else GAIN + 0.01)
    assert _search(world, "tile(L0, 8)", 50.0).best.text == "tile(L0, 8)"


def test_other_schedules_and_threads():
    def cost(candidate: Candidate) -> float:
        time = 2.0 if candidate.text == "parallelize(i)" else 4.0
        return time / 2 if candidate.threads == 1 else time

    found = _search(World(cost), "tile(L0, 8)", 50.0, others=[Candidate("parallelize(i)")],
                    threads=[1])  # fmt: skip
    assert found.best == Candidate("parallelize(i)", 1)
    assert (found.before, found.seconds) == (4.0, 1.0)
    again = _search(World(cost), "parallelize(i)", 9.0, others=[Candidate("tile(L0, 8)")])
    assert again.best.text == "parallelize(i)"
    assert again.tried == 1
