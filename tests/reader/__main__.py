"""`python -m tests.reader [NAME…]`: every form of every workload read twice.

In: names of workloads, none for all.  Out: a table; the status is 1 if two readings differ.
"""

from __future__ import annotations

import sys
from collections import Counter

from tests.reader.cases import readings, workload_forms
from tests.reader.reading import Verdict


def main(names: list[str]) -> int:
    """Print the table."""
    counts: Counter[Verdict] = Counter()
    for name, form, function in workload_forms(names):
        found = readings(name, form, function)
        counts[found.verdict] += 1
        print(f"{name:24} {form:6} {found.verdict.value:8} {found.text[:150]}", flush=True)
    total = sum(counts.values())
    print(", ".join(f"{kind.value} {counts[kind]} of {total}" for kind in Verdict))
    return int(counts[Verdict.UNEQUAL] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
