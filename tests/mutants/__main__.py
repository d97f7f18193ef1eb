"""`python -m tests.mutants`: which layer sees which mutant.

In: nothing.  Out: a table; the status is 1 if a layer misses what it must see, or sees too much.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.mutants.layers import Layer
from tests.mutants.registry import MUTANTS, run, say

QUICK = (Layer.PROOF, Layer.ENUMERATION, Layer.TEXT)  # asked whether they must see a mutant or not


def main() -> int:
    """Print the table."""
    layers = tuple(Layer)
    built = [m for m in MUTANTS if m.case is not None]
    with tempfile.TemporaryDirectory() as directory:
        ran = dict(zip(built, run(built, Path(directory)), strict=True))
    print(f"{'':4} {' '.join(f'{layer.value:>11}' for layer in layers)}  fault")
    missed = 0
    for mutant in MUTANTS:
        marks = []
        for layer in layers:
            if layer is Layer.RUN and mutant in ran:
                wrong, right = ran[mutant]
            elif layer in mutant.layers or (layer in QUICK and mutant.case is not None):
                wrong, right = (say(mutant, layer, wrong=w) for w in (True, False))
            else:
                marks.append("")
                continue
            expected = layer in mutant.layers
            noisy = right is not None and layer is not Layer.LINT
            missed += expected and (wrong is None or noisy)
            marks.append(
                "noisy" if noisy else "killed" if wrong else "SURVIVES" if expected else ""
            )
        note = f" (for: {mutant.stands_for})" if mutant.stands_for else ""
        line = " ".join(f"{mark:>11}" for mark in marks)
        print(f"{mutant!s:4} {line}  {mutant.says}{note}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
