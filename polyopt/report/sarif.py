"""A report as SARIF 2.1.0, which code hosts show beside the lines it is about.

In: a `Report`, polyopt's version.  Out: plain data.  What is proven makes no result.
Files are named relative to the working directory where they lie below it.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from polyopt.digest import hex_digest
from polyopt.errors import Loc, printable
from polyopt.report.catalogue import CATALOGUE
from polyopt.report.findings import Finding, Report, Skipped, Verdict

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {
    Verdict.REFUTED: "error",
    Verdict.MISFIT: "error",
    Verdict.OPEN: "warning",
    Verdict.PROVEN: "none",
}


def sarif(report: Report, version: str) -> dict[str, object]:
    """Return the report as a SARIF log of one run."""
    failures = report.failures
    codes = sorted({f.error.code for f in failures if f.error is not None})
    numbers = {code: number for number, code in enumerate(codes)}
    driver = {
        "name": "polyopt",
        "version": version,
        "rules": [_rule(code) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"ROOT": {"uri": _uri(Path.cwd().as_posix()) + "/"}},
        "invocations": [_invocation(report)],
        "results": [_result(finding, numbers) for finding in failures],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _invocation(report: Report) -> dict[str, object]:
    notes = [_notification(one) for one in report.skipped]
    return {"executionSuccessful": True, "toolExecutionNotifications": notes}


def _notification(skipped: Skipped) -> dict[str, object]:
    error = skipped.error
    text = f"{skipped.function}: skipped: {error.message} ({error.code})"
    note: dict[str, object] = {"level": "note", "message": {"text": printable(text)}}
    if error.loc is not None:
        note["locations"] = [_location(error.loc)]
    return note


def _rule(code: str) -> dict[str, object]:
    rule: dict[str, object] = {"id": code}
    entry = CATALOGUE.get(code)
    if entry is not None:
        rule |= {
            "shortDescription": {"text": entry.meaning},
            "fullDescription": {"text": f"{entry.meaning} For example: {entry.example}"},
            "help": {"text": entry.action},
        }
    return rule


def _result(finding: Finding, numbers: dict[str, int]) -> dict[str, object]:
    error = finding.error
    assert error is not None, "what is not proven has a reason"
    result: dict[str, object] = {
        "ruleId": error.code,
        "ruleIndex": numbers[error.code],
        "level": LEVELS[finding.verdict],
        "kind": "fail",
        "message": {"text": printable(message(finding))},
        "partialFingerprints": {"polyoptClaim/v1": _fingerprint(finding)},
    }
    if finding.loc is not None:
        result["locations"] = [_location(finding.loc)]
    related = [
        {"id": number, **_location(place.loc), "message": {"text": printable(place.text)}}
        for number, place in enumerate(finding.places)
    ]
    if related:
        result["relatedLocations"] = related
    properties = {"function": finding.function, "claim": finding.claim}
    result["properties"] = {
        **properties,
        **({} if finding.witness is None else {"witness": finding.witness}),
        **({} if finding.repair is None else {"repair": finding.repair}),
    }
    return result


def message(finding: Finding) -> str:
    """Return why a claim does not hold, with the example and what to do, as a few lines."""
    error = finding.error
    assert error is not None
    said = "" if error.message.startswith(finding.claim) else f"{finding.claim}: "
    lines = [f"{finding.function}: {said}{error.message}"]
    lines += error.notes
    if error.hint is not None:
        lines.append(f"help: {error.hint}")
    return "\n".join(lines)


def _fingerprint(finding: Finding) -> str:
    """Return what stays the same when lines move: code, function and claim, not the place."""
    error = finding.error
    text = f"{'' if error is None else error.code}\n{finding.function}\n{finding.claim}"
    return hex_digest(text.encode(), 16)


def _location(loc: Loc) -> dict[str, object]:
    region = {"startLine": max(1, loc.line), "startColumn": max(1, loc.col)}
    if loc.end_line == loc.line and loc.end_col > loc.col:
        region |= {"endLine": loc.line, "endColumn": loc.end_col}
    return {
        "physicalLocation": {"artifactLocation": _artifact(loc.file), "region": region},
    }


def _artifact(file: str) -> dict[str, object]:
    try:
        relative = os.path.relpath(file)
    except (OSError, ValueError):
        relative = os.pardir
    if relative.startswith(os.pardir):
        return {"uri": _uri(os.path.abspath(file))}
    return {"uri": quote(Path(relative).as_posix()), "uriBaseId": "ROOT"}


def _uri(path: str) -> str:
    return f"file://{quote(path)}"
