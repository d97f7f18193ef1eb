"""A worker that starts a process in a session of its own, tells its number, and answers no more."""

from __future__ import annotations

import json
import subprocess
import sys


def main() -> None:
    sys.stdin.readline()
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    print(json.dumps({"child": child.pid}), flush=True)
    sys.stdin.readline()
    child.wait()


if __name__ == "__main__":
    main()
