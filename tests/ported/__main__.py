"""Print what becomes of every ported program: `python -m tests.ported [GALLERY ...]`."""

from __future__ import annotations

import sys
from collections import Counter

from tests.ported.programs import GALLERIES, LINES, PROGRAMS, outcome


def main(galleries: list[str]) -> int:
    """Print a line per program and the counts; return 1 where one is wrong or has a traceback."""
    counts: Counter[str] = Counter()
    for program in PROGRAMS:
        if program.gallery not in galleries:
            continue
        found = outcome(program)
        few = "unchanged or at most two lines" if len(program.changed) <= LINES else "more lines"
        counts[found.status if found.status != "equal" else few] += 1
        print(f"{program.name:32} {found.status:9} {len(program.changed)} lines  {found.detail}")
    print(", ".join(f"{name}: {count}" for name, count in sorted(counts.items())))
    return 1 if counts["wrong"] or counts["traceback"] or counts["more lines"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(GALLERIES)))
