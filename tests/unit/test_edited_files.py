"""Files that are edited between runs and while one goes on: what runs is what the files say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.toolchain

MAIN = """
import sys
import numpy as np
import polyopt as po
import consts
import package.inner
from helpers import helper

@po.kernel
def func(x):
    return helper(x) + consts.other * package.inner.depth

x = np.array([1.0, 2.0])
result = func(x)
assert result.tolist() == func.py_func(x).tolist(), (result, func.py_func(x))
print(result[0], "polyopt.frontend.reader.pyfunc" not in sys.modules)
"""
FILES = {
    "main.py": MAIN,
    "consts.py": "scale = 3.0\nother = 1.0\n",
    "helpers.py": "import consts\n\ndef helper(x):\n    return x * consts.scale\n",
    "package/__init__.py": "",
    "package/inner.py": "depth = 5.0\n",
}


@pytest.fixture
def run(tmp_path: Path):
    """Return `run()`: the first result, and whether it came from the cache, of a new process."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    names = os.environ | {"POLYOPT_CACHE_DIR": str(tmp_path / "cache")}

    def once() -> tuple[float, bool]:
        done = subprocess.run(
            [sys.executable, "-B", "main.py"],
            cwd=tmp_path, env=names, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        value, warm = done.stdout.split()
        return float(value), warm == "True"

    return once


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_every_edit_is_seen_by_the_next_run(run, tmp_path):
    assert run() == (8.0, False)
    assert run() == (8.0, True)
    edit(tmp_path / "consts.py", "scale = 3.0", "scale = 4.0")
    assert run() == (9.0, False)
    edit(tmp_path / "package" / "inner.py", "5.0", "6.0")
    assert run() == (10.0, False)
    edit(tmp_path / "helpers.py", "x * consts.scale", "x / consts.scale")
    assert run() == (6.25, False)
    edit(tmp_path / "helpers.py", "x / consts.scale", "x * consts.scale")
    assert run() == (10.0, True)
    edit(tmp_path / "consts.py", "scale = 4.0", "scale = 3.0")
    edit(tmp_path / "package" / "inner.py", "6.0", "5.0")
    assert run() == (8.0, True)


MODEL = """import polyopt as po

@po.kernel
def func(x):
    return x + 1.0
"""


def test_a_file_that_is_edited_while_it_is_used(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "other.py").write_text("def plain(x):\n    return x * 3.0\n")
    (tmp_path / "main.py").write_text(
        "import numpy as np, polyopt as po, importlib, model, other\n"
        "from polyopt.errors import PolyoptError\n"
        "x = np.array([1.0])\n"
        "def edit(name, text):\n    open(name, 'w').write(text)\n"
        "edit('model.py', open('model.py').read().replace('1.0', '200.0'))\n"
        "print(model.func(x)[0])\n"  # the text of when it was decorated
        "edit('other.py', 'def another(x):\\n    return x * 7.0\\n')\n"
        "try:\n    po.kernel(other.plain)(x)\n"
        "except PolyoptError as error:\n    print(error.code)\n"
        "importlib.reload(model), importlib.reload(other)\n"
        "print(model.func(x)[0], po.kernel(other.another)(x)[0])\n"
    )
    names = os.environ | {"POLYOPT_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-B", "main.py"],
        cwd=tmp_path, env=names, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout.split(), done.stderr) == (["2.0", "PO0104", "201.0", "7.0"], "")
