import tempfile
from pathlib import Path

import polyopt as po


def act():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scaled.po")
        path.write_bytes(b"polyopt-kernel 2 blake2b-256:00\n{}\n")
        po.load(path)
