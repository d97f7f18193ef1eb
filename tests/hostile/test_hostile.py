"""The generator, the comparison and the shrinker tested; some hundred programs run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from polyopt.frontend import build
from tests.hostile import reference
from tests.hostile.compare import Allowed, compare_calls, is_within
from tests.hostile.generator import generate
from tests.hostile.grammar import PRODUCTIONS
from tests.hostile.judging import judge
from tests.hostile.pool import Result, run_tasks, tasks_of
from tests.hostile.program import HostileProgram, loaded, parse
from tests.hostile.reference import Returned, TooLong, run_bounded
from tests.hostile.shrink import shrunk
from tests.hostile.stages import interpreted, one, settings
from tests.hostile.verdicts import Outcome
from tests.properties.batch import apart

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.py"))
FIRST, COUNT, IN_C = 1_000_000, 150, 20
RARE = (2_000_971,)
"""Seeds of programs with productions that one of a thousand has."""


@pytest.fixture(scope="module")
def programs() -> Iterator[list[HostileProgram]]:
    with tempfile.TemporaryDirectory() as directory:
        yield [generate(seed, Path(directory)) for seed in range(FIRST, FIRST + COUNT)]


def _bad(results: list[Result]) -> list[str]:
    return [
        f"seed {r.seed}: {r.verdict.outcome.value}, {r.verdict.code}: {r.verdict.text}"
        for r in results
        if r.verdict.outcome.is_finding
    ]


def test_programs_interpreted() -> None:
    seeds = range(FIRST, FIRST + COUNT)
    results = list(run_tasks(tasks_of(seeds, "interp", (), 30), 2))
    assert sorted(r.seed for r in results) == list(seeds)
    assert not _bad(results)
    assert sum(r.verdict.outcome is Outcome.OK for r in results) > COUNT // 2


@pytest.mark.toolchain
def test_programs_in_c() -> None:
    chosen = settings("both", (1, 2))
    results = list(run_tasks(tasks_of(range(FIRST, FIRST + IN_C), "c", chosen, IN_C // 2), 2))
    assert len(results) == IN_C
    assert not _bad(results)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
@pytest.mark.parametrize("target", ["interp", pytest.param("c", marks=pytest.mark.toolchain)])
def test_corpus(path: Path, target: str, tmp_path: Path) -> None:
    verdict = one(parse(path.read_text()), target, tmp_path, settings("strict", (1,)))
    assert not verdict.outcome.is_finding, verdict


def test_same_seed_same_program(tmp_path: Path) -> None:
    for seed in (0, 7, 41):
        assert generate(seed, tmp_path) == generate(seed, tmp_path)
    assert generate(1, tmp_path) != generate(2, tmp_path)


def test_every_production_appears(programs: list[HostileProgram], tmp_path: Path) -> None:
    names = {p.name for listed in PRODUCTIONS.values() for p in listed}
    missing = names - {name for program in programs for name in program.productions}
    for seed in (*RARE, *range(FIRST + COUNT, FIRST + 5 * COUNT)):
        if not missing:
            break
        missing -= generate(seed, tmp_path).productions
    assert not missing


def test_programs_are_short(programs: list[HostileProgram]) -> None:
    lines = [program.main.partition("def f(")[2].count("\n") for program in programs]
    assert 3 <= sorted(lines)[len(lines) // 2] <= 25


def test_text_and_back(programs: list[HostileProgram]) -> None:
    for program in programs[:20]:
        again = parse(program.show("a note"))
        assert {k: v.strip() for k, v in again.modules.items()} == {
            k: v.strip() for k, v in program.modules.items()
        }
        assert again.calls == program.calls


def test_planted_defect_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A front end that takes `-` for `+` is caught by few programs, and shrunk to one line."""
    from polyopt.frontend import build as real
    from tests.hostile import stages

    def swapped(function, types):
        text = Path(function.__code__.co_filename).read_text().replace(" - ", " + ")
        space = dict(function.__globals__)
        path = tmp_path / "swapped.py"
        path.write_text(text)
        import linecache

        linecache.checkcache(str(path))
        exec(
            compile(text.replace("from .", "from tests.hostile.corpus."), str(path), "exec"), space
        )
        return real(space["f"], types)

    monkeypatch.setattr(stages, "build", swapped)
    bad = []
    for seed in range(FIRST, FIRST + 40):
        program = generate(seed, tmp_path)
        if "consts" in program.modules:
            continue
        if interpreted(program, tmp_path).outcome is Outcome.WRONG:
            bad.append(program)
    assert len(bad) >= 3

    def fails(smaller: HostileProgram) -> bool:
        return interpreted(smaller, tmp_path).outcome is Outcome.WRONG

    small = shrunk(min(bad, key=lambda p: len(p.main)), fails, 30.0)
    assert fails(small)
    assert " - " in small.main
    assert small.main.count("\n") <= 8
    assert build is real


@pytest.mark.parametrize(
    "want, got, kind",
    [
        (1, np.int64(1), None),
        (1, np.float64(1), "type"),
        (True, np.int64(1), "type"),
        (2**64, np.int64(0), "value"),
        (0.0, np.float64(-0.0), "value"),
        (float("nan"), np.float64("nan"), None),
        ((1, 2.0), (np.int64(1), np.float64(2)), None),
        ((1, 2.0), np.int64(1), "type"),
        ([1.0, 2.0], (np.float64(1), np.float64(2)), None),
        ([1.0, 2.0], np.array([1.0, 2.0]), None),
        ((1.0, 2.0), np.array([1.0, 2.0]), "type"),
        (np.zeros(2), np.zeros(3), "shape"),
        (np.zeros(2), np.zeros(2, np.float32), "type"),
        (None, np.int64(0), "type"),
    ],
)
def test_comparison(want, got, kind) -> None:
    found = compare_calls(want, (), got, (), Allowed())
    assert (found.kind if found else None) == kind


