"""Productions of loops, of ways out of them, and of lists."""

from __future__ import annotations

from tests.hostile.arrays import array
from tests.hostile.grammar import FLOATS, INTEGERS, Kind, Maker, production
from tests.hostile.results import give_back
from tests.hostile.statements import DONE, body


def _inside(m: Maker, most: int = 3) -> None:
    """Add a loop's body and perhaps a way out of it."""
    m.scope.loops += 1
    body(m, most)
    if m.chance(0.2):
        m.make("way out", 1)
    m.scope.loops -= 1


def _after(m: Maker) -> None:
    """Add a loop's `else`, seldom."""
    if m.chance(0.04 + 0.2 * m.hostility):
        with m.path(), m.block("else:"):
            body(m, 1)


@production("statement", 7)
def count(m: Maker, depth: int) -> str:
    """Loop over the subscripts of an array."""
    if m.scope.loops > 2:
        return ""
    free = [n for n in ("i", "j", "k", "r") if n not in m.scope.frozen]
    if not free:
        return ""
    name, dim = free[0], m.rng.choice(sorted(m.scope.lengths))
    length = m.length(dim)
    bounds = m.pick(length, length, length, f"1, {length}", f"{length} - 1", f"0, {length}, 2",
                    f"{length} - 1, -1, -1")  # fmt: skip
    before = dict(m.scope.indices)
    with m.path(), m.block(f"for {name} in range({bounds}):"):
        m.bind(name, Kind("int"))
        m.scope.indices[name] = dim
        m.scope.frozen.add(name)
        _inside(m)
        m.scope.frozen.discard(name)
    _after(m)
    m.scope.indices = before
    return DONE


@production("statement", 1)
def count_to_any(m: Maker, depth: int) -> str:
    if m.scope.loops > 1:
        return ""
    name = m.fresh("c")
    small = f"min({m.make('int', 0)}, 4)"
    bounds = m.pick(
        small, "3", f"0, {small}", f"{small}, 0, -1", "2, -3, -2", "0", "3, 1", f"{small}, 3",
        f"-2, {small}, 2",
    )  # fmt: skip
    with m.path(), m.block(f"for {name} in range({bounds}):"):
        m.bind(name, Kind("int"))
        m.scope.frozen.add(name)
        _inside(m, 2)
        m.scope.frozen.discard(name)
    _after(m)
    return DONE


@production("statement", 0.5, hostile=True)
def use_loop_variable_after(m: Maker, depth: int) -> str:
    names = [n for n, k in m.scope.maybe.items() if n in "ijkr" or n.startswith("c")]
    if not names:
        return ""
    m.line(f"{m.bind(m.fresh(), Kind('int'))} = {m.rng.choice(names)}")
    return DONE


@production("statement", 0.4, hostile=True)
def assign_to_loop_variable(m: Maker, depth: int) -> str:
    if m.scope.loops > 1:
        return ""
    name, total = m.fresh("c"), m.bind(m.fresh(), Kind("int"))
    m.line(f"{total} = 0")
    with m.path(), m.block(f"for {name} in range({m.pick('3', '4', m.length('N'))}):"):
        m.line(f"{name} = {name} {m.pick('* 2', '+ 1', '- 3', '% 2')}")
        m.line(f"{total} += {name}")
    return DONE


@production("statement", 2)
def over_items(m: Maker, depth: int) -> str:
    if m.scope.loops > 1:
        return ""
    names = m.arrays(1)
    if not names:
        return ""
    one, two = m.rng.choice(names), m.rng.choice(names)
    x, y = m.fresh("x"), m.fresh("y")
    dim = m.kind(one).dims[0]
    head = m.pick(f"{x} in {one}", f"{x} in {one}", f"{y}, {x} in enumerate({one})",
                  f"{y}, {x} in enumerate({one})", f"{x} in {one}[::-1]",
                  f"{x}, {y} in zip({one}, {two})", f"{x} in reversed({one})",
                  f"{x}, {y} in zip({one}, {two}[1:])")  # fmt: skip
    kept = m.arrays(1)
    m.scope.frozen.update(kept)  # no writing to what the loop goes over
    before = dict(m.scope.indices)
    with m.path(), m.block(f"for {head}:"):
        m.bind(x, Kind(m.kind(one).dtype))
        if "enumerate" in head:
            m.bind(y, Kind("int"))
            m.scope.indices[y] = dim
        elif "zip" in head:
            m.bind(y, Kind(m.kind(two).dtype))
        m.scope.frozen |= {x, y}
        _inside(m, 2)
    m.scope.frozen -= {*kept, x, y}
    m.scope.indices = before
    _after(m)
    return DONE


@production("statement", 0.5)
def over_constants(m: Maker, depth: int) -> str:
    if m.scope.loops > 1:
        return ""
    x = m.fresh("x")
    values = m.pick("(1, 2, 4)", "(0.5, 1.5)", "[3, -1]", "(1, 2.5)")
    with m.path(), m.block(f"for {x} in {values}:"):
        m.bind(x, Kind("float" if "." in values else "int"))
        m.scope.frozen.add(x)
        _inside(m, 2)
        m.scope.frozen.discard(x)
    return DONE


