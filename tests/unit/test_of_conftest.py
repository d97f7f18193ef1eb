"""What all tests use: `--one-in N`, and C that is built on a busy machine."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import conftest

COUNT = 400


class Item(SimpleNamespace):
    """A test, which can be an element of a set."""

    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__

    def add_marker(self, mark: object) -> None:
        """Do nothing."""


def items(marked: bool = False) -> list[Item]:
    mark = SimpleNamespace() if marked else None
    return [
        Item(nodeid=f"tests/test_some.py::test_{n}", get_closest_marker=lambda _: mark)
        for n in range(COUNT)
    ]


@pytest.fixture(autouse=True)
def none_pure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "is_pure", lambda item: item.nodeid.endswith("_7"))


def drawn(count: int, marked: bool = False) -> list[str]:
    return [one.nodeid for one in items(marked) if conftest.is_drawn(one, count)]


@pytest.mark.parametrize("count", [2, 5, 20])
def test_about_one_in_so_many_is_drawn_and_always_the_same(count: int) -> None:
    found = drawn(count)
    assert found == drawn(count)
    assert 0.5 * COUNT / count < len(found) < 1.6 * COUNT / count
    assert "tests/test_some.py::test_7" in found  # pure


def test_all_that_depend_on_the_machine_are_drawn() -> None:
    assert len(drawn(50, marked=True)) == COUNT


def test_the_option_leaves_out_the_others() -> None:
    chosen = items()
    left: list[Item] = []
    options = {"--share": False, "--one-in": 5}
    config = SimpleNamespace(
        getoption=options.__getitem__,
        hook=SimpleNamespace(pytest_deselected=lambda items: left.extend(items)),
    )
    conftest.pytest_collection_modifyitems(config, chosen)  # type: ignore[arg-type]
    assert [one.nodeid for one in chosen] == drawn(5)
    assert len(chosen) + len(left) == COUNT


@pytest.mark.parametrize(("args", "cases", "count"), [((), 400, 13), ((4,), 400, 100), ((), 7, 1)])
def test_a_share_of_a_matrix_runs_and_at_least_one_case(
    args: tuple[int, ...], cases: int, count: int
) -> None:
    mark = SimpleNamespace(args=args)
    matrix = [Item(nodeid=f"a.py::b[{n}]", get_closest_marker=lambda _: mark) for n in range(cases)]
    others = items()
    chosen = conftest.shared_out([*matrix, *others])  # type: ignore[list-item]
    assert set(others) <= set(chosen)
    assert len(chosen) - len(others) in (count, count + 1)


FAILS = """#!/bin/sh
echo >> "{starts}"
if [ ! -e "{once}" ]; then
    touch "{once}"
    echo "{says}" >&2
    exit 1
fi
exec {tool} "$@"
"""


@pytest.mark.toolchain
def test_a_compiler_that_is_killed_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = conftest.compiler()
    says = "gcc: fatal error: Killed signal terminated program cc1"
    path = tmp_path / "tool"
    starts = tmp_path / "starts"
    path.write_text(FAILS.format(once=tmp_path / "once", says=says, tool=tool, starts=starts))
    path.chmod(0o700)
    monkeypatch.setenv("CC", str(path))
    monkeypatch.setattr(conftest, "PAUSES", (0.0, 0.0, 0.0))
    assert conftest.build("int f(void) { return 7; }", tmp_path).f() == 7
    assert starts.read_text() == 2 * "\n"
    with pytest.raises(AssertionError, match="error"):
        conftest.build("int f(void) { return }", tmp_path)
    assert starts.read_text() == 3 * "\n"
