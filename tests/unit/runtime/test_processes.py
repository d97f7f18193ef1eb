"""Kernels in processes and threads of every kind: forked while others run, spawned, served."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from contextlib import ExitStack
from pathlib import Path

import pytest

from polyopt.ir.source import Signature
from polyopt.runtime import build, process
from polyopt.runtime.process import VARIABLE
from polyopt.runtime.store import Store, open_store
from polyopt.runtime.toolchain import find_compiler
from tests.unit.runtime.sources import make

ROOT = Path(__file__).parents[3]

pytestmark = [pytest.mark.toolchain, pytest.mark.machine]

HEAD = """
import multiprocessing, os, signal, sys, threading, warnings
import numpy as np
import polyopt as po

warnings.simplefilter("ignore")

def scale(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] * 2.0 + i

A = np.arange(120_000.0).reshape(300, 400)
WANTED = A * 2.0 + np.arange(300.0)[:, None]

def is_right(kernel):
    B = np.zeros_like(A)
    kernel(A, B)
    return bool((B == WANTED).all())
"""


def said(folder: Path, text: str, **environment: str) -> str:
    path = folder / "program.py"
    path.write_text(HEAD + textwrap.dedent(text))
    done = subprocess.run(
        [sys.executable, str(path)], cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


FORKS = """
kernel = po.kernel(scale, threads=4)
if os.environ.get("SAVED"):
    kernel.compile(A, A.copy()).save(__file__ + ".po")
    kernel = po.load(__file__ + ".po", threads=4)
assert is_right(kernel)
ends, wrong = threading.Event(), []

def works():
    while not ends.is_set():
        if not is_right(kernel):
            wrong.append(1)

threads = [threading.Thread(target=works) for _ in range(2)]
for thread in threads:
    thread.start()
codes = []
for _ in range(10):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(7 if is_right(kernel) and is_right(kernel) else 1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
ends.set()
for thread in threads:
    thread.join()
print(set(codes), wrong, is_right(kernel))
"""


@pytest.mark.parametrize(
    "environment",
    [{}, {"SAVED": "1"}, {VARIABLE: "1"}],
    ids=["own threads", "saved", "OpenMP's library"],
)
def test_children_forked_while_kernels_run(tmp_path, environment):
    assert said(tmp_path, FORKS, **environment) == "{7} [] True\n"


STARTED = """
def work(number):
    return is_right(po.kernel(scale, threads=1 + number % 3))

if __name__ == "__main__":
    assert is_right(po.kernel(scale, threads=2))
    for way in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(way).Pool(2) as pool:
            print(way, pool.map_async(work, range(4)).get(300))
"""


def test_children_of_every_kind(tmp_path):
    right = "[True, True, True, True]"
    assert said(tmp_path, STARTED) == f"fork {right}\nspawn {right}\nforkserver {right}\n"


THREADS = """
from concurrent.futures import ThreadPoolExecutor

shared = po.kernel(scale, threads=2)

def own(number):
    names = {}
    text = "def f(a, b):\\n    for i in range(a.shape[0]):\\n        b[i] = a[i] + %d.0\\n" % number
    path = f"{__file__}.{number}.py"
    open(path, "w").write(text)
    exec(compile(text, path, "exec"), names)
    a, b = np.arange(50.0), np.zeros(50)
    po.kernel(names["f"])(a, b)
    return bool((b == a + number).all()) and is_right(shared)

with ThreadPoolExecutor(16) as pool:
    print(set(pool.map(own, range(16))))
"""


def test_threads_that_compile_and_call_at_once(tmp_path):
    assert said(tmp_path, THREADS) == "{True}\n"


SUBINTERPRETER = """
import _xxsubinterpreters as interpreters

inside = interpreters.create()
interpreters.run_string(inside, '''
import sys, warnings
warnings.simplefilter("ignore")
import polyopt as po
def f(a):
    a[:] = a * 2
for make in (lambda: po.kernel(f), lambda: po.load("none.po")):
    try:
        make()
    except po.PolyoptError as error:
        print(error.code, flush=True)
''')
print("and", is_right(po.kernel(scale)))
"""


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the module has another name")
def test_other_interpreters_of_a_process_are_refused(tmp_path):
    assert said(tmp_path, SUBINTERPRETER) == "PO0525\nPO0525\nand True\n"


def test_the_functions_of_a_process_are_built_ahead(tmp_path, monkeypatch):
    store, compiler = Store(tmp_path), find_compiler(open_store())
    source = make("", (), Signature("scale", (), (), (), (), "N", ()), openmp=True)
    monkeypatch.setattr(process, "_LOADED", [])
    with ExitStack() as stack:
        begun = process.begin(stack, store, compiler)
        assert begun is not None
        monkeypatch.setattr(build, "_begin", None)  # it goes on with what runs
        assert process.process_for(source, store, compiler, begun)
        assert process.begin(stack, store, compiler) is None
