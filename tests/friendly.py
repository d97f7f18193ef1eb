"""Measure how friendly polyopt is: times a user waits, errors, ported programs, reports, stability.

In: nothing, or parts of rows' names.  Out: a line for each goal: what was measured, the figure,
the target, whether it is met.  `--quick` leaves out what takes more than a few seconds.  Exit
status 1 where a goal is missed.  Needs a checkout: it runs tests and reads the source.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import overhead

ROOT = Path(__file__).resolve().parent.parent
REPEATS = 7
PAIRS = 60
SEEDS = range(5)
STENCIL = "stencil_under_test"


@dataclass(frozen=True)
class Figure:
    """One measurement; `met` is None where this machine cannot tell."""

    goal: str
    figure: str
    target: str
    met: bool | None

    def line(self) -> str:
        """Return the row of the table."""
        verdict = {True: "met", False: "MISSED", None: "not measured"}[self.met]
        return f"{self.goal:46} {self.figure:34} {self.target:22} {verdict}"


def below(goal: str, value: float, limit: float, unit: str) -> Figure:
    """Return a figure that has to be less than a limit."""
    return Figure(goal, f"{value:.4g} {unit}", f"< {limit:g} {unit}", value < limit)


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with arguments in the checkout."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=environment.pop("cwd", str(ROOT)),
        env={**overhead.with_bytecode(), **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def starting(directory: Path) -> Iterator[Figure]:
    """How long the command and the package take to start."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        command("-m", "polyopt", "--help")
        times.append(time.perf_counter() - start)
    yield below("`polyopt --help`", statistics.median(times) * 1e3, 120, "ms")
    rows = [overhead.run(overhead.IMPORT, str(directory), str(directory)) for _ in range(REPEATS)]
    yield below("`import polyopt`, after NumPy", overhead.medians(rows)[1] * 1e3, 60, "ms")


def calling(directory: Path) -> Iterator[Figure]:
    """How long a first call and every other call take."""
    where = str(directory)
    (directory / f"{STENCIL}.py").write_text(overhead.STENCIL, encoding="utf-8")
    cold = [overhead.run(overhead.FIRST, where, f"{where}/cold{n}") for n in range(REPEATS)]
    yield below("first call, 3 statements, cold cache", overhead.medians(cold)[0] * 1e3, 400, "ms")
    warm = [overhead.run(overhead.FIRST, where, f"{where}/cold0") for _ in range(REPEATS)]
    yield below("first call, 3 statements, warm cache", overhead.medians(warm)[0] * 1e3, 15, "ms")
    calls = [overhead.run(overhead.CALL, where, f"{where}/cold0") for _ in range(3)]
    yield below("call with 3 arrays", overhead.medians(calls)[0] * 1e6, 0.5, "us")
    slow = "import os\nos.environ['POLYOPT_FORCE_CTYPES'] = '1'\n" + overhead.CALL
    through = [overhead.run(slow, where, f"{where}/ctypes") for _ in range(3)]
    yield below(
        "call with 3 arrays, without Python.h", overhead.medians(through)[0] * 1e6, 10, "us"
    )


def errors(_: Path) -> Iterator[Figure]:
    """Whether every error has a code, and every code an entry, an example and a test."""
    from polyopt.report.catalogue import CATALOGUE

    text = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "tests").rglob("*.py")
        if "ported" not in path.parts
    ) + " ".join(path.stem for path in (ROOT / "tests/errors/programs").glob("*.py"))
    complete = [
        code for code, entry in CATALOGUE.items() if entry.example and entry.action and code in text
    ]
    figure = f"{len(complete)} of {len(CATALOGUE)} codes"
    goal = "codes with example, action and test"
    yield Figure(goal, figure, "all", len(complete) == len(CATALOGUE))
    sites = [site for path in (ROOT / "polyopt").rglob("*.py") for site in raised(path)]
    coded = [site for site in sites if site.has_code]
    unknown = {site.code for site in coded if site.code} - CATALOGUE.keys()
    figure = f"{len(coded)} of {len(sites)} raise sites"
    met = len(coded) == len(sites) and not unknown
    yield Figure("users' errors raised with a code", figure, "all", met)


@dataclass(frozen=True)
class Site:
    """A `raise` of one of polyopt's errors, or of one of Python's that a user may see."""

    has_code: bool
    code: str


