"""`polyopt compile FILE.py:FUNC -o DIR`: write the C text, its header and the schedule.

In: a target and options.  Out: three files, their names on stdout.  Needs no C compiler.
Refuses: a directory that cannot be written (PO0614).
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import click

from polyopt.cli.console import result, result_json, talk
from polyopt.cli.prepare import (
    compile_options,
    compile_prepared,
    json_option,
    make_options,
    prepare,
    schedule_text,
    sizes_option,
    target_argument,
    types_option,
)
from polyopt.cli.typespec import parse_sizes
from polyopt.errors import UsageError

_TITLE = "# {}: steps on the order of the source"


@click.command("compile")
@target_argument
@click.option("-o", "--output", metavar="DIR", default=".", help="Directory for the files.")
@types_option
@sizes_option
@compile_options
@json_option
def command(
    target: str,
    output: str,
    types: str | None,
    sizes: str | None,
    language: str,
    threads: int | None,
    fp: str | None,
    schedule: str | None,
    as_json: bool,
) -> None:
    """Compile a function; write NAME.c, NAME.h and NAME.schedule.txt."""
    from polyopt.frontend.infer import show_type

    steps = schedule_text(schedule)
    prepared = prepare(target, types, parse_sizes(sizes))
    options = make_options(fp, threads, steps, prepared.target.kernel)
    compilation = compile_prepared(prepared, options)
    name = prepared.target.name
    written = write_files(
        Path(output),
        {
            f"{name}.c": compilation.source.text,
            f"{name}.h": compilation.source.header,
            f"{name}.schedule.txt": f"{_TITLE.format(name)}\n{compilation.schedule_text}\n",
        },
    )
    signature = ", ".join(
        f"{argument.name}: {show_type(kind)}"
        for argument, kind in zip(prepared.program.signature.arguments, prepared.types, strict=True)
    )
    talk(f"{name}({signature})")
    timings = {"frontend": prepared.seconds, **compilation.timings}
    for stage, seconds in timings.items():
        talk(f"  {stage:<12}{seconds * 1e3:8.1f} ms")
    if as_json:
        record = {
            "function": name,
            "language": language,
            "files": [str(path) for path in written],
            "entry": compilation.source.entry,
            "schedule": [str(step) for part in compilation.schedules for step in part.trace],
            "seconds": timings,
        }
        result_json(record)
        return
    for path in written:
        result(str(path))


def write_files(directory: Path, files: dict[str, str]) -> list[Path]:
    """Write all files; each one whole or not at all."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return [_write(directory / name, text) for name, text in files.items()]
    except OSError as error:
        raise UsageError(
            "PO0614",
            f"`{directory}` cannot be written: {error.strerror}",
            hint="choose another directory with -o",
        ) from None


def _write(path: Path, text: str) -> Path:
    handle, staged = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(staged, 0o666 & ~umask)
        os.replace(staged, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(staged)
        raise
    return path
