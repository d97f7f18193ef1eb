"""Productions of calls: helpers of the program, of its modules, closures, lambdas, recursion.

In: a `Maker`.  Out: text of a call; the definition where it belongs.
"""

from __future__ import annotations

from tests.hostile.grammar import Kind, Maker, production
from tests.hostile.statements import DONE

CONSTANTS = """\
import numpy as np

SCALE = 2.5
LIMIT = 3
OFFSETS = (1, -2, 4)
WEIGHTS = np.array([0.5, -1.0, 2.0])
TABLE = np.array([3, 1, 2, 0])


def scaled(x, by=SCALE):
    return x * by


def limited(k):
    if k > LIMIT:
        return LIMIT
    return k
"""
_INT_HELPERS = {
    "clamp": "def clamp(k, low=0, high=3):\n    if k < low:\n        return low\n"
    "    return high if k > high else k\n",
    "wrap": "def wrap(k, m):\n    return k % m if m != 0 else 0\n",
    "first_above": "def first_above(k, step=2):\n    for q in range(4):\n        if q * step > k:\n"
    "            return q\n    return -1\n",
    "total_to": "def total_to(k):\n    s = 0\n    q = 0\n    while q < k and q < 5:\n"
    "        s += q\n        q += 1\n    return s\n",
    "outer_step": "def inner_step(k, by):\n    return k - by\n\n\n"
    "def outer_step(k, by=1):\n    return inner_step(inner_step(k, by=by), by) + by\n",
}
_FLOAT_HELPERS = {
    "soft": "def soft(x, t=0.5):\n    if x > t:\n        return x - t\n    elif x < -t:\n"
    "        return x + t\n    return 0.0\n",
    "half": "def half(x, *, up=False):\n    if up:\n        return x\n    return x / 2\n",
    "maybe_int": "def maybe_int(x):\n    if x > 1:\n        return 1\n    return x\n",
    "pairwise": "def pairwise(x, y):\n    return x + y, x - y\n",
    "mean_of": "def mean_of(a):\n    s = 0.0\n    for v in a:\n        s += v\n"
    "    return s / max(len(a), 1)\n",
}
_EFFECTS = {
    "scale_all": "def scale_all(a, by=2):\n    for q in range(len(a)):\n        a[q] = a[q] * by\n",
    "shift_left": "def shift_left(a):\n    a[:-1] = a[1:]\n",
    "set_first": "def set_first(a, x):\n    if len(a) > 0:\n        a[0] = x\n    return len(a)\n",
    "rebind": "def rebind(a):\n    a = a + 1\n    a[...] = 0\n    return a\n",
}


def _define(m: Maker, helpers: dict[str, str]) -> str:
    name = m.rng.choice(sorted(helpers))
    if helpers[name] not in m.prelude:
        m.prelude.append(helpers[name])
    return name


def _shadowed(m: Maker, name: str) -> bool:
    return name in m.scope.names or name in m.scope.maybe


@production("call", 3)
def helper_of_integers(m: Maker, depth: int, family: str) -> str:
    if family != "int":
        return ""
    name, one = _define(m, _INT_HELPERS), m.make("int", depth)
    match name:
        case "clamp":
            return m.pick(f"clamp({one})", f"clamp({one}, high=2)", f"clamp({one}, 1, high=5)",
                          f"clamp(k={one}, low=-1)")  # fmt: skip
        case "wrap":
            return f"wrap({one}, {m.make('int', depth)})"
        case "outer_step":
            return m.pick(f"outer_step({one})", f"outer_step({one}, by={m.make('int', 0)})")
        case _:
            return f"{name}({one})"


@production("call", 3)
def helper_of_floats(m: Maker, depth: int, family: str) -> str:
    if family != "float":
        return ""
    name, one = _define(m, _FLOAT_HELPERS), m.make("float", depth)
    match name:
        case "soft":
            return m.pick(f"soft({one})", f"soft({one}, t=1.0)", f"soft({one}, 0)")
        case "half":
            return m.pick(f"half({one})", f"half({one}, up=True)")
        case "pairwise":
            return f"pairwise({one}, {m.make('float', depth)})[{m.pick('0', '1', '-1')}]"
        case "mean_of":
            names = m.arrays(1, "float", "int")
            return f"mean_of({m.rng.choice(names)})" if names else ""
        case _:
            return f"{name}({one})"


