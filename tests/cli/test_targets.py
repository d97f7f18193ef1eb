"""Files and functions that a command line names wrongly: code, place, reason, hint, exit code."""

from __future__ import annotations

import pytest

CASES = {
    "no such command": (
        ["runn", "a.py:f"],
        2,
        "error[PO0600]: no such command 'runn'",
    ),
    "no target": (
        ["run"],
        2,
        "error[PO0600]: missing argument 'FILE.py:FUNC'\n   = help: see `polyopt run --help`\n",
    ),
    "unknown option": (
        ["run", "a.py:f", "--fast"],
        2,
        "error[PO0600]: no such option",
    ),
    "wrong choice": (
        ["compile", "a.py:f", "--fp", "loose"],
        2,
        "error[PO0600]: invalid value for '--fp': 'loose' is not one of ",
    ),
    "a region for a device": (
        ["compile", "a.c", "--target", "cuda"],
        2,
        "error[PO0627]: regions of C files are compiled to C, not to cuda\n",
    ),
    "missing C file": (
        ["compile", "a.c"],
        2,
        "error[PO0601]: there is no file `a.c`\n"
        "   = help: paths are relative to the current directory\n",
    ),
    "missing file": (
        ["run", "missing.py:f"],
        2,
        "error[PO0601]: there is no file `missing.py`\n"
        "   = help: paths are relative to the current directory\n",
    ),
    "missing file, close name": (
        ["run", "demos.py:f"],
        2,
        "error[PO0601]: there is no file `demos.py`\n   = help: there is `demo.py`\n",
    ),
    "a link to no file": (
        ["run", "link.py:f"],
        2,
        "error[PO0601]: there is no file `link.py`\n"
        "   = help: it is a link to `gone.py`, which leads to no file\n",
    ),
    "not a Python file": (
        ["run", "demo.txt:f"],
        2,
        "error[PO0607]: `demo.txt:f` does not name a function of a Python file\n"
        "   = help: write FILE.py:FUNCTION\n",
    ),
    "missing function, close name": (
        ["check", "demo.py:scael"],
        2,
        "error[PO0605]: `demo.py` has no function `scael`\n   = help: there is `scale`\n",
    ),
    "missing function": (
        ["check", "demo.py::zzz"],
        2,
        "error[PO0605]: `demo.py` has no function `zzz`\n   = help: functions: scale, shift\n",
    ),
    "no function named": (
        ["run", "demo.py"],
        2,
        "error[PO0607]: `demo.py` has 2 functions; none was named\n"
        "   = help: write demo.py:scale; functions: scale, shift\n",
    ),
    "no function at all": (
        ["run", "empty.py"],
        2,
        "error[PO0607]: `empty.py` has no function; none was named\n"
        "   = help: define one in it: `def name(...): ...`\n",
    ),
    "a lambda": (
        ["run", "open.py:add2"],
        1,
        "error[PO0102]: a lambda cannot be compiled\n"
        "  --> open.py:8:1\n"
        "   |\n"
        " 8 | add2 = lambda a: a + 2\n"
        "   | ^\n"
        "   = help: write it as `def name(...): return ...`\n",
    ),
    "a coroutine": (
        ["run", "open.py:later"],
        1,
        "error[PO0113]: `later` is a generator or coroutine, and its body runs in pieces\n"
        "  --> open.py:9:1\n",
    ),
    "not a function": (
        ["explain", "demo.py:SIZE"],
        2,
        "error[PO0606]: `SIZE` in `demo.py` is not a Python function but of type int\n"
        "   = help: write demo.py:scale; functions: scale, shift\n",
    ),
    "a class": (
        ["explain", "demo.py:Shape"],
        2,
        "error[PO0606]: `Shape` in `demo.py` is not a Python function but a class\n"
        "   = help: write demo.py:scale; functions: scale, shift\n",
    ),
    "not text": (
        ["run", "binary.py:f"],
        2,
        "error[PO0602]: `binary.py` cannot be read as Python text: 'utf-8' codec can't decode byte "
        "0xff in position 10: invalid start byte\n"
        "  --> binary.py:3:1\n"
        "   = help: save it as UTF-8, or name its encoding in its first line: # coding: latin-1\n",
    ),
    "a directory": (
        ["run", "folder.py:f"],
        2,
        "error[PO0602]: `folder.py` cannot be read as Python text: Is a directory\n"
        "   = help: name a Python file that you may read\n",
    ),
    "syntax error": (
        ["run", "broken.py:f"],
        1,
        "error[PO0603]: `broken.py` is not valid Python: '(' was never closed\n"
        "  --> broken.py:2:10\n"
        "   |\n"
        " 2 |     x = g(a\n"
        "   |          ^\n",
    ),
    "import error": (
        ["run", "imports.py:f"],
        1,
        "error[PO0604]: running `imports.py` failed: ModuleNotFoundError: No module named "
        "'no_such_module'\n"
        "  --> imports.py:2:1\n"
        "   |\n"
        " 2 | import no_such_module\n"
        "   | ^^^^^^^^^^^^^^^^^^^^^\n"
        "   = help: the file is run as a module to find its functions; guard scripts with "
        '`if __name__ == "__main__":`\n',
    ),
    "the file exits": (
        ["run", "exits.py:f"],
        1,
        "error[PO0604]: running `exits.py` failed: SystemExit: 5\n",
    ),
    "a question that is none": (
        ["explain", "demo.py:scale", "--why-not", "paralel:i"],
        2,
        "error[PO0631]: --why-not: `paralel:i` is no question\n"
        "   = help: did you mean `parallel`? write parallel:LOOP, vectorize:LOOP, tile:LOOP or "
        "fuse:LOOP,LOOP\n",
    ),
    "assembly of a device": (
        ["explain", "demo.py:scale", "--level", "assembly", "--target", "cuda"],
        2,
        "error[PO0630]: there is no assembly of cuda kernels: the device's driver makes it\n"
        "   = help: --level code shows the text of the kernels; --target c has assembly\n",
    ),
    "unknown code": (
        ["explain", "PO9999"],
        2,
        "error[PO0615]: there is no error code `PO9999`\n"
        "   = help: codes are listed in docs/errors.md; they look like PO0312\n",
    ),
    "malformed size": (
        ["compile", "demo.py:scale", "--sizes", "N"],
        2,
        "error[PO0609]: --sizes: `N` is not a size\n"
        "   = help: write N=100 for a size, A=50x60 for the shape of an array\n",
    ),
    "negative size": (
        ["compile", "demo.py:scale", "--sizes", "N=-3"],
        2,
        "error[PO0609]: --sizes: `N` is negative\n   = help: write N=0 or more\n",
    ),
    "unknown element type": (
        ["compile", "demo.py:scale", "--types", "f128[:],f64"],
        2,
        "error[PO0608]: --types: `f128[:]` has no known element type\n"
        "   = note: element types: bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, "
        "f64, c64, c128\n"
        '   = help: for example --types "f64[:,:],i64,=2": a matrix, a size, the constant 2\n',
    ),
    "malformed array type": (
        ["compile", "demo.py:scale", "--types", "f64[;],f64"],
        2,
        "error[PO0608]: --types: `f64[;]` is not an array type\n"
        "   = help: write one `:` per dimension, or `1` where the size is known to be 1: "
        "f64[:,1]\n",
    ),
    "malformed constant": (
        ["compile", "demo.py:scale", "--types", "f64[:],=two"],
        2,
        "error[PO0608]: --types: `=two` is not a constant\n"
        "   = help: write a literal: =2, =True, =None\n",
    ),
    "too few types": (
        ["compile", "demo.py:scale", "--types", "f64[:]"],
        2,
        "error[PO0608]: --types gives 1 type, `scale` has 2 arguments: a, factor\n"
        '   = help: for example --types "f64[:,:],i64,=2": a matrix, a size, the constant 2\n',
    ),
    "schedule is no file": (
        ["compile", "demo.py:scale", "--schedule", "steps.txt"],
        2,
        "error[PO0601]: --schedule: there is no file `steps.txt`, and it is not a schedule\n"
        '   = help: write a file name or steps: --schedule "tile(L0, 32, 32); parallelize(i)"\n',
    ),
    "types are open": (
        ["compile", "open.py:add"],
        2,
        "error[PO0611]: the type of `a` cannot be told from the function: no argument is used as "
        "an array\n"
        "  --> open.py:1:9\n"
        "   |\n"
        " 1 | def add(a, b):\n"
        "   |         ^\n"
        '   = help: say what the arguments are, such as --types "f64[:],f64"\n',
    ),
    "ranks contradict": (
        ["compile", "open.py:ranks"],
        2,
        "error[PO0612]: `a` is used with ranks 2 and 3\n"
        "  --> open.py:4:11\n"
        "   |\n"
        " 4 | def ranks(a):\n"
        "   |           ^\n"
        '   = help: say what the arguments are, such as --types "f64[:,:,:]"\n',
    ),
    "missing npz": (
        ["run", "demo.py:scale", "--npz", "none.npz"],
        2,
        "error[PO0610]: there is no file `none.npz`\n   = help: write one with np.savez\n",
    ),
    "npz is text": (
        ["run", "demo.py:scale", "--npz", "demo.py"],
        2,
        "error[PO0610]: `demo.py` cannot be read as an .npz file: ",
    ),
}

