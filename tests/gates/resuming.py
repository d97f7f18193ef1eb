"""Tests of a goal as trials that are kept: `pytest -p tests.gates.resuming --done FILE`.

In: a file of the tests that passed, minutes; other options of pytest.  Out: with `--figures FILE`
how many of all tests have been run, and which were wrong; what passed earlier is not run again.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    parser.addoption("--done", type=Path, help="file of what passed; goes on from it")
    parser.addoption("--figures", type=Path, help="write the figures here")
    parser.addoption("--at-most", type=float, metavar="MINUTES", help="begin no test after so many")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to keep what passes where a file is named."""
    if config.getoption("--done") is not None:
        config.pluginmanager.register(_Kept(config), "kept tests")


class _Kept:
    """The tests of a session and of those before it."""

    def __init__(self, config: pytest.Config) -> None:
        self.done: Path = config.getoption("--done")
        self.figures: Path | None = config.getoption("--figures")
        minutes = config.getoption("--at-most")
        self.end = time.monotonic() + 60.0 * minutes if minutes else float("inf")
        known = self.done.read_text().splitlines() if self.done.exists() else ()
        self.passed = {name: word for name, _, word in (one.rpartition(" ") for one in known)}
        self.wrong: dict[str, None] = {}
        self.all: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out what passed."""
        self.all = [item.nodeid for item in items]
        left = [item for item in items if item.nodeid in self.passed]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item.nodeid not in self.passed]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what failed; a test has passed after its last phase."""
        if report.failed:
            self.wrong[report.nodeid] = None
        elif report.skipped:
            self.passed[report.nodeid] = "skipped"
        if report.when == "teardown" and report.nodeid not in self.wrong:
            word = self.passed.setdefault(report.nodeid, "passed")
            with self.done.open("a") as file:
                file.write(f"{report.nodeid} {word}\n")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Begin no further test when the time is over."""
        if time.monotonic() > self.end:
            item.session.shouldstop = "the time is over"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the figures; a session that ran out of time is no failure."""
        found = [name for name in self.all if name in self.passed]
        skipped = sum(self.passed[name] == "skipped" for name in found)
        figures = {
            "count": len(found) - skipped + len(self.wrong), "wrong": list(self.wrong),
            "asked": len(self.all) - skipped, "note": f"{skipped} skipped",
        }  # fmt: skip
        if self.figures is not None:
            self.figures.write_text(json.dumps(figures, indent=1))
        if session.shouldstop == "the time is over":
            session.exitstatus = pytest.ExitCode.OK
