"""`python -m tests.mutants.reading_table`: the faults of the front end alone, in a minute.

In: nothing.  Out: which layer sees which; the status is 1 if one misses what it must see.
"""

from __future__ import annotations

import sys

from tests.mutants.of_reading import MUTANTS
from tests.mutants.registry import say


def main() -> int:
    """Print the table."""
    missed = 0
    for mutant in MUTANTS:
        marks = []
        for layer in mutant.layers:
            wrong, right = (say(mutant, layer, wrong=w) for w in (True, False))
            good = wrong is not None and right is None
            missed += not good
            mark = "killed" if good else "noisy" if right is not None else "SURVIVES"
            marks.append(f"{layer.value} {mark:9}")
        print(f"{mutant!s:5} {' '.join(marks)} {mutant.says}", flush=True)
    print(f"{len(MUTANTS)} mutants, {missed} misses")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
