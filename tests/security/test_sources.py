"""No path from data to code: nothing in polyopt unpickles, evaluates, executes or asks a shell.

Where Python code is run it is the user's own function or module, or what polyopt wrote itself;
each of these places is listed here with what it runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import polyopt

ROOT = Path(polyopt.__file__).parent
LOADERS = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml", "code", "pty"}
CALLS = {
    "eval", "exec", "compile", "builtins.compile", "builtins.exec", "builtins.eval", "__import__",
    "os.system", "os.popen", "runpy.run_path", "runpy.run_module",
}  # fmt: skip
KNOWN = {
    ("capture/by_name.py", "import pickle"): "raises PicklingError for a function without a name",
    ("capture/text.py", "exec"): "the text of the user's own function, changed by polyopt",
    ("capture/text.py", "compile"): "the same",
    ("capture/text.py", "builtins.compile"): "the same",
    ("cli/load.py", "compile"): "the module that the command line names",
    ("cli/load.py", "spec.loader.exec_module"): "the same",
    ("dataclass.py", "exec"): "methods of records, made of the names of polyopt's own fields",
    ("runtime/caller.py", "loader.exec_module"): "an extension whose digest was verified",
    ("tracing/compiling.py", "compile"): "a function of that module",
    ("tracing/contraction.py", "compile"): "a function of that module",
}


def found_in(tree: ast.AST) -> Iterator[str]:
    """Yield what could turn data into code, or into a command."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (f"import {a.name}" for a in names if a.name.split(".")[0] in LOADERS)
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in LOADERS:
                yield f"import {module}"
            case ast.Call(func=func):
                yield from _in_call(ast.unparse(func), node)
            case _:
                pass


def _in_call(name: str, call: ast.Call) -> Iterator[str]:
    if name in CALLS or name.endswith(".exec_module") or name.startswith(("os.exec", "os.spawn")):
        yield name
    words = {word.arg: ast.unparse(word.value) for word in call.keywords if word.arg}
    if words.get("shell", "False") != "False":
        yield "shell"
    if words.get("allow_pickle", "False") != "False":
        yield "allow_pickle"
    if name in ("np.load", "numpy.load", "npy.read_array") and "allow_pickle" not in words:
        yield f"{name} without allow_pickle=False"


def test_nothing_turns_data_into_code() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), what)
        for path in ROOT.rglob("*.py")
        for what in found_in(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set(KNOWN)


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from marshal import loads",
        "eval(text)",
        "subprocess.run(text, shell=True)",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "os.execv(a, b)",
    ],
)
def test_each_of_them_is_seen(text: str) -> None:
    assert list(found_in(ast.parse(text)))
