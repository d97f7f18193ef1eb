"""Productions of statements: assignments and branches.

In: a `Maker`.  Out: lines in `Maker.lines`; a production's own text only says that it applied.
"""

from __future__ import annotations

from tests.hostile.arrays import array
from tests.hostile.grammar import PYTHON, Kind, Maker, production
from tests.hostile.results import any_number
from tests.hostile.scalars import index

DONE = "done"


def body(m: Maker, most: int = 3) -> None:
    """Add one to `most` statements, as long as lines are left."""
    for number in range(m.rng.randint(1, most)):
        if m.budget > 0 or number == 0:
            m.make("statement", 2)


def _target(m: Maker, *families: str) -> str:
    """Return a name to assign to: often one that is there."""
    names = [n for n in m.numbers(*families) if n not in m.scope.frozen]
    return m.rng.choice(names) if names and m.chance(0.6) else m.fresh()


@production("statement", 4)
def assign_number(m: Maker, depth: int) -> str:
    text, kind = any_number(m)
    name = _target(m, kind.family)
    m.line(f"{m.bind(name, kind)} = {text}")
    return DONE


@production("statement", 1, hostile=True)
def change_type(m: Maker, depth: int) -> str:
    """Give a number that is there a value of another type."""
    names = [n for n in m.numbers(*PYTHON) if n not in m.scope.frozen]
    if not names:
        return ""
    name = m.rng.choice(names)
    text, kind = any_number(m)
    m.line(f"{m.bind(name, kind)} = {text}")
    return DONE


@production("statement", 0.6, hostile=True)
def change_rank(m: Maker, depth: int) -> str:
    """Give a name that is there an array in place of a number, or the other way round."""
    names = [n for n in m.scope.names if n not in m.scope.frozen]
    if not names:
        return ""
    name = m.rng.choice(names)
    if m.kind(name).dims:
        text, kind = any_number(m)
    else:
        text, kind = array(m, ("N",), 1), Kind("float64", ("N",))
    m.line(f"{m.bind(name, kind)} = {text}")
    return DONE


@production("statement", 3)
def assign_array(m: Maker, depth: int) -> str:
    dims = m.rng.choice(sorted({k.dims for k in m.scope.names.values() if k.dims} | {("N",)}))
    text = array(m, dims, 2)
    if text.isidentifier() and not m.chance(m.hostility):
        text += ".copy()"
    names = [n for n in m.named(lambda kind: kind.dims == dims) if n not in m.scope.frozen]
    name = m.rng.choice(names) if names and m.chance(0.4) else m.fresh("t")
    m.line(f"{m.bind(name, Kind('float64', dims))} = {text}")
    return DONE


@production("statement", 4)
def augment_number(m: Maker, depth: int) -> str:
    names = [n for n in m.numbers("int", "float", "complex") if n not in m.scope.frozen]
    if not names:
        return ""
    name = m.rng.choice(names)
    family = m.kind(name).family
    family = family if m.chance(0.8) else m.pick("int", "float")
    m.line(f"{name} {m.pick('+=', '-=', '+=', '*=')} {m.make(family, 2)}")
    return DONE


@production("statement", 0.5, hostile=True)
def augment_by_rare_operator(m: Maker, depth: int) -> str:
    names = [n for n in m.numbers("int", "bool") if n not in m.scope.frozen]
    if not names:
        return ""
    operator = m.pick("//=", "%=", "|=", "&=", "^=", ">>=", "<<=", "/=", "**=")
    value = m.make("int", 1) if operator not in ("**=", "<<=", ">>=") else m.pick("2", "1", "0")
    m.line(f"{m.rng.choice(names)} {operator} {value}")
    return DONE


def _written(m: Maker) -> str:
    names = [n for n in m.arrays() if n not in m.scope.frozen]
    return m.rng.choice(names) if names else ""


@production("statement", 7)
def assign_element(m: Maker, depth: int) -> str:
    name = _written(m)
    if not name:
        return ""
    kind = m.kind(name)
    place = ", ".join(index(m, dim) for dim in kind.dims)
    family = kind.family if m.chance(0.9) else m.pick("int", "float", "bool")
    operator = m.pick("=", "=", "+=", "-=", "*=")
    m.line(f"{name}[{place}] {operator} {m.make(family, 2)}")
    return DONE


