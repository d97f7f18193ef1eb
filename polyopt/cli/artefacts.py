"""Checking what `polyopt compile` wrote: the text is the proven loops', and the proof holds.

In: a folder, a text or a certificate.  Out: `Finding`s.
Refuses: a text without certificate (PO0623), a certificate that is none (PO0622).
"""

from __future__ import annotations

import time
from pathlib import Path

from polyopt.artefact import (
    MAX_BYTES,
    SUFFIX,
    Artefact,
    digest_of,
    emitted,
    first_difference,
    proven_again,
    read_artefact,
    says_the_same,
)
from polyopt.errors import BudgetError, Loc, PolyoptError, ToolchainError, UsageError
from polyopt.files import read_regular
from polyopt.ir.affine import quota
from polyopt.ir.source import Source
from polyopt.ir.target import TARGETS
from polyopt.proof import Certificate
from polyopt.report.findings import Finding, Verdict
from polyopt.textcheck.tokens import is_same

READ_BUDGET = 5_000_000
"""isl operations for reading a text back: seconds."""


def find_artefacts(text: str) -> tuple[Path, ...]:
    """Return the certificates that a target names: none if it is no artefact."""
    path = Path(text)
    if path.is_dir():
        return tuple(sorted(path.glob(f"*{SUFFIX}")))
    if text.endswith(".json"):
        return (path,)
    if path.suffix in (*(target.suffix for target in TARGETS.values()), ".h"):
        beside = path.with_name(path.stem + SUFFIX)
        if not path.is_file():
            raise UsageError("PO0601", f"there is no file `{path}`")
        if not beside.is_file() and path.suffix == ".c":
            return ()
        if not beside.is_file():
            raise UsageError(
                "PO0623",
                f"`{path}` has no certificate: there is no `{beside.name}` beside it",
                hint="write both with `polyopt compile FILE.py:FUNC -o DIR`",
            )
        return (beside,)
    return ()


def is_foreign(text: str) -> bool:
    """Tell whether a target is a C file without a certificate."""
    return text.endswith(".c") and not find_artefacts(text)


def check_text(text: str) -> tuple[Finding, ...]:
    """Judge a C file by itself; raises PO0601, PO0622, PO0628."""
    from polyopt.textcheck import judge_text

    return judge_text(_text(Path(text)), text)


def check_artefact(path: Path) -> tuple[Finding, ...]:
    """Judge one artefact: each claim made of it is a finding."""
    started = time.perf_counter()
    name = path.name.removesuffix(SUFFIX)
    try:
        artefact = read_artefact(_text(path), path.name)
        printed = emitted(artefact, path.name)
    except PolyoptError as error:
        return (_failed(name, "the certificate can be read", path, error, started),)
    found = [_same_text(artefact, path, printed.text, started), *_read_back(artefact, path)]
    header = path.with_name(f"{name}.h")
    if isinstance(printed, Source) and header.is_file():
        found += _same_file(artefact.function, header, printed.header)
    return (*found, *_proof(artefact, path))


def _same_text(artefact: Artefact, path: Path, printed: str, started: float) -> Finding:
    """Judge that the text is what the recorded loops print."""
    name = path.name.removesuffix(SUFFIX)
    beside = path.with_name(name + TARGETS[artefact.language].suffix)
    claim = f"`{beside.name}` is the text of the certified loops"
    text = _text(beside) if beside.is_file() else None
    if text is not None and text != printed and not is_same(text, printed):
        return _failed(artefact.function, claim, beside, _differs(beside, printed, text), started)
    if artefact.digest != digest_of(printed):
        error = UsageError(
            "PO0623",
            f"`{path.name}` was made for another text than its loops print",
            notes=_versions(artefact),
            hint="compile the function again, with this version of polyopt",
        )
        return _failed(artefact.function, claim, path, error, started)
    seconds = time.perf_counter() - started
    return Finding(artefact.function, claim, Verdict.PROVEN, seconds=seconds, for_all=False)


def _read_back(artefact: Artefact, path: Path) -> list[Finding]:
    """Judge that the text, read by a parser, has the iterations and accesses of the loops.

    Nothing is found where the parser is not installed, or where the text is more than it reads.
    """
    from polyopt.textcheck.comparing import Uncompared, difference

    started = time.perf_counter()
    beside = path.with_name(path.name.removesuffix(SUFFIX) + TARGETS[artefact.language].suffix)
    if artefact.language != "c" or not beside.is_file():
        return []
    claim = f"`{beside.name}`, read back, runs the iterations and accesses of the certified loops"
    try:
        with quota(READ_BUDGET):
            found = difference(artefact.loops, _text(beside), str(beside))
    except (Uncompared, BudgetError, ToolchainError):
        return []
    if found is None:
        seconds = time.perf_counter() - started
        return [Finding(artefact.function, claim, Verdict.PROVEN, seconds=seconds)]
    error = UsageError(
        "PO0623",
        f"`{beside.name}` is not what was certified: {found.what}",
        loc=found.loc,
        hint="compile the function again; a text that was changed by hand is not proven",
    )
    return [_failed(artefact.function, claim, beside, error, started)]