def raised(path: Path) -> Iterator[Site]:
    """Find where polyopt's errors are raised: the first argument is the code."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
            continue
        module, _, name = ast.unparse(node.exc.func).rpartition(".")
        if not re.fullmatch(r"(\w+Error|IllegalSchedule)", name) or not node.exc.args:
            continue
        if module == "click" or not _is_own(name):  # click's get PO0600 in `cli/app.py`
            continue
        first = node.exc.args[0]
        code = first.value if isinstance(first, ast.Constant) else ""
        yield Site(not code or re.fullmatch(r"PO0\d{3}", str(code)) is not None, str(code))


def _is_own(name: str) -> bool:
    from polyopt import errors as own

    found = getattr(own, name, None)
    return isinstance(found, type) and issubclass(found, own.PolyoptError)


def witnesses(directory: Path) -> Iterator[Figure]:
    """Whether refused steps come with a counter-example that enumeration confirms."""
    path = directory / "pairs.json"
    count = str(PAIRS)
    done = command(
        "-m", "tests.properties.pairs", "--count", count, "--no-compile", "--json", str(path)
    )
    goal = "refused steps with a confirmed counter-example"
    if done.returncode and not path.exists():
        yield Figure(goal, "the run failed", "100 %", False)
        return
    found = json.loads(path.read_text(encoding="utf-8"))["summary"]
    confirmed, refused = found["witnesses confirmed"], found["steps refused"]
    figure = f"{confirmed} of {refused}, in {count} programs"
    yield Figure(goal, figure, "100 %", confirmed == refused > 0)


def newcomer(_: Path) -> Iterator[Figure]:
    """How long the README's own steps take, run as a newcomer would."""
    start = time.perf_counter()
    done = command(
        "-m", "pytest", "-q", "tests/test_docs.py", "-k", "README", "-p", "no:cacheprovider"
    )
    seconds = time.perf_counter() - start
    met = done.returncode == 0 and seconds < 300
    figure = f"{seconds:.0f} s" if done.returncode == 0 else "an example failed"
    yield Figure("README: first call, explain, check", figure, "< 300 s", met)


def ported(_: Path) -> Iterator[Figure]:
    """What becomes of the ported programs."""
    done = command("-m", "tests.ported")
    last = (done.stdout.splitlines() or [""])[-1]
    counts = {name: int(count) for name, count in re.findall(r"(\w[\w ]*): (\d+)", last)}
    total = sum(counts.values())
    few = counts.get("unchanged or at most two lines", 0)
    broken = counts.get("wrong", 0) + counts.get("traceback", 0)
    figure = f"{few} of {total} in at most 2 lines"
    yield Figure("ported programs", figure, ">= 54 of >= 60", total >= 60 and few >= 0.9 * total)
    yield Figure("ported programs, wrong or tracebacks", str(broken), "0", broken == 0 < total)


def page(directory: Path) -> Iterator[Figure]:
    """How large the HTML report is, and whether it asks for anything from elsewhere."""
    out = directory / "page.html"
    source = directory / f"{STENCIL}.py"
    source.write_text(overhead.STENCIL, encoding="utf-8")
    done = command("-m", "polyopt", "view", f"{source}:stencil", "-o", str(out))
    if done.returncode:
        yield Figure("HTML report", done.stderr.splitlines()[0], "< 1 MB", None)
        return
    text = out.read_text(encoding="utf-8")
    yield below("HTML report", len(text.encode()) / 1e6, 1, "MB")
    outside = re.findall(r"""(?:src|href)=["'](?:https?:)?//|@import|url\(["']?https?:""", text)
    yield Figure("HTML report, requests to elsewhere", str(len(outside)), "0", not outside)


def stability(directory: Path) -> Iterator[Figure]:
    """Whether hash seeds and directories change what is written."""
    for target in ("c", "cuda"):
        texts = {tuple(written(directory / str(seed), target, seed)) for seed in SEEDS}
        goal = f"{target} and schedule, 5 seeds, 5 directories"
        same = len(texts) == 1 and texts != {()}
        yield Figure(goal, f"{len(texts)} version", "1 version", same)


def written(directory: Path, target: str, seed: int) -> Iterator[tuple[str, bytes]]:
    """Compile in a directory of its own, and yield names and texts of the files."""
    directory.mkdir(exist_ok=True)
    (directory / "program.py").write_text(overhead.STENCIL, encoding="utf-8")
    out = directory / target
    shutil.rmtree(out, ignore_errors=True)
    command(
        "-m", "polyopt", "compile", "program.py:stencil", "--target", target, "-o", target,
        PYTHONHASHSEED=str(seed), cwd=str(directory), PYTHONPATH=str(ROOT),
    )  # fmt: skip
    for path in sorted(out.iterdir()) if out.is_dir() else ():
        if path.suffix != ".json":
            yield path.name, path.read_bytes()


def pythons(_: Path) -> Iterator[Figure]:
    """Which versions of Python are here."""
    found = [f"3.{n}" for n in range(10, 15) if shutil.which(f"python3.{n}")]
    yield Figure("Python 3.10 to 3.14", f"here: {', '.join(found)}", "all", None)


QUICK: tuple[Callable[[Path], Iterator[Figure]], ...] = (
    starting,
    calling,
    errors,
    page,
    stability,
    pythons,
)
SLOW: tuple[Callable[[Path], Iterator[Figure]], ...] = (witnesses, newcomer, ported)


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", nargs="*", help="names of functions of this module; all otherwise")
    parser.add_argument("--quick", action="store_true", help="a minute instead of five")
    asked = parser.parse_args(arguments)
    missed = 0
    with tempfile.TemporaryDirectory(prefix="polyopt-friendly-") as directory:
        for measure in QUICK if asked.quick else (*QUICK, *SLOW):
            if asked.rows and measure.__name__ not in asked.rows:
                continue
            for figure in measure(Path(directory)):
                print(figure.line(), flush=True)
                missed += figure.met is False
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
