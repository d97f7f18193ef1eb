"""A report as workflow commands of GitHub Actions: `::error file=…,line=…::message`.

In: a `Report`.  Out: one line a finding; what is proven makes none.
Whatever a source line or a name holds, a command stays one line and one command.
"""

from __future__ import annotations

import os

from polyopt.errors import Loc, printable
from polyopt.report.findings import Finding, Report, Verdict
from polyopt.report.sarif import message


def workflow_commands(report: Report) -> list[str]:
    """Return the lines to print."""
    lines = [_finding(finding) for finding in report.failures]
    for one in report.skipped:
        text = f"{one.function}: skipped: {one.error.message}"
        lines.append(_command("notice", one.error.loc, one.error.code, text))
    return lines


def _finding(finding: Finding) -> str:
    error = finding.error
    assert error is not None, "what is not proven has a reason"
    kind = "warning" if finding.verdict is Verdict.OPEN else "error"
    return _command(kind, finding.loc, error.code, message(finding))


def _command(kind: str, loc: Loc | None, title: str, text: str) -> str:
    properties = {} if loc is None else _properties(loc)
    properties["title"] = f"polyopt {title}"
    shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {shown}::{_data(printable(text))}"


def _properties(loc: Loc) -> dict[str, str]:
    try:
        file = os.path.relpath(loc.file)
    except (OSError, ValueError):
        file = loc.file
    found = {"file": file, "line": str(loc.line), "col": str(loc.col)}
    if loc.end_line == loc.line and loc.end_col > loc.col:
        found["endColumn"] = str(loc.end_col)
    return found


def _data(text: str) -> str:
    """Escape a message: `%` and line ends."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape the value of a property: `:` and `,` as well."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
