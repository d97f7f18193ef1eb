"""`polyopt compile FILE.py:FUNC -o DIR`: text, header, schedule and certificate as files.

`polyopt compile FILE.c`: the file with its regions replaced by proven code.
In: a target and options.  Out: the files, their names on stdout; with `-o -` the text alone, on
stdout.  Needs no C compiler.  Refuses: a place that cannot be written or is named like a file of
another kind (PO0614).
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from polyopt.artefact import text_for_readers
from polyopt.cli.console import result, result_json, talk
from polyopt.cli.prepare import (
    compile_options,
    compile_prepared,
    json_option,
    make_options,
    parse_sizes,
    prepare,
    sizes_option,
    target_argument,
    types_option,
)
from polyopt.errors import UsageError
from polyopt.exporting.files import write_files
from polyopt.exporting.kernels import kernel_files, package_files, package_name
from polyopt.ir.host import Emitted
from polyopt.ir.program import Program
from polyopt.ir.source import Source
from polyopt.ir.target import TARGETS
from polyopt.pipeline import Compilation
from polyopt.schedulefile import WHOLE
from polyopt.targets import Options, detect_machine

STDOUT = "-"
_PATHS = "paths are relative to the current directory"


def compile_file(
    path: Path, output: str, flags: Sequence[str], options: Options, *, as_json: bool
) -> None:
    """Compile all regions of `path` and write the file that results."""
    from polyopt.cregion.compiling import compile_region
    from polyopt.cregion.declarations import find_regions
    from polyopt.cregion.function import translate
    from polyopt.cregion.preprocessing import preprocess
    from polyopt.cregion.splicing import spliced
    from polyopt.cregion.syntax import parse_unit

    if not options.target.is_host:
        raise UsageError(
            "PO0627",
            f"regions of C files are compiled to C, not to {options.target.value}",
            hint="leave out --target, or write the loops as a Python function",
        )
    if not path.is_file():
        raise UsageError("PO0601", f"there is no file `{path}`", hint=_PATHS)
    text, macros = preprocess(path, flags)
    unit = parse_unit(text, str(path))
    regions = find_regions(unit, str(path))
    if len(regions) > 1 and options.schedule not in (None, *WHOLE):
        raise UsageError(
            "PO0627",
            f"--schedule names the steps of one region, and `{path}` has {len(regions)}",
            hint="leave --schedule out, or keep one region in the file",
        )
    machine = detect_machine()
    made, records = [], []
    for region in regions:
        started = time.perf_counter()
        compiled = compile_region(unit, region, translate(unit, region, macros), options, machine)
        made.append(compiled)
        seconds = time.perf_counter() - started
        first, last = unit.line(region.begin), unit.line(region.end)
        talk(f"{region.name}, lines {first} to {last}: {seconds:.2f} s")
        for one in compiled.compilation.dropped:
            talk(f"  without {one.what}: {one.reason}")
        steps = [str(step) for part in compiled.compilation.schedules for step in part.trace]
        records.append(
            {"function": region.name, "lines": [first, last], "schedule": steps, "seconds": seconds}
        )
    whole = spliced(unit, path.read_text(encoding="utf-8"), made)
    if output == STDOUT:
        sys.stdout.write(whole)
        return
    written = _write(path, output, whole)
    if as_json:
        result_json({"file": str(written), "regions": records})
    else:
        result(str(written))


def _write(path: Path, output: str, text: str) -> Path:
    place = Path(output)
    if place.suffix != ".c" or place.is_dir():
        place = place / f"{path.stem}.polyopt.c"
    if place.exists() and place.samefile(path):
        raise UsageError(
            "PO0614",
            f"`{place}` is the file that is read",
            hint=f"write -o {path.stem}.polyopt.c",
        )
    return write_files(place.parent, {place.name: text})[0]


@click.command("compile")
@target_argument
@click.option(
    "-o", "--output", metavar="DIR", default=".", help="Directory, or FILE.c, or - for stdout."
)
@types_option
@sizes_option
@compile_options
@click.option("-I", "folders", metavar="DIR", multiple=True, help="Headers of a C file.")
@click.option("-D", "macros", metavar="NAME=VALUE", multiple=True, help="A macro for a C file.")
@click.option("--package", is_flag=True, help="Write files for pkg-config and CMake, too.")
@json_option
def command(
    target: str,
    output: str,
    folders: tuple[str, ...],
    macros: tuple[str, ...],
    types: str | None,
    sizes: str | None,
    package: bool,
    as_json: bool,
) -> None:
    """Compile a function; write its text, header, schedule and certificate.

    Of a C file (FILE.c in place of FILE.py:FUNC), compile the regions between `#pragma scop` and
    `#pragma endscop`; write the file with these replaced.
    """
    from polyopt.frontend.syntax.type_inference import show_type

    if output == STDOUT and as_json:
        raise click.UsageError("-o - prints the text, and --json prints something else")
    if package and (output == STDOUT or target.endswith(".c")):
        raise click.UsageError("--package is for functions whose files are written to a directory")
    if target.endswith(".c"):
        flags = [*(f"-I{folder}" for folder in folders), *(f"-D{macro}" for macro in macros)]
        options = make_options()
        compile_file(Path(target), output, flags, options, as_json=as_json)
        return
    prepared = prepare(target, types, parse_sizes(sizes))
    options = make_options(prepared.target.kernel)
    compilation = compile_prepared(prepared, options)
    program = compilation.written or prepared.program
    source = compilation.source
    if output == STDOUT:
        sys.stdout.write(text_for_readers(program, compilation.loops, source.language).text)
        return
    directory, name = _place(output, prepared.target.name, source)
    files = _files(name, program, compilation, package=package)
    written = write_files(directory, files)
    signature = ", ".join(
        f"{argument.name}: {show_type(kind)}"
        for argument, kind in zip(prepared.program.signature.arguments, prepared.types, strict=True)
    )
    talk(f"{name}({signature})")
    timings = {"frontend": prepared.seconds, **compilation.timings}
    for stage, seconds in timings.items():
        talk(f"  {stage:<12}{seconds * 1e3:8.1f} ms")
    for one in compilation.dropped:
        talk(f"  without {one.what}: {one.reason}")
    if as_json:
        record = {
            "function": name,
            "language": source.language,
            "files": [str(path) for path in written],
            "entry": source.entry,
            "schedule": [str(step) for part in compilation.schedules for step in part.trace],
            "seconds": timings,
        }
        result_json(record)
        return
    for path in written:
        result(str(path))


def _place(output: str, name: str, source: Emitted) -> tuple[Path, str]:
    """Return the directory and the name of the files: `-o out/heat.c` names them too.

    A new name with a suffix is a file's: a directory of such a name ends in a slash.
    """
    path = Path(output)
    own = (TARGETS[source.language].suffix, *((".h",) if isinstance(source, Source) else ()))
    if output.endswith("/") or path.is_dir() or not re.fullmatch(r"\.[A-Za-z]\w*", path.suffix):
        return path, name
    if path.suffix in own:
        return path.parent, path.stem
    raise UsageError(
        "PO0614",
        f"`{output}` is a name of a file that is not written: the text is a {own[0]} file",
        hint=f"write -o {path.with_suffix(own[0])}, or -o {output}/ for a directory",
    )


def _files(
    name: str, program: Program, compilation: Compilation, *, package: bool
) -> dict[str, str]:
    """Return the texts of the files that are written, by name."""
    made = kernel_files(name, program, compilation)
    if made.unrecorded is not None:
        talk(f"no certificate: the program cannot be recorded: {made.unrecorded}")
    files = dict(made.files)
    if not package:
        return files
    if not isinstance(made.source, Source):
        raise click.UsageError("--package is for C: programs of devices are driven by Python")
    called = package_name(made.source)
    return {**files, **package_files({name: made.source}, called, name, files)}