@production("call", 2)
def helper_with_effect(m: Maker, depth: int, family: str) -> str:
    names = [n for n in m.arrays(1) if n not in m.scope.frozen]
    if family != "effect" or not names:
        return ""
    name, target = _define(m, _EFFECTS), m.rng.choice(names)
    if name == "set_first":
        m.line(f"{m.bind(m.fresh(), Kind('int'))} = set_first({target}, {m.make('float', 1)})")
    elif name == "rebind":
        m.line(f"{m.bind(m.fresh('t'), m.kind(target))} = rebind({target})")
    else:
        m.line(f"{name}({target})")
    return DONE


@production("call", 1)
def unpack_pair(m: Maker, depth: int, family: str) -> str:
    if family != "effect":
        return ""
    helper = _FLOAT_HELPERS["pairwise"]
    if helper not in m.prelude:
        m.prelude.append(helper)
    one, two = m.make("float", depth), m.make("float", depth)
    names = m.bind(m.fresh(), Kind("float")), m.bind(m.fresh(), Kind("float"))
    m.line(f"{names[0]}, {names[1]} = pairwise({one}, {two})")
    return DONE


@production("call", 0.7)
def nested_function(m: Maker, depth: int, family: str) -> str:
    """Define a function inside, which sees names around it, and call it."""
    if family != "effect" or m.scope.loops:
        return ""
    name = m.fresh("g")
    seen = m.make(m.pick("int", "float"), 0)
    if m.chance(0.5):
        with m.block(f"def {name}(x, y={m.pick('2', '0.5')}):"):
            m.line(f"return x * y + {seen}")
    else:
        m.line(f"{name} = lambda x, y=3: x - y * {seen}")
    call = m.pick(f"{name}({m.make('float', 0)})", f"{name}({m.make('int', 0)}, y=1)")
    m.line(f"{m.bind(m.fresh(), Kind('float'))} = {call}")
    return DONE


@production("call", 0.3, hostile=True)
def late_binding(m: Maker, depth: int, family: str) -> str:
    """Change a name between a closure's definition and its call."""
    if family != "effect" or m.scope.loops:
        return ""
    name, seen = m.fresh("g"), m.bind(m.fresh(), Kind("int"))
    m.line(f"{seen} = {m.make('int', 0)}")
    with m.block(f"def {name}(x, y={seen}):"):
        m.line(f"return x + y - {seen}")
    m.line(f"{seen} = {m.make('int', 1)}")
    m.line(f"{m.bind(m.fresh(), Kind('int'))} = {name}({m.make('int', 0)})")
    return DONE


@production("call", 0.8, hostile=True)
def recursion(m: Maker, depth: int, family: str) -> str:
    if family != "int":
        return ""
    text = "def down(k):\n    if k <= 0:\n        return 0\n    return k + down(k - 2)\n"
    if text not in m.prelude:
        m.prelude.append(text)
    return f"down(min({m.make('int', depth)}, 9))"


@production("call", 1)
def constant_of_module(m: Maker, depth: int, family: str) -> str:
    if family == "effect" or _shadowed(m, "consts"):
        return ""
    m.modules["consts"] = CONSTANTS
    if "from . import consts" not in m.imports:
        m.imports.append("from . import consts")
    if family == "float":
        scaled = f"consts.scaled({m.make('float', 0)})"
        twice = f"consts.scaled({m.make('float', 0)}, by=2)"
        return m.pick("consts.SCALE", "consts.WEIGHTS[1]", scaled, twice, "consts.WEIGHTS.sum()")
    return m.pick("consts.LIMIT", f"consts.limited({m.make('int', 0)})", "consts.OFFSETS[1]",
                  f"consts.TABLE[{m.make('int', 0)} % 4]", "len(consts.OFFSETS)")  # fmt: skip


@production("call", 1)
def constant_by_name(m: Maker, depth: int, family: str) -> str:
    name = "SCALE" if family == "float" else "LIMIT"
    if family == "effect" or _shadowed(m, name):
        return ""
    if m.chance(0.5):
        m.modules["consts"] = CONSTANTS
        line = f"from .consts import {name}"
    else:
        line = "SCALE = 1.5" if family == "float" else "LIMIT = 2"
    if any(name in known for known in m.imports):
        return name
    m.imports.append(line)
    return name


@production("call", 0.1, leaf=True)
def no_call(m: Maker, depth: int, family: str) -> str:
    """Stand where nothing may be called."""
    if family == "effect":
        m.line("pass")
        return DONE
    return "1" if family == "int" else "1.0"