@production("statement", 2.5)
def assign_slice(m: Maker, depth: int) -> str:
    name = _written(m)
    if not name:
        return ""
    kind = m.kind(name)
    if len(kind.dims) == 1:
        cut, other = m.rng.choice((
            ("1:", ":-1"), (":-1", "1:"), ("::2", "::2"), (":", "::-1"), ("1:-1", "2:"),
            ("::-1", ":"), (":0", ":0"),
        ))  # fmt: skip
        source = m.rng.choice(m.named(lambda k: k.dims == kind.dims) or [name])
        value = m.pick(f"{source}[{other}]", m.make("float", 1), f"{source}[{other}] + 1",
                       f"{name}[{other}] * 2")  # fmt: skip
    else:
        first = index(m, kind.dims[0])
        cut, value = m.rng.choice((
            (first, array(m, kind.dims[1:], 1)),
            (f":, {index(m, kind.dims[1])}", array(m, kind.dims[:1], 1)),
            (":", array(m, kind.dims, 1)), ("...", m.make("float", 1)),
            ("1:, :-1", f"{name}[:-1, 1:]"), (":, ::-1", f"{name}"),
        ))  # fmt: skip
    m.line(f"{name}[{cut}] {m.pick('=', '=', '+=', '-=')} {value}")
    return DONE


@production("statement", 1)
def augment_array(m: Maker, depth: int) -> str:
    name = _written(m)
    if not name:
        return ""
    operand = m.pick(m.make("int", 1), m.make("float", 1), array(m, m.kind(name).dims, 1))
    m.line(f"{name} {m.pick('+=', '*=', '-=')} {operand}")
    return DONE


@production("statement", 0.5, hostile=True)
def augment_array_by_rare_operator(m: Maker, depth: int) -> str:
    name = _written(m)
    if not name:
        return ""
    operand = m.pick(m.make("int", 1), array(m, m.kind(name).dims, 1))
    m.line(f"{name} {m.pick('/=', '//=', '%=', '|=', '&=', '**=', '<<=')} {operand}")
    return DONE


@production("statement", 0.8)
def assign_masked(m: Maker, depth: int) -> str:
    name = _written(m)
    if not name:
        return ""
    test = f"{name} {m.pick('>', '<', '==', '!=')} {m.make('int', 0)}"
    m.line(f"{name}[{test}] {m.pick('=', '=', '+=')} {m.make(m.kind(name).family, 1)}")
    return DONE


@production("statement", 0.5, hostile=True)
def assign_fancy(m: Maker, depth: int) -> str:
    name = _written(m)
    ints = m.arrays(1, "int")
    if not name or not ints or len(m.kind(name).dims) != 1:
        return ""
    place = f"{m.rng.choice(ints)} % {m.length(m.kind(name).dims[0])}"
    m.line(f"{name}[{place}] {m.pick('=', '+=')} {m.make('float', 1)}")
    return DONE


@production("statement", 0.8, hostile=True)
def alias(m: Maker, depth: int) -> str:
    names = m.arrays()
    if not names:
        return ""
    name = m.rng.choice(names)
    kind = m.kind(name)
    view = m.pick("", "", "[::-1]", ".T", "[:]", ".reshape(-1)", ".ravel()")
    dims = kind.dims[::-1] if view == ".T" else kind.dims
    if len(dims) > 1 and view in (".reshape(-1)", ".ravel()"):
        view = ""
    m.line(f"{m.bind(m.fresh('t'), Kind(kind.dtype, dims))} = {name}{view}")
    return DONE


@production("statement", 0.8)
def unpack(m: Maker, depth: int) -> str:
    one, two = any_number(m), any_number(m)
    names = m.fresh(), m.fresh()
    form = m.pick("{}, {} = {}, {}", "({}, {}) = ({}, {})", "[{}, {}] = {}, {}")
    m.line(form.format(*names, one[0], two[0]))
    m.bind(names[0], one[1])
    m.bind(names[1], two[1])
    return DONE


@production("statement", 0.5)
def divide_with_remainder(m: Maker, depth: int) -> str:
    names = m.fresh(), m.fresh()
    m.line(f"{names[0]}, {names[1]} = divmod({m.make('int', 1)}, {m.pick('3', '-2', '4')})")
    for name in names:
        m.bind(name, Kind("int"))
    return DONE


