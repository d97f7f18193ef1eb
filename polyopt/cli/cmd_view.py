"""`polyopt view FILE.py:FUNC`: what became of a function, as one HTML page.

In: a target.  Out: a page that needs nothing else.  Needs jinja2 (PO0524), and no C compiler.
Refuses: a place that cannot be written (PO0614).
"""

from __future__ import annotations

import inspect
import sys

import click

from polyopt.cli.console import result
from polyopt.cli.prepare import (
    compile_options,
    compile_prepared,
    make_options,
    parse_sizes,
    prepare,
    sizes_option,
    target_argument,
    types_option,
)
from polyopt.errors import UsageError
from polyopt.files import write_whole


@click.command("view")
@target_argument
@click.option("-o", "--output", metavar="FILE", help="The page; FUNC.html otherwise, - prints it.")
@types_option
@sizes_option
@compile_options
def command(
    target: str,
    output: str | None,
    types: str | None,
    sizes: str | None,
) -> None:
    """Write one HTML page: source, loops and code by line, iterations, roofline, times."""
    from polyopt.emit.line_marks import annotated
    from polyopt.explaining import subject_of
    from polyopt.report.page import Sources, page
    from polyopt.tuning.kept import tuned

    given = parse_sizes(sizes)
    prepared = prepare(target, types, given)
    options = make_options(prepared.target.kernel)
    compilation = compile_prepared(prepared, options)
    function = prepared.target.func
    subject = subject_of(function, compilation, options, given)
    lines, first = inspect.getsourcelines(function)
    known = tuned(function, prepared.types, options)
    text = page(
        subject,
        Sources(
            first,
            [line.rstrip("\n") for line in lines],
            annotated(compilation.loops, options.target.value, tuple(subject.statements)),
            {"frontend": prepared.seconds, **compilation.timings},
            () if known is None else known.lines(),
        ),
    )
    _write(text, output or f"{prepared.target.name}.html")


def _write(text: str, output: str) -> None:
    if output == "-":
        sys.stdout.write(text)
        return
    try:
        write_whole(output, text)
    except OSError as error:
        raise UsageError(
            "PO0614", f"`{output}` cannot be written: {error.strerror}",
            hint="name a file in a directory that exists: -o page.html",
        ) from None  # fmt: skip
    result(output)
