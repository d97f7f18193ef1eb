"""Which peers there are, which are installed here, and what each can be given.

In: a name.  Out: the version found or the reason why not, the interpreter, the entrants.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata

from bench.function import FORM, Function
from bench.peers import ccode
from bench.peers.folder import python
from workloads import Workload


@dataclass(frozen=True, slots=True)
class PythonPeer:
    """A peer in Python: what to install, and the name of its environment.

    `forms`: what it can be given; in strict mode it takes part with `strict_forms`.
    """

    environment: str
    packages: tuple[str, ...]
    forms: tuple[str, ...]
    strict_forms: tuple[str, ...]


PYTHON_PEERS: Mapping[str, PythonPeer] = {
    "numba": PythonPeer("numba", ("numba", "scipy"), ("loops", "numpy"), ("loops", "numpy")),
    "pythran": PythonPeer("pythran", ("pythran",), ("loops", "numpy"), ("loops", "numpy")),
    "jax": PythonPeer("jax", ("jax",), ("numpy",), ("numpy",)),
    "torch": PythonPeer("torch", ("torch",), ("numpy",), ("numpy",)),
    "torch-compile": PythonPeer("torch", ("torch",), ("numpy",), ("numpy",)),
}
IN_PROJECT = ("polyopt", "numpy", "python")
PEERS = (*IN_PROJECT, *ccode.C_PEERS, *PYTHON_PEERS)


def peers_of(function: Function | None) -> tuple[str, ...]:
    """Return the peers that take part for a user's function, or for workloads."""
    if function is None:
        return tuple(peer for peer in PEERS if peer != "python")
    return tuple(peer for peer in PEERS if forms(peer, function, "strict"))


def version(peer: str) -> str | None:
    """Return the version of an installed peer, None where it is missing."""
    if peer == "python":
        return platform.python_version()
    if peer in IN_PROJECT:
        return metadata.version(peer)
    if peer in ccode.C_PEERS:
        path = ccode.compiler(peer)
        return None if path is None else _first_line(path, "--version")
    package = PYTHON_PEERS[peer].packages[0]
    text = (
        "from importlib.metadata import version; from platform import python_version\n"
        f"print(version({package!r}), 'NumPy', version('numpy'), 'Python', python_version())"
    )
    return _first_line(interpreter(peer), "-c", text)


def interpreter(peer: str) -> str:
    """Return the Python that runs a peer's worker."""
    known = PYTHON_PEERS.get(peer)
    return sys.executable if known is None else str(python(known.environment))


def forms(peer: str, workload: Workload, fp: str) -> tuple[str, ...]:
    """Return the forms of a workload that a peer takes part with; "" for C.

    A user's function is run by Python itself in place of NumPy.
    """
    if peer in ccode.C_PEERS:
        return ("",) if ccode.source(workload, peer) is not None else ()
    if isinstance(workload, Function):
        return () if peer == "numpy" else (FORM,)
    if peer == "python":
        return ()
    if peer == "polyopt":
        return tuple(workload.forms)
    if peer == "numpy":
        return ("numpy",) if "numpy" in workload.forms else ()
    known = PYTHON_PEERS[peer]
    taken = known.strict_forms if fp == "strict" else known.forms
    return tuple(form for form in taken if form in workload.forms)


@cache
def _first_line(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return (done.stdout.splitlines() or [""])[0] if done.returncode == 0 else None
