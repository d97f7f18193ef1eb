"""A stage of tests: prints rows, then does what its argument says."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import NoReturn

from bench.gpu.stages import say, seconds_left


def main(what: str) -> NoReturn:
    print("not a row")
    say(program="first", ms=1.5)
    say(program="second", left=seconds_left() > 0)
    match what:
        case "end":
            sys.exit(0)
        case "fail":
            sys.exit("it failed")
        case "hang":
            child = subprocess.Popen(["sleep", "60"])
            say(program="third", child=child.pid)
            time.sleep(60)
    raise AssertionError(what)


if __name__ == "__main__":
    main(*sys.argv[1:])
