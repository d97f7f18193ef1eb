"""`polyopt explain FILE.py:FUNC` and `polyopt explain PO0312`.

In: a target or an error code.  Out: a summary of at most 25 lines, then what was asked for: the
loop nests, the code, the assembly, everything; what blocks a wish; or the rule behind a code.
Needs a C compiler for its assembly and its time only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from polyopt.cli.console import result, result_json, without_directory
from polyopt.cli.prepare import (
    compile_options,
    compile_prepared,
    json_option,
    make_options,
    parse_sizes,
    prepare,
    sizes_option,
    types_option,
)
from polyopt.errors import UsageError
from polyopt.report.levels import LEVELS

if TYPE_CHECKING:
    from polyopt.cli.sections import Explained, Wanted
    from polyopt.report.whynot import Question
    from polyopt.schedule import Schedule


@click.command("explain")
@click.argument("target", metavar="FILE.py:FUNC|CODE")
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default="summary",
    help="How near to look: what follows the summary. All of it: full.",
)
@click.option(
    "--why-not",
    "questions",
    metavar="WISH:LOOP",
    multiple=True,
    help="Say what blocks parallel:LOOP, vectorize:LOOP, tile:LOOP or fuse:LOOP,LOOP.",
)
@click.option("--timing", is_flag=True, help="Show how long each stage took.")
@click.option("--steps", is_flag=True, help="Show the loop nest after each step alone.")
@click.option("--formulas", is_flag=True, help="Write out which elements are read and written.")
@click.option("--cost", is_flag=True, help="Predict the time of a call and what limits it.")
@click.option("--measure", is_flag=True, help="Predict, and run it on random values, too.")
@types_option
@sizes_option
@compile_options
@json_option
def command(
    target: str,
    level: str,
    questions: tuple[str, ...],
    timing: bool,
    steps: bool,
    formulas: bool,
    cost: bool,
    measure: bool,
    types: str | None,
    sizes: str | None,
    as_json: bool,
) -> None:
    """Explain what becomes of a function, or what an error code means."""
    if re.fullmatch(r"(?i)PO\d{1,6}", target):
        _explain_code(target.upper(), as_json)
        return
    from polyopt.cli.sections import Explained, Wanted
    from polyopt.report.whynot import parse_question

    asked = tuple(map(parse_question, questions))
    given = parse_sizes(sizes)
    prepared = prepare(target, types, given)
    options = make_options(prepared.target.kernel)
    explained = Explained(prepared, compile_prepared(prepared, options), options, given)
    if steps:
        _show_steps(prepared.target.name, explained.compilation.schedules, as_json)
    elif asked:
        _answer(explained, asked, as_json)
    else:
        full = level == "full" or formulas or as_json
        _explain(explained, level, Wanted(full, timing, formulas, cost, measure), as_json)


def _explain(explained: Explained, level: str, wanted: Wanted, as_json: bool) -> None:
    """Print the summary, then what was asked for."""
    from polyopt.explaining import level_lines, subject_of
    from polyopt.report.explain import show_sections
    from polyopt.report.summary import summarize
    from polyopt.report.summary_text import summary_lines, summary_record

    prepared, compilation = explained.prepared, explained.compilation
    subject = subject_of(prepared.target.func, compilation, explained.options, explained.sizes)
    summary = summarize(subject)
    sections, facts = explained.sections(wanted)
    if as_json:
        lines = {section.title: list(section.lines) for section in sections}
        record = {"summary": summary_record(summary), **lines, **facts}
        result_json({"function": prepared.target.name, **record})
        return
    texts = ["\n".join(summary_lines(summary))]
    near = "\n".join(level_lines(subject, compilation, explained.options, level))
    heading = f"{prepared.program.name} ({prepared.target.path}:{prepared.program.line})"
    rest = show_sections(heading, sections) if wanted.full else "\n\n".join(map(str, sections))
    result("\n\n".join([*texts, *filter(None, (near, rest))]))


def _answer(explained: Explained, asked: tuple[Question, ...], as_json: bool) -> None:
    """Print what blocks what was asked for, and what it would gain."""
    from polyopt.explaining import gain_line, subject_of
    from polyopt.report.claims import Subject
    from polyopt.report.whynot import answer_lines, answers

    prepared, compilation, options = explained.prepared, explained.compilation, explained.options
    subject = subject_of(prepared.target.func, compilation, options, explained.sizes)
    claims = Subject(compilation.program, prepared.target.name)
    found = [one for question in asked for one in answers(question, claims, subject.names)]
    written = compilation.written or prepared.program
    texts, records = [], []
    for one in found:
        gain = gain_line(subject, written, options, one.steps) if one.steps else None
        texts.append("\n".join([*answer_lines(one), *([f"   {gain}"] if gain else [])]))
        records.append(
            {
                "answer": one.head,
                "is_free": one.is_free,
                "notes": list(one.notes),
                "hint": one.hint,
                "steps": one.steps,
                "predicted": gain,
            }
        )
    if as_json:
        result_json({"function": prepared.target.name, "answers": records})
        return
    result(without_directory("\n\n".join(texts)))


def _show_steps(function: str, schedules: tuple[Schedule, ...], as_json: bool) -> None:
    """Print the loop nest of each static control part, from the source's order on."""
    if as_json:
        parts = [[one.latest() for one in schedule.history()] for schedule in schedules]
        result_json({"function": function, "steps": parts})
        return
    heads = [f"part({number})\n" if len(schedules) > 1 else "" for number in range(len(schedules))]
    stories = (f"{head}{one.story()}" for head, one in zip(heads, schedules, strict=True))
    result("\n\n".join(stories))


def _explain_code(code: str, as_json: bool) -> None:
    from polyopt.report.catalogue import CATALOGUE, show_entry

    entry = CATALOGUE.get(code)
    if entry is None:
        raise UsageError(
            "PO0615",
            f"there is no error code `{code}`",
            hint="codes are listed in docs/errors.md; they look like PO0312",
        )
    if as_json:
        result_json({"code": code, "meaning": entry.meaning, "example": entry.example,
                     "action": entry.action})  # fmt: skip
        return
    result(show_entry(code, entry))
