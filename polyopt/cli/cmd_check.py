"""`polyopt check TARGET…`: prove or refute what is said of loops, schedules and compiled files.

In: functions, files, folders or artefacts; claims.  Out: every claim's verdict as text, JSON, SARIF
or annotations; exit code 1 where one is not proven.  Needs no compiler.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence

import click

from polyopt.cli.artefacts import (
    check_artefact,
    check_text,
    faults,
    find_artefacts,
    is_foreign,
)
from polyopt.cli.console import (
    complain,
    has_colour,
    own_version,
    paint_error,
    result,
    result_json,
    short_path,
    shorten,
    talk,
)
from polyopt.cli.exits import Exit
from polyopt.cli.load import Target, load_target
from polyopt.cli.prepare import (
    Prepared,
    compile_prepared,
    json_option,
    make_options,
    parse_sizes,
    prepare_target,
    schedule_options,
    sizes_option,
)
from polyopt.cli.subjects import Chosen, choose
from polyopt.dataclass import dataclass, replace
from polyopt.errors import (
    InternalError,
    Loc,
    PolyoptError,
    ScheduleError,
    UsageError,
    is_debugging,
    render,
)
from polyopt.frontend.syntax.parallel_claims import LoopClaim, Said, Unclear, claims_in
from polyopt.proof import certify
from polyopt.report.claims import Subject
from polyopt.report.findings import Accepted, Finding, Report, Skipped, Verdict
from polyopt.schedulefile import WHOLE
from polyopt.transforms import show_schedules


@dataclass(frozen=True, eq=False)
class Claims:
    """What the command line claims of each function."""

    parallel: tuple[str, ...] = ()
    fuse: tuple[tuple[str, str], ...] = ()
    schedule: str | None = None
    steps: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """Whether anything is claimed."""
        return bool(self.parallel or self.fuse or self.steps or self.schedule is not None)


@click.command("check")
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@click.option(
    "--parallel", metavar="LOOP", multiple=True, help="Claim that a loop is parallel; repeatable."
)
@click.option(
    "--fuse",
    "--fusable",
    metavar="LOOP LOOP",
    nargs=2,
    multiple=True,
    help="Claim that two loops may run as one; repeatable.",
)
@schedule_options
@click.option("--step", "steps", metavar="STEP", multiple=True, help="Claim one step; repeatable.")
@click.option("--compiled", is_flag=True, help="Prove the loops that polyopt makes of it as well.")
@click.option("--repair", is_flag=True, help="Print the schedule with refused steps repaired.")
@click.option("--all", "everything", is_flag=True, help="In folders: functions that claim nothing.")
@click.option("--strict", is_flag=True, help="Fail where a function cannot be read.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    show_default=True,
    help="How verdicts are printed.",
)
@click.option(
    "--types",
    metavar="TYPES",
    help='Types of the arguments, such as "f64[:,:],i64,=2"; told from the function otherwise.',
)
@sizes_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    targets: tuple[str, ...],
    parallel: tuple[str, ...],
    fuse: tuple[tuple[str, str], ...],
    schedule: str | None,
    steps: tuple[str, ...],
    compiled: bool,
    repair: bool,
    everything: bool,
    strict: bool,
    form: str,
    types: str | None,
    sizes: str | None,
    as_json: bool,
) -> None:
    """Prove what is said of functions, files and artefacts, or refute it by an example.

    TARGET is FILE.py:FUNC, FILE.py, a folder, what `polyopt compile` wrote, or any C file.
    LOOP is a loop's name, its line, or its name in a schedule.
    """
    claims = Claims(parallel, fuse, schedule, steps)
    asked = _Asked(claims, types, parse_sizes(sizes), everything, compiled, repair)
    started = time.perf_counter()
    parts = [part for target in targets for part in _check(target, asked)]
    report = _joined(parts, time.perf_counter() - started)
    match "json" if as_json else form:
        case "json":
            result_json(report.to_record())
        case "sarif":
            from polyopt.report.sarif import sarif

            result_json(sarif(report, own_version()))
        case "github":
            from polyopt.report.github import workflow_commands

            for line in workflow_commands(report):
                result(line)
        case _:
            _print(report, repair)
    failed = any(not f.is_mended for f in report.failures) or (strict and report.skipped)
    context.exit(Exit.REJECTED if failed else Exit.OK)


@dataclass(frozen=True, eq=False)
class _Asked:
    """The command's options."""

    claims: Claims
    types: str | None
    sizes: Mapping[str, int]
    everything: bool
    compiled: bool
    repair: bool


def _joined(parts: Sequence[Report], seconds: float) -> Report:
    return Report(
        tuple(_shortened(finding) for part in parts for finding in part.findings),
        tuple(one for part in parts for one in part.accepted),
        tuple(one for part in parts for one in part.skipped),
        seconds,
    )


def _check(text: str, asked: _Asked) -> Iterator[Report]:
    """Yield what is found about one target, function by function."""
    certificates = find_artefacts(text)
    if certificates or is_foreign(text):
        if asked.claims.any:
            raise UsageError(
                "PO0607",
                f"`{text}` is a compiled file; loops and steps are those of a function",
                hint="write FILE.py:FUNCTION, or leave the claims out",
            )
        if certificates:
            yield Report(tuple(f for path in certificates for f in check_artefact(path)))
        else:
            yield Report(check_text(text))
        return
    chosen = _chosen(text, asked)
    yield Report((), (), chosen.skipped)
    for target in chosen.targets:
        yield _function(target, asked, chosen.named)


def _chosen(text: str, asked: _Asked) -> Chosen:
    """Return the functions to check; claims of the command line are about one function."""
    if not asked.claims.any and asked.types is None:
        return choose(text, asked.everything)
    return Chosen((load_target(text),))


