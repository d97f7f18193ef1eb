"""Run goals and print their figures: `python -m tests.gates [GOAL ...] --stage nightly`."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from tests.gates.goals import GOALS, Stage
from tests.gates.page import KEPT, PAGE, page
from tests.gates.running import ROOT, read_results, run_all, write_results


def main(arguments: list[str] | None = None) -> int:
    """Return 1 if anything is wrong."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends what was started, too
    parser = argparse.ArgumentParser(prog="python -m tests.gates", description=__doc__)
    parser.add_argument("goals", nargs="*", metavar="GOAL", help="G1 to G18; all if none")
    stages = [stage.value for stage in Stage]
    parser.add_argument("--stage", choices=stages, default=Stage.PULL_REQUEST.value)
    parser.add_argument("--minutes", type=float, default=600.0, help="of each goal, at most")
    parser.add_argument("--folder", type=Path, default=ROOT / ".gates", help="what is done")
    parser.add_argument("--keep", action="store_true", help="keep the results, renew the page")
    parser.add_argument("--page", action="store_true", help="renew the page and run nothing")
    options = parser.parse_args(arguments)
    unknown = set(options.goals) - {goal.name for goal in GOALS}
    if unknown:
        parser.error(f"no such goal: {', '.join(sorted(unknown))}")
    kept = read_results(KEPT)
    wrong = 0
    if not options.page:
        goals = [goal for goal in GOALS if not options.goals or goal.name in options.goals]
        stage = Stage(options.stage)
        print(f"{'goal':5} {'tried':>9} {'asked':>9} {'wrong':>6} {'s':>8} {'cpu s':>8} {'a s':>8}")
        for one in run_all(goals, stage, options.folder / stage.value, options.minutes):
            print(
                f"{one.goal:5} {one.count:9} {one.asked:9} {one.wrong:6} {one.seconds:8.1f} "
                f"{one.processor:8.1f} {one.rate:8.2f}  {one.verdict}  {one.note}",
                flush=True,
            )
            wrong += one.wrong
            kept[one.goal] = one
    if options.keep:
        write_results(KEPT, tuple(kept[goal.name] for goal in GOALS if goal.name in kept))
    if options.keep or options.page:
        PAGE.write_text(page(read_results(KEPT)), encoding="utf-8")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
