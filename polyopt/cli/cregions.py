"""`polyopt compile FILE.c`: a C file with its regions replaced by proven code.

In: the file, flags of the preprocessor, options.  Out: `FILE.polyopt.c`, or the text on stdout.
Refuses: a schedule for several regions, other targets than C (PO0627), no file (PO0601).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from polyopt.cli.console import result, result_json, talk
from polyopt.errors import UsageError
from polyopt.exporting.files import write_files
from polyopt.schedulefile import WHOLE
from polyopt.targets import Options, detect_machine

STDOUT = "-"
_PATHS = "paths are relative to the current directory"


def compile_file(
    path: Path, output: str, flags: Sequence[str], options: Options, *, as_json: bool
) -> None:
    """Compile all regions of `path` and write the file that results."""
    from polyopt.cregion.compiling import compile_region
    from polyopt.cregion.function import translate
    from polyopt.cregion.preprocessing import preprocess
    from polyopt.cregion.regions import find_regions
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
