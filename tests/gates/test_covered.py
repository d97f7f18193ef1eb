"""What is said of lines and branches that tests run."""

from __future__ import annotations

from typing import Any

from tests.covered import missed, summary


def function(covered: int, branches: int) -> dict[str, Any]:
    figures = {"covered_lines": covered, "missing_branches": branches, "missing_lines": 4}
    return {"start_line": 7, "summary": figures}


RECORD = {
    "totals": {
        "num_statements": 200, "covered_lines": 150, "num_branches": 40, "covered_branches": 10,
    },
    "files": {
        "polyopt/one.py": {
            "functions": {"never_ran": function(0, 9), "ran": function(3, 2), "all": function(5, 0)}
        },
        "polyopt/empty.py": {},
    },
}  # fmt: skip


def test_shares() -> None:
    assert summary(RECORD) == "150 of 200 lines, 75.0%; 10 of 40 branches, 25.0%"


def test_functions_that_ran_in_part() -> None:
    (found,) = missed(RECORD)
    assert (found.place, found.branches, found.lines) == ("polyopt/one.py:7 ran", 2, 4)