@production("statement", 0.5, hostile=True)
def unpack_starred(m: Maker, depth: int) -> str:
    names = m.fresh(), m.fresh()
    values = ", ".join(m.make("int", 1) for _ in range(m.rng.randint(1, 3)))
    m.line(f"{names[0]}, *{names[1]} = ({values},)")
    m.bind(names[0], Kind("int"))
    m.line(f"{m.bind(m.fresh(), Kind('int'))} = len({names[1]})")
    return DONE


@production("statement", 1)
def swap(m: Maker, depth: int) -> str:
    numbers = [n for n in m.numbers("int", "float") if n not in m.scope.frozen]
    texts = []
    if len(numbers) > 1:
        one, two = m.rng.sample(numbers, 2)
        texts.append(f"{one}, {two} = {two}, {one}")
    name = _written(m)
    if name and len(m.kind(name).dims) == 1:
        dim = m.kind(name).dims[0]
        one, two = (f"{name}[{index(m, dim)}]" for _ in range(2))
        texts.append(f"{one}, {two} = {two}, {one}")
    if not texts:
        return ""
    m.line(m.rng.choice(texts))
    return DONE


@production("statement", 0.6)
def chain(m: Maker, depth: int) -> str:
    text, kind = any_number(m)
    one, two = m.bind(m.fresh(), kind), m.bind(m.fresh(), kind)
    m.line(f"{one} = {two} = {text}")
    return DONE


@production("statement", 0.3, hostile=True)
def chain_of_arrays(m: Maker, depth: int) -> str:
    kind = Kind("float64", ("N",))
    text = array(m, kind.dims, 1)
    m.line(f"{m.bind(m.fresh('t'), kind)} = {m.bind(m.fresh('t'), kind)} = {text}")
    return DONE


@production("statement", 0.3, hostile=True)
def shadow(m: Maker, depth: int) -> str:
    """Give the name of a builtin, a module's constant or an argument another meaning."""
    name = m.pick("sum", "max", "len", "abs", "LIMIT", "SCALE", "e", "n")
    if name in m.scope.frozen or m.indent > 1:
        return ""
    m.line(f"{m.bind(name, Kind('int'))} = {m.make('int', 1)}")
    return DONE


@production("statement", 0.5, hostile=True)
def delete(m: Maker, depth: int) -> str:
    names = [n for n in m.scope.names if n.startswith("v") and n not in m.scope.frozen]
    if not names:
        return ""
    name = m.rng.choice(names)
    m.line(f"del {name}")
    m.scope.maybe[name] = m.scope.names.pop(name)
    return DONE


@production("statement", 0.3, hostile=True)
def check(m: Maker, depth: int) -> str:
    m.line(f"assert {m.make('bool', 1)}")
    return DONE


@production("statement", 0.3, hostile=True)
def raise_error(m: Maker, depth: int) -> str:
    with m.block(f"if {m.make('bool', 1)}:"):
        m.line(m.pick("raise ValueError('no')", "raise IndexError", "raise ValueError"))
    return DONE


# branches


@production("statement", 4)
def branch(m: Maker, depth: int) -> str:
    if m.indent > 4:
        return ""
    with m.path(), m.block(f"if {m.make('bool', 2)}:"):
        body(m, 2)
    while m.chance(0.15):
        with m.path(), m.block(f"elif {m.make('bool', 1)}:"):
            body(m, 2)
    if m.chance(0.5):
        with m.path(), m.block("else:"):
            body(m, 2)
    return DONE


@production("statement", 1)
def branch_to_one_name(m: Maker, depth: int) -> str:
    """Give one name its value on every path; the types may differ."""
    name = m.fresh()
    with m.block(f"if {m.make('bool', 1)}:"):
        text, kind = any_number(m)
        m.line(f"{name} = {text}")
    with m.block("else:"):
        if not m.chance(m.hostility):
            text = m.make(kind.family, 1)
        else:
            text, kind = any_number(m)
        m.line(f"{name} = {text}")
    m.bind(name, kind)
    return DONE


@production("statement", 0.4, hostile=True)
def assign_on_some_paths(m: Maker, depth: int) -> str:
    text, kind = any_number(m)
    name = m.fresh()
    with m.block(f"if {m.make('bool', 1)}:"):
        m.line(f"{name} = {text}")
    if m.chance(0.5):
        m.line(f"{m.bind(m.fresh(), kind)} = {name}")
    else:
        m.scope.maybe[name] = kind
    return DONE