def _same_file(function: str, path: Path, printed: str) -> list[Finding]:
    text = _text(path)
    if text == printed or is_same(text, printed):
        return []
    error = _differs(path, printed, text)
    return [_failed(function, f"`{path.name}` is the header of the certified loops", path, error)]


def _differs(path: Path, printed: str, text: str) -> UsageError:
    line, expected, found = first_difference(printed, text)
    return UsageError(
        "PO0623",
        f"`{path.name}` is not the text of the certified loops: line {line} differs",
        loc=Loc(str(path), line, 1, line, len(found) + 1),
        notes=(f"certified: {expected.strip()[:120]}", f"found:     {found.strip()[:120]}"),
        hint="compile the function again; a text that was changed by hand is not proven",
    )


def _versions(artefact: Artefact) -> tuple[str, ...]:
    made = ", ".join(f"{name} {version}" for name, version in sorted(artefact.versions.items()))
    return (f"it was made by {made}"[:200],)


def _proof(artefact: Artefact, path: Path) -> tuple[Finding, ...]:
    """Judge the loops against the program again, and compare with the recorded claims."""
    started = time.perf_counter()
    claim = "its loops compute what the program does"

    def failed(claim: str, error: PolyoptError, verdict: Verdict) -> Finding:
        return _failed(artefact.function, claim, path, error, started, verdict)

    if artefact.certificate is None:
        silent = UsageError("PO0623", f"`{path.name}` says that nothing was proven")
        return (failed(claim, silent, Verdict.OPEN),)
    try:
        certificate = proven_again(artefact, path.name)
    except PolyoptError as error:
        verdict = Verdict.OPEN if isinstance(error, BudgetError) else Verdict.REFUTED
        return (failed(claim, error, verdict),)
    found = faults(certificate, artefact.function, Loc(str(path), 1, 1, 1, 1))
    if not says_the_same(certificate, artefact.certificate):
        other = UsageError(
            "PO0624",
            f"`{path.name}` claims what was not proven, or not in these words",
            notes=_versions(artefact),
            hint="compile the function again, with this version of polyopt",
        )
        found.append(failed("its claims", other, Verdict.REFUTED))
    if not certificate.claims:
        empty = UsageError("PO0624", f"`{path.name}`: nothing is proven of such a program")
        found.append(failed(claim, empty, Verdict.OPEN))
    if found:
        return tuple(found)
    claim = f"{claim} ({len(certificate.claims)} claims)"
    seconds = time.perf_counter() - started
    return (Finding(artefact.function, claim, Verdict.PROVEN, seconds=seconds),)


_HINTS = {
    Verdict.REFUTED: "the loops are not those of the program: compile the function again",
    Verdict.OPEN: "compile with --schedule source: loops in the order they are written prove best",
}


def faults(certificate: Certificate, function: str, loc: Loc | None) -> list[Finding]:
    """Return the claims of a certificate that are not proven."""
    return [
        Finding(
            function,
            f"{claim.kind.value} of {claim.subject}",
            Verdict(claim.verdict.value),
            loc,
            UsageError(
                "PO0624",
                f"{claim.kind.value} of {claim.subject}: {claim.verdict.value}: {claim.reason}",
                notes=(f"formula: {claim.formula}"[:400],),
                hint=_HINTS[Verdict(claim.verdict.value)],
            ),
        )
        for claim in certificate.faults
    ]


def _failed(
    function: str,
    claim: str,
    path: Path,
    error: PolyoptError,
    started: float = 0.0,
    verdict: Verdict = Verdict.REFUTED,
) -> Finding:
    loc = error.loc or Loc(str(path), 1, 1, 1, 1)
    seconds = time.perf_counter() - started if started else 0.0
    return Finding(function, claim, verdict, loc, error, seconds=seconds)


def _text(path: Path) -> str:
    try:
        return read_regular(path, MAX_BYTES).decode()
    except FileNotFoundError:
        raise UsageError("PO0601", f"there is no file `{path}`") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError("PO0622", f"`{path}` cannot be read: {reason}") from None
