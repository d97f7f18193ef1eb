"""Programs of any number of statements, as text, with arguments.

In: the number of statements.  Out: a `Text`, from which `define` makes a function.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a function `f`; `arguments` is an expression over `np` and `rng`."""

    text: str
    arguments: str


def define(program: Text, folder: Path) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the function, defined in a file of `folder`, and arguments for it."""
    path = folder / "program.py"
    path.write_text(f"import numpy as np\n\n\n{program.text}", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names = {"np": np, "rng": np.random.default_rng(1)}
    return module.f, eval(f"({program.arguments},)", names)


def _text(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def chain(number: int) -> Text:
    """Elementwise statements, each with a new array made of the last two."""
    body = [f"    t{k} = t{k - 1} * 2.0 + t{max(k - 2, 0)}" for k in range(1, number + 1)]
    return Text(_text("def f(t0):", *body, f"    return t{number}"), "rng.random(9)")


def fields(number: int) -> Text:
    """Elementwise statements on whole arrays of two dimensions, six in turn."""
    body = [
        f"    {'abcdef'[k % 6]}[:, :] = {'abcdef'[(k + 1) % 6]} * 0.5 + {'abcdef'[(k + 4) % 6]}"
        for k in range(number)
    ]
    return Text(_text("def f(a, b, c, d, e, f):", *body), "*rng.random((6, 5, 7))")


def stencils(number: int) -> Text:
    """Stencils on arrays of their own, independent of each other."""
    body = [f"    b{k}[1:-1] = 0.3 * (a{k}[:-2] + a{k}[1:-1] + a{k}[2:])" for k in range(number)]
    names = ", ".join(f"a{k}, b{k}" for k in range(number))
    return Text(_text(f"def f({names}):", *body), f"*rng.random(({2 * number}, 9))")


def updates(number: int) -> Text:
    """One array updated in place by every statement, from elements beside."""
    body = [
        f"    for i in range(2, a.shape[0] - 2):\n"
        f"        a[i] = a[i] * 0.5 + 0.1 * a[i {'+-'[k % 2]} {k % 3}]"
        for k in range(number)
    ]
    return Text(_text("def f(a):", *body), "rng.random(12)")


def steps(number: int) -> Text:
    """A loop over time with all statements in its body, on five fields in turn."""
    names = ("ex", "ey", "hz", "px", "py")
    body = []
    for k in range(number):
        one, two, other = (names[(k * s + o) % 5] for s, o in ((1, 0), (2, 1), (3, 2)))
        body.append(
            f"        {one}[1:-1, 1:-1] += 0.{k % 7 + 1} * ({two}[1:-1, 2:] - {other}[:-2, 1:-1])"
        )
    text = _text("def f(ex, ey, hz, px, py, steps):", "    for t in range(steps):", *body)
    return Text(text, "*rng.random((5, 6, 7)), 3")


def scalars(number: int) -> Text:
    """A loop of straight-line code, each scalar made of two others."""
    body = [f"        s{k} = s{k - 1} * 0.5 + a[i] / (1.0 + s{k // 2})" for k in range(1, number)]
    text = _text(
        "def f(a, b):",
        "    for i in range(a.shape[0]):",
        "        s0 = a[i]",
        *body,
        f"        b[i] = s{number - 1}",
    )
    return Text(text, "rng.random(5), np.zeros(5)")


def unrolled(number: int) -> Text:
    """A loop over points of unrolled physics: eight components, each renewed again and again."""
    body = []
    for k in range(number):
        one, two, three = k % 8, (k * 3 + 1) % 8, (k * 5 + 2) % 8
        body.append(f"        q[i, {one}] = q[i, {one}] + 0.1 * q[i, {two}] * p[i, {three}]")
    text = _text("def f(p, q):", "    for i in range(p.shape[0]):", *body)
    return Text(text, "rng.random((5, 8)), rng.random((5, 8))")


def nests(number: int) -> Text:
    """Loop nests one after the other on rows of one matrix, each of the two rows before."""
    body = [
        f"    for i in range(1, n):\n        A[{k + 2}, i] = A[{k + 1}, i - 1] + A[{k}, i]"
        for k in range(number)
    ]
    return Text(_text("def f(A, n):", *body), f"rng.random(({number + 2}, 4)), 4")


def sums(number: int) -> Text:
    """Reductions of one array into elements of another, each with a loop of its own."""
    body = [
        f"    for i in range(a.shape[0]):\n        s[{k}] += a[i] * {k}.0 + a[i] / {k + 1}.0"
        for k in range(number)
    ]
    return Text(_text("def f(a, s):", *body), f"rng.random(7), np.zeros({number})")


KINDS: dict[str, Callable[[int], Text]] = {
    kind.__name__: kind
    for kind in (chain, fields, stencils, updates, steps, scalars, unrolled, nests, sums)
}