@production("statement", 2)
def repeat_while(m: Maker, depth: int) -> str:
    if m.scope.loops > 1:
        return ""
    name, first_value = m.fresh("w"), m.pick("0", "1", m.make("int", 0))
    m.line(f"{m.bind(name, Kind('int'))} = {first_value}")
    most = m.pick("3", "4", m.length("N"))
    rest = m.pick("", "", f" and {m.make('bool', 1)}")
    with m.path(), m.block(f"while {name} < {most}{rest}:"):
        m.scope.frozen.add(name)
        first = m.chance(0.4)
        if first:
            m.line(f"{name} += 1")
        body(m, 2)
        if not first:
            m.line(f"{name} += {m.pick('1', '1', '2')}")
        if m.chance(0.3):
            m.scope.loops += 1
            m.make("way out", 1)
            m.scope.loops -= 1
        m.scope.frozen.discard(name)
    _after(m)
    return DONE


@production("way out", 3)
def leave(m: Maker, depth: int) -> str:
    with m.block(f"if {m.make('bool', 1)}:"):
        m.line("break")
    return DONE


@production("way out", 2)
def skip(m: Maker, depth: int) -> str:
    with m.block(f"if {m.make('bool', 1)}:"):
        m.line("continue")
    if m.budget > 0:
        m.make("statement", 1)
    return DONE


@production("way out", 0.5)
def return_early(m: Maker, depth: int) -> str:
    with m.block(f"if {m.make('bool', 1)}:"):
        m.line(f"return {give_back(m)}")
        m.returns = True
    return DONE


@production("way out", 0.3, hostile=True)
def leave_at_once(m: Maker, depth: int) -> str:
    m.line(m.pick("break", "continue"))
    return DONE


@production("statement", 0.5)
def return_from_branch(m: Maker, depth: int) -> str:
    if m.indent > 2 and not m.chance(m.hostility):
        return ""
    with m.block(f"if {m.make('bool', 1)}:"):
        m.line(f"return {give_back(m)}")
        m.returns = True
    return DONE


# lists


@production("statement", 0.5)
def append_and_sum(m: Maker, depth: int) -> str:
    if m.scope.loops > 1:
        return ""
    name, x = m.fresh("items"), m.fresh("x")
    m.line(f"{name} = []")
    with m.block(f"for {x} in range({m.pick(m.length('N'), '3')}):"):
        m.bind(x, Kind("int"))
        m.scope.frozen.add(x)
        m.line(f"{name}.append({m.make(m.pick('int', 'float'), 1)})")
        m.scope.names.pop(x)
        m.scope.frozen.discard(x)
    use = m.pick(
        f"sum({name})",
        f"len({name})",
        f"np.sum(np.array({name}))",
        f"max({name}{', default=0' if m.chance(m.hostility) else ''})",
    )
    m.line(f"{m.bind(m.fresh(), Kind('float'))} = {use}")
    return DONE


@production("statement", 0.4, hostile=True)
def list_as_stack(m: Maker, depth: int) -> str:
    name = m.fresh("stack")
    m.line(f"{name} = [{m.make('int', 1)}, {m.make('int', 1)}]")
    with m.path(), m.block(f"if {m.make('bool', 1)}:"):
        m.line(f"{name}.append({m.make('int', 1)})")
    m.line(f"{m.bind(m.fresh(), Kind('int'))} = {name}.pop()")
    m.line(f"{m.bind(m.fresh(), Kind('int'))} = {name}[{m.pick('0', '-1', '1')}]")
    return DONE


@production("statement", 0.4)
def list_of_numbers(m: Maker, depth: int) -> str:
    name = m.fresh("items")
    m.line(f"{name} = [{m.make('int', 1)}, {m.make('int', 1)}, {m.make('int', 0)}]")
    if m.chance(0.5):
        m.line(f"{name}[{m.pick('0', '1', '-1')}] = {m.make('int', 1)}")
    use = m.pick(f"{name}[0] + {name}[-1]", f"sum({name})", f"max({name})", f"len({name})",
                 f"sorted({name})[0]", f"{name}[{m.make('int', 0)} % 3]")  # fmt: skip
    m.line(f"{m.bind(m.fresh(), Kind('int'))} = {use}")
    return DONE


@production("statement", 1)
def call_for_effect(m: Maker, depth: int) -> str:
    return m.make("call", 2, family="effect")


@production("statement", 0.4, hostile=True)
def numpy_number(m: Maker, depth: int) -> str:
    kind = m.pick(*INTEGERS, *FLOATS)
    value = m.pick("1", "100", "0", "3", "-1", m.make("int", 0))
    m.line(f"{m.bind(m.fresh(), Kind(kind))} = np.{kind}({value})")
    return DONE


@production("statement", 0.4)
def result_argument(m: Maker, depth: int) -> str:
    names = m.arrays(1)
    if not names or not (targets := [n for n in names if n not in m.scope.frozen]):
        return ""
    out = m.rng.choice(targets)
    one = array(m, m.kind(out).dims, 0)
    m.line(f"np.{m.pick('add', 'multiply', 'maximum')}({one}, {m.make('int', 0)}, out={out})")
    return DONE


@production("statement", 0.4)
def typed_array(m: Maker, depth: int) -> str:
    kind = m.pick("int64", "int32", "float32", "float64", "int8", "uint8", "complex128", "bool_")
    text = m.pick(f"np.{kind}", repr(kind.rstrip("_")))
    name = m.bind(m.fresh("t"), Kind(kind, ("N",)))
    m.line(f"{name} = np.zeros({m.length('N')}, dtype={text})")
    return DONE
