"""`python -m tests.walk jacobi-2d`: count the modules and functions that a first call enters.

In: names of workloads, or WORKLOAD:FORM.  Out: a line for each: how many modules of polyopt were
imported, in how many of them a function was entered, and how many functions; `--list` prints these,
module by module in the order in which they were first entered.
What a reader of one program's way through the compiler has to read is counted so.
"""

from __future__ import annotations

import argparse
import inspect
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

PACKAGE = Path(__file__).resolve().parent.parent / "polyopt"


@dataclass
class Walk:
    """The functions entered, by module, in the order in which each was first entered."""

    entered: dict[str, dict[CodeType, None]] = field(default_factory=dict)

    @contextmanager
    def watching(self) -> Iterator[Walk]:
        """Record what the block enters, in all threads that it starts."""
        sys.setprofile(self._note)
        threading.setprofile(self._note)
        try:
            yield self
        finally:
            threading.setprofile(None)
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(PACKAGE)):
            return
        is_named = bool(code.co_flags & inspect.CO_OPTIMIZED) and not code.co_name.startswith("<")
        if is_named:  # neither a module, a class body, a comprehension nor a lambda
            self.entered.setdefault(code.co_filename, {})[code] = None

    @property
    def functions(self) -> int:
        """How many functions were entered."""
        return sum(map(len, self.entered.values()))

    def show(self) -> str:
        """Return the functions, a line for each module."""
        lines = []
        for path, codes in self.entered.items():
            names = ", ".join(code.co_qualname for code in codes)
            lines.append(f"  {Path(path).relative_to(PACKAGE.parent)} ({len(codes)}): {names}")
        return "\n".join(lines)


def first_call(name: str, form: str) -> Walk:
    """Return what the first call of a workload's form enters in this process."""
    import polyopt as po
    from workloads import registry

    workload = registry.get(name)
    chosen = form or next(iter(workload.forms))
    arguments = tuple(workload.make("MINI").values())
    kernel = po.kernel(workload.forms[chosen])
    with Walk().watching() as walk:
        kernel(*arguments)
    return walk


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.walk", description=__doc__)
    parser.add_argument("names", nargs="*", default=["jacobi-2d"], help="WORKLOAD or WORKLOAD:FORM")
    parser.add_argument("--list", action="store_true", help="print the functions")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if not options.alone:
        for name in options.names:
            _in_its_own_process(name, listed=options.list)
        return
    (name,) = options.names
    workload, _, form = name.partition(":")
    walk = first_call(workload.replace("_", "-"), form)
    imported = sum(module.partition(".")[0] == "polyopt" for module in sys.modules)
    entered = f"{len(walk.entered)} modules and {walk.functions} functions entered"
    print(f"{name}: {imported} modules imported, {entered}")
    if options.list:
        print(walk.show())


def _in_its_own_process(name: str, *, listed: bool) -> None:
    """Run one walk where nothing was imported or cached before."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "tests.walk", "--alone", name, *["--list"] * listed]
        subprocess.run(command, env={**os.environ, "POLYOPT_CACHE_DIR": cache}, check=True)


if __name__ == "__main__":
    main()
