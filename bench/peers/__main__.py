"""`python -m bench.peers [install NAME…]`: which peers there are; environments for those in Python.

In: names of peers.  Out: a line for each; environments in a folder of the user's cache.
Refuses: a peer that is no Python package.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench.peers import registry
from bench.peers.installing import install


def main(argv: Sequence[str]) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("install", nargs="?", choices=("install",))
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args(argv)
    if options.install is None:
        for peer in registry.PEERS:
            print(f"{peer:14} {registry.version(peer) or 'not installed'}")
        return 0
    unknown = [name for name in options.names if name not in registry.PYTHON_PEERS]
    if unknown or not options.names:
        known = ", ".join(registry.PYTHON_PEERS)
        print(f"peers: cannot install {', '.join(unknown)}; there are {known}", file=sys.stderr)
        return 2
    return max(install(name) for name in options.names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
