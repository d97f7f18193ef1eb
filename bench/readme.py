"""`python -m bench.readme [FILE…] [--write]`: the table of speeds in README.md, from kept runs.

In: runs of the suite speed, one for each instruction set; those that README names otherwise.
Out: the table as Markdown, printed or written between README's marks.
Refuses: a README without marks, a file that holds no run.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

from bench.process import ROOT
from bench.speed.compare import read
from bench.speed.records import SpeedReport

README = ROOT / "README.md"
COLUMNS = 3  # programs beside each other
WIDTH = 118  # of a line of text
_MARKED = re.compile(r"(<!-- speed: (.*?) -->\n).*?(<!-- end of speed -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Run:
    """A kept run and the file, relative to the checkout, that holds it."""

    name: str
    report: SpeedReport

    @property
    def isa(self) -> str:
        """The instruction set; runs of before it was noted were made for the processor."""
        return str(self.report.environment["machine"].get("isa", "native"))

    def ratios(self) -> dict[str, float]:
        """Return, for each program, the fastest peer's time over that of polyopt's faster form."""
        found: dict[str, float] = {}
        for result in self.report.results:
            timed = [own for own in result.own if own.seconds]
            if not timed:
                continue
            ratio = result.ratio(min(timed, key=lambda own: own.seconds or 0.0))
            if ratio is not None:
                found[result.cell.workload] = ratio
        return found


def load(names: Sequence[str]) -> list[Run]:
    """Return the runs in files of the checkout; raises `OSError` and `ValueError`."""
    return [Run(name, read(ROOT / name)) for name in names]


def markdown(runs: Sequence[Run]) -> str:
    """Return a paragraph for each run, and one table of all of them."""
    return "\n".join([*(_wrapped(_sentence(run)) for run in runs), "", *_table(runs), ""])


def _sentence(run: Run) -> str:
    e = run.report.environment
    cells = [result.cell for result in run.report.results]
    ratios = list(run.ratios().values())
    ahead = sum(ratio >= 1.0 for ratio in ratios)
    mean = exp(sum(map(log, ratios)) / len(ratios)) if ratios else 0.0
    asked = ", ".join(
        "/".join(dict.fromkeys(map(str, values)))
        for values in (
            [c.dataset for c in cells],
            [c.dtype for c in cells],
            [c.fp for c in cells],
            [f"{c.threads} threads" for c in cells],
        )
    )
    compiler = re.sub(r" \(.*\)", "", e["compiler"])
    load = f", load {e['machine']['load']} at the start" if "load" in e["machine"] else ""
    return (
        f"* `{run.isa}`: `{run.name}`, {e['date'][:10]}, {e['machine']['cores']} cores of"
        f" {e['machine']['cpu']}{load}, {compiler}; {asked}; peers:"
        f" {', '.join(run.report.peers)}. {ahead} of {len(ratios)} programs are at least as fast as"
        f" the fastest peer; the geometric mean is {mean:.2f}."
    )


def _wrapped(text: str) -> str:
    """Break a paragraph of a list into lines."""
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) >= WIDTH:
            lines.append(" ")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


def _table(runs: Sequence[Run]) -> list[str]:
    ratios = [run.ratios() for run in runs]
    names = list(dict.fromkeys(name for found in ratios for name in found))
    height = -(-len(names) // COLUMNS)
    head = [*(["program", *(run.isa for run in runs)] * COLUMNS)]
    lines = [_row(head), _row(["---"] * len(head))]
    for row in range(height):
        cells: list[str] = []
        for name in (names[row + k * height :][:1] for k in range(COLUMNS)):
            found = [values.get(name[0]) if name else None for values in ratios]
            cells += [*(name or [""]), *("" if r is None else f"{r:.2f}" for r in found)]
        lines.append(_row(cells))
    return lines


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def named(page: str) -> list[str]:
    """Return the files that a page names beside its marks; raises `ValueError`."""
    found = _MARKED.search(page)
    if found is None:
        raise ValueError(
            "README.md has no marks `<!-- speed: FILE … -->` and `<!-- end of speed -->`"
        )
    return found[2].split()


def written(page: str, runs: Sequence[Run]) -> str:
    """Return a page with the table of these runs between its marks."""
    named(page)
    head = f"<!-- speed: {' '.join(run.name for run in runs)} -->\n"
    return _MARKED.sub(lambda found: head + markdown(runs) + found[3], page, count=1)


def main(argv: Sequence[str]) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.readme", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help="kept runs, below the checkout")
    parser.add_argument("--write", action="store_true", help="write the table into README.md")
    options = parser.parse_args(argv)
    try:
        page = README.read_text(encoding="utf-8")
        runs = load(options.files or named(page))
        if options.write:
            README.write_text(written(page, runs), encoding="utf-8")
        else:
            print(markdown(runs), end="")
    except (OSError, ValueError) as error:
        print(f"readme: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
