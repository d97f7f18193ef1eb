"""PolyBench/C, as its authors publish it, through `polyopt compile FILE.c`.

`python -m tests.polybench_c PATH [NAMES] [--dataset SMALL]`: PATH is an unpacked PolyBench/C 4.2.1.
Each program is compiled, built with gcc as it was and as it is then, and run; what both dump must
be equal byte for byte.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> int:
    """Print a line a program and how many are equal; return how many are not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dataset", default="SMALL")
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--cflags", default="-O2 -fopenmp")
    asked = parser.parse_args()
    listed = (asked.path / "utilities" / "benchmark_list").read_text().split()
    files = [(asked.path / name).resolve() for name in listed]
    chosen = [file for file in files if not asked.names or file.stem in asked.names]
    equal = 0
    with tempfile.TemporaryDirectory() as folder:
        for file in chosen:
            said = compared(file, asked, Path(folder))
            equal += said.startswith("equal")
            print(f"{file.stem:<16} {said}", flush=True)
    print(f"{equal} of {len(chosen)} equal")
    return len(chosen) - equal


def compared(file: Path, asked: argparse.Namespace, folder: Path) -> str:
    """Return how the results of a program before and after compare."""
    utilities = asked.path.resolve() / "utilities"
    macros = [f"-D{asked.dataset}_DATASET", "-DPOLYBENCH_DUMP_ARRAYS"]
    places = [f"-I{utilities}", f"-I{file.parent}"]
    made = folder / f"{file.stem}.c"
    started = time.perf_counter()
    command = [sys.executable, "-m", "polyopt", "compile", str(file), "-o", str(made)]
    done = subprocess.run([*command, *places, *macros], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode != 0:
        return f"refused\n{done.stderr}"
    dumps = []
    for text in (file, made):
        program = folder / "program"
        build = [asked.cc, *asked.cflags.split(), *places, *macros, str(text)]
        build += [str(utilities / "polybench.c"), "-o", str(program), "-lm"]
        subprocess.run(build, check=True, capture_output=True)
        dumps.append(subprocess.run([program], capture_output=True, check=True).stderr)
    word = "equal" if dumps[0] == dumps[1] else "DIFFERENT"
    return f"{word}, {len(dumps[0])} bytes, compiled in {seconds:.1f} s"


if __name__ == "__main__":
    sys.exit(min(1, main()))