def _function(target: Target, asked: _Asked, named: bool) -> Report:
    """Judge one function; one that cannot be read is skipped, or refused where it was named."""
    try:
        prepared = prepare_target(target, asked.types, asked.sizes)
        said = claims_in(target.func)
        subject = Subject(prepared.program, target.name)
        findings = tuple(_findings(subject, target, said, asked))
        if asked.compiled:
            findings = (*findings, *_compiled(prepared))
    except UsageError as error:
        if named:
            raise
        return Report((), (), (Skipped(_name(target), error),))
    except PolyoptError as error:
        if not named:
            return Report((), (), (Skipped(_name(target), error),))
        finding = Finding(target.name, "it can be compiled", Verdict.MISFIT, error.loc, error)
        return Report((finding,))
    except Exception as error:
        if named or is_debugging():
            raise
        what = f"polyopt failed on its own account ({type(error).__name__})"
        failure = InternalError("PO0901", what, hint="please report it with the function")
        return Report((Finding(target.name, "it can be judged", Verdict.OPEN, None, failure),))
    return Report(findings, (Accepted(target.name, subject.statements),))


def _name(target: Target) -> str:
    return f"{short_path(str(target.path))}:{target.name}"


def _findings(
    subject: Subject, target: Target, said: Sequence[LoopClaim | Unclear], asked: _Asked
) -> Iterator[Finding]:
    """Yield the verdicts on what the function says of itself, and on what the command claims."""
    for claim in said:
        yield from _of_source(subject, claim)
    claims = asked.claims
    for loop in claims.parallel:
        yield from subject.parallel(loop)
    for first, second in claims.fuse:
        yield subject.fuse(first, second)
    text = claims.schedule
    if text is None:
        own = getattr(getattr(target.kernel, "options", None), "schedule", None)
        text = own if isinstance(own, str) and own not in WHOLE else None
    if text is None and not claims.steps:
        return
    lines = ["" if text is None or text in WHOLE else text, *claims.steps]
    whole = text if not claims.steps and text not in (None, *WHOLE) else "\n".join(lines)
    judged = subject.steps(whole or "", asked.repair)
    yield from judged.findings
    if asked.repair:
        result(show_schedules(judged.schedules))


def _compiled(prepared: Prepared) -> Iterator[Finding]:
    """Yield the verdicts on the loops that polyopt makes of the function on this machine."""
    started = time.perf_counter()
    options = make_options(prepared.target.kernel)
    compilation = compile_prepared(prepared, options)
    program = compilation.written or prepared.program
    certificate = compilation.certificate or certify(program, compilation.loops)
    loc = Loc(program.file, program.line, 1, program.line, 1)
    found = faults(certificate, prepared.target.name, loc)
    yield from found
    if not found and certificate.claims:
        claim = f"its loops compute what it does ({len(certificate.claims)} claims)"
        seconds = time.perf_counter() - started
        yield Finding(prepared.target.name, claim, Verdict.PROVEN, loc, seconds=seconds)


def _of_source(subject: Subject, claim: LoopClaim | Unclear) -> Iterator[Finding]:
    """Yield the verdicts on one claim of the function's text."""
    match claim:
        case Unclear():
            error = ScheduleError(
                "PO0621",
                f"{subject.function}: {claim.reason}",
                loc=claim.loc,
                hint="write `# polyopt: parallel` or `# polyopt: fusable` at a loop",
            )
            what = "the comment is about a loop"
            yield Finding(subject.function, what, Verdict.MISFIT, claim.loc, error)
        case LoopClaim(said=Said.PARALLEL | Said.PRANGE as said):
            yield from subject.parallel_at(claim.loc, said is Said.PRANGE)
        case LoopClaim(before=before):
            assert before is not None
            yield subject.fuse_at(before, claim.loc)


def _print(report: Report, repair: bool) -> None:
    """Print verdicts: what is proven on stdout, what is not on stderr."""
    say = talk if repair else result
    claimed = {finding.function for finding in report.findings}
    for finding in report.findings:
        if finding.verdict is Verdict.PROVEN:
            scope = " for all sizes" if finding.for_all else ""
            say(f"{finding.function}: {finding.claim}: proven{scope}")
    for one in report.accepted:
        if one.function not in claimed:
            count = f"{one.statements} statement{'s' * (one.statements != 1)}"
            say(f"{one.function}: accepted, {count}; nothing was claimed")
    sys.stdout.flush()  # in the order of time where both streams go to one place
    for finding in report.failures:
        assert finding.error is not None
        text = render(finding.error)
        complain(paint_error(text) if has_colour(sys.stderr) else text)
    for skipped in report.skipped:
        talk(f"skipped {skipped.function}: {skipped.error.message} [{skipped.error.code}]")
    if len(report.findings) + len(report.skipped) > 1:
        talk(_summary(report))


def _shortened(finding: Finding) -> Finding:
    """Return the finding with files relative to the current directory."""
    if finding.error is not None:
        shorten(finding.error)
    places = tuple(replace(place, loc=_short(place.loc)) for place in finding.places)
    loc = None if finding.loc is None else _short(finding.loc)
    return replace(finding, loc=loc, places=places)


def _short(loc: Loc) -> Loc:
    return replace(loc, file=short_path(loc.file))


def _summary(report: Report) -> str:
    counts = dict.fromkeys(Verdict, 0)
    for finding in report.findings:
        counts[finding.verdict] += 1
    parts = [f"{count} {verdict.value}" for verdict, count in counts.items() if count]
    if report.skipped:
        parts.append(f"{len(report.skipped)} skipped")
    return f"{', '.join(parts)} ({report.seconds:.2f} s)"
