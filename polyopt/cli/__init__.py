"""The command `polyopt`: parse, call the library, print, return an exit code.

In: a command line.  Out: results on stdout, talk on stderr, an exit code.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code."""
    try:
        from polyopt.cli.app import run

        code = run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:  # while modules are imported, or the second one
        sys.stderr.write("interrupted\n")
        code = 130
    sys.exit(code)
