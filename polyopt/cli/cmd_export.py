"""`polyopt export FILE.py:FUNC... -o DIR`: a package of C and a program that runs without Python.

In: targets and options.  Out: the files, their names on stdout, the command that builds the program
on stderr.  Needs no C compiler.
Refuses: what cannot run without Python (PO0640 to PO0643), places that cannot be written (PO0614).
"""

from __future__ import annotations

from pathlib import Path

import click

from polyopt.cli.console import result, result_json, talk
from polyopt.cli.prepare import (
    compile_options,
    compile_prepared,
    is_scheduled,
    json_option,
    make_options,
    parse_sizes,
    prepare,
    sizes_option,
    types_option,
)
from polyopt.exporting.any_sizes import for_any_sizes
from polyopt.exporting.files import write_files
from polyopt.exporting.kernels import Kernel, exported, program_name


@click.command("export")
@click.argument("targets", metavar="FILE.py:FUNC...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="DIR", required=True, help="Directory of the package.")
@click.option("--name", help="Name of package and program; that of the first function otherwise.")
@types_option
@sizes_option
@compile_options
@json_option
def command(
    targets: tuple[str, ...],
    output: str,
    name: str | None,
    types: str | None,
    sizes: str | None,
    as_json: bool,
) -> None:
    """Write functions as a package of C, with a program that calls them on arrays of files.

    The program reads .npz and .npy files, checks them as a call from Python is checked, calls the
    kernels in order and writes the results as .npy files.
    """
    if len(targets) > 1 and (types is not None or is_scheduled()):
        raise click.UsageError("--types and --schedule are for one function, not for several")
    kernels: list[Kernel] = []
    general: dict[str, Kernel] = {}
    for target in targets:
        prepared = prepare(target, types, parse_sizes(sizes))
        options = make_options(prepared.target.kernel)
        compilation = compile_prepared(prepared, options)
        program = compilation.written or prepared.program
        kernels.append((program, compilation))
        general |= for_any_sizes(prepared.target.func, prepared.types, program, options)
    name = name or program_name(kernels[0][0].signature)
    made = exported(name, kernels, general)
    written = write_files(Path(output), dict(made.files))
    talk(f"builds the program `{name}`, in {output}: {made.command}")
    if as_json:
        result_json({"name": name, "files": [str(path) for path in written],
                     "command": made.command})  # fmt: skip
        return
    for path in written:
        result(str(path))
