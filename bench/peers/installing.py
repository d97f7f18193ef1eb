"""Environments of their own for peers in Python.

In: the name of a peer.  Out: a virtual environment with it in a folder of the user's cache.
"""

from __future__ import annotations

import subprocess
import sys

from bench.peers import registry
from bench.peers.folder import environment, python


def install(name: str) -> int:
    """Make an environment, put a peer in it and say where; return pip's exit code."""
    peer = registry.PYTHON_PEERS[name]
    place = environment(peer.environment)
    if not python(peer.environment).is_file():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    pip = [str(python(peer.environment)), "-m", "pip", "install", "--quiet"]
    done = subprocess.run([*pip, "numpy", *peer.packages], check=False)
    print(f"{name}: {'failed' if done.returncode else f'installed in {place}'}", flush=True)
    return done.returncode
