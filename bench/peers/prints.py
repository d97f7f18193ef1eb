"""What a checked result depends on, as a short text.

In: a peer and a workload.  Out: a digest that changes when the peer or the program does.
"""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path

import numpy as np

import polyopt
from bench.function import Function
from bench.peers import ccode, registry
from bench.peers.folder import digest
from bench.process import ROOT
from workloads import Workload


def fingerprint(peer: str, workload: Workload) -> str:
    """Return what decides the results of `peer` on `workload`."""
    parts = [_text(workload), registry.version(peer), np.__version__, _texts("bench")]
    if peer == "polyopt":
        parts.append(_texts("polyopt"))
    if peer in ccode.C_PEERS:
        text = ccode.source(workload, peer)
        parts.append("" if text is None else text.read_text())
    return digest(*parts)


def _text(workload: Workload) -> str:
    """Return the text that defines a workload."""
    if isinstance(workload, Function):
        return workload.mark
    module = inspect.getsourcefile(workload.build)
    assert module is not None
    return Path(module).read_text()


@cache
def _texts(folder: str) -> str:
    """Return a digest of all Python files that are in a folder of the checkout."""
    below = Path(polyopt.__file__).parent if folder == "polyopt" else ROOT / folder / "peers"
    return digest(*((str(f), f.read_bytes()) for f in sorted(below.rglob("*.py"))))