@pytest.mark.parametrize(
    "want, got, fits",
    [
        (1, np.float64(1), True),
        (1, np.int32(1), True),
        (1, np.bool_(True), False),
        (np.float32(0.1), np.float64(np.float32(0.1)), True),
        (np.float64(0.1), np.float32(0.1), False),
        (np.float64(0.5), np.complex128(0.5), True),
        (2**60 + 1, np.float64(2**60 + 1), False),
        (np.int64(3), np.int32(3), False),
    ],
)
def test_wider_types(want, got, fits) -> None:
    assert (compare_calls(want, (), got, (), Allowed(wider=True)) is None) is fits
    assert compare_calls(want, (), got, (), Allowed()) is not None


def test_types_of_names_are_seen() -> None:
    def one(n):
        s = 0
        for i in range(n):
            s += i
        return s

    def several(n):
        s = 0
        for i in range(n):
            s += 0.5 * i
        return s

    seen = [run_bounded(function, (n,)) for function in (one, several) for n in (3, 0)]
    assert [found.mixed for found in seen if isinstance(found, Returned)] == [
        False, True, True, True,
    ]  # fmt: skip


def test_effects_are_compared() -> None:
    found = compare_calls(None, (np.zeros(2),), None, (np.ones(2),), Allowed())
    assert found is not None
    assert found.kind == "effect"
    near = Allowed(1e-11, 100.0)
    assert compare_calls(1.0, (), np.float64(1.0 + 1e-10), (), near) is None
    assert compare_calls(1.0, (), np.float64(1.0 + 1e-8), (), near) is not None


@pytest.mark.parametrize(
    "got, near",
    [
        (((8.0, 3), np.array([2, 5])), True),
        (((8.5, 3), np.array([2, 5])), True),
        (((8.0, 3), np.array([2, 6])), True),
        (((9.5, 3), np.array([2, 5])), False),
        (((8.0, 4), np.array([2, 5])), False),
        (((8.0, 3), np.array([2, 4, 5])), False),
    ],
)
def test_as_near_as_after_some_roundings(got, near) -> None:
    want = ((8.0, 3), np.array([2, 5]))
    others = [((8.25, 3), np.array([2, 6])), ((7.0, 3), np.array([2, 5]))]
    assert is_within(want, others, got) is near


def test_orders_of_sums_in_single_precision(tmp_path: Path) -> None:
    """A sum in another order is told from one with another term, in integers too."""
    text = """# file: main
import numpy as np

def f(a, b):
    b[0] = (a @ a) * 1e6
    return np.int64(b[0] * 1e3)
# call
a = np.array([4.111, 1.802, 2.455, -0.942], np.float32)
b = np.zeros(1)
args = (a, b)
"""
    program = parse(text)
    with loaded(program, tmp_path) as function:
        for scale, outcome in ((1 + 2e-7, Outcome.UNSTABLE), (1 + 1e-4, Outcome.WRONG)):

            def call(a, b, scale=scale):
                b[0] = np.float64((a @ a) * np.float32(1e6)) * scale
                return np.int64(b[0] * 1e3)

            verdict = judge(function, call, program.calls[0], 0, exact=True)
            assert verdict.outcome is outcome


def test_orders_of_products_that_underflow(tmp_path: Path) -> None:
    """A product that is nan in another order is told from one that is wrong in each."""
    text = """# file: main
import numpy as np

def f(a):
    return np.prod(a)
# call
a = np.array([-inf, 1e-40, 5e-324, 2.0])
args = (a,)
"""
    program = parse(text)
    with loaded(program, tmp_path) as function:
        verdicts = [
            judge(function, call, program.calls[0], 0, exact=True).outcome
            for call in (lambda a: a[0] * (a[1] * a[2]) * a[3], lambda a: np.float64(1.0))
        ]
    assert verdicts == [Outcome.UNSTABLE, Outcome.WRONG]


def test_a_line_that_never_ends(monkeypatch) -> None:
    monkeypatch.setattr(reference, "SECONDS", 0.2)
    assert isinstance(run_bounded(lambda n: 2 ** (1 << n), (63,)), TooLong)
    assert isinstance(run_bounded(lambda n: 2 ** (1 << n), (3,)), Returned)


def test_constants_of_names_have_the_precision_of_other_paths(tmp_path: Path) -> None:
    """As documented; another result is wrong as before."""
    text = """# file: main
import numpy as np

def f(a, x):
    v = 0.0
    if a[0] > 1:
        v = a[0]
    return x == v
# call
a = np.zeros(1, np.float32)
args = (a, 1e-60)
"""
    program = parse(text)
    with loaded(program, tmp_path) as function:
        verdicts = [
            judge(function, call, program.calls[0], 0, exact=True).outcome
            for call in (lambda a, x: np.float32(x) == np.float32(0.0), lambda a, x: np.float64(2))
        ]
    assert verdicts == [Outcome.OK, Outcome.WRONG]


def test_functions_of_several_texts_are_told_apart() -> None:
    text = "__attribute__((noinline)) static void part(int a)\n{\n}\nint k(void) { part(1); }\n"
    assert "static void part_7(int a)" in apart(text, 7)
    assert "part_7(1)" in apart(text, 7)
