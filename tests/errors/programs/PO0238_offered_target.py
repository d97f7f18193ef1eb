import importlib
import sys
import tempfile
from pathlib import Path

import polyopt as po


def f(a):
    a[0] = 1.0


def act():
    with tempfile.TemporaryDirectory() as directory:
        info = Path(directory) / "art.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: art\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text("[polyopt.targets]\nbrush = art_of:BRUSH\n")
        sys.path.insert(0, directory)
        importlib.invalidate_caches()
        try:
            po.kernel(f, target="brush")
        finally:
            sys.path.remove(directory)