DEMO = """\
class Shape: ...
SIZE = 4
def scale(a, factor):
    for i in range(a.shape[0]):
        a[i] *= factor
def shift(a):
    a[1:] = a[:-1]
"""


@pytest.mark.parametrize("arguments, code, message", CASES.values(), ids=CASES.keys())
def test_a_wrong_command_line(polyopt, write, tmp_path, arguments, code, message):
    write("demo.py", DEMO)
    write("broken.py", "def f(a):\n    x = g(a\n")
    write("imports.py", "import math\nimport no_such_module\ndef f(a): a[0] = 1.0\n")
    write("exits.py", "raise SystemExit(5)\n")
    write("open.py", "def add(a, b):\n    return a + b\n\ndef ranks(a):\n    n, m = a.shape\n"
          "    return a[0, 0, 0]\n\nadd2 = lambda a: a + 2\nasync def later(a): ...\n")  # fmt: skip
    write("empty.py", "")
    (tmp_path / "link.py").symlink_to("gone.py")
    (tmp_path / "binary.py").write_bytes(b"# a file\n\n\xff\xfe\x00\x01def f(): pass")
    (tmp_path / "folder.py").mkdir()
    outcome = polyopt(*arguments)
    assert outcome.err.startswith(message)
    assert "Traceback" not in outcome.err
    assert outcome.out == ""
    assert outcome.code == code


def test_an_error_as_json(polyopt, write):
    import json

    write("broken.py", "def f(a):\n    x = g(a\n")
    outcome = polyopt("run", "broken.py:f", "--json")
    record = json.loads(outcome.out)["error"]
    assert record["code"] == "PO0603"
    assert record["loc"] == {"file": "broken.py", "line": 2, "col": 10}
    assert outcome.err == ""
    assert outcome.code == 1
