"""Productions of arrays of given lengths: elementwise, views, reductions, sorts, masks.

In: a `Maker`, names of lengths.  Out: text of an expression.
"""

from __future__ import annotations

from tests.hostile.grammar import FLOATS, INTEGERS, Kind, Maker, production

Dims = tuple[str, ...]


def array(m: Maker, dims: Dims, depth: int = 2) -> str:
    """Return text of an array with these lengths."""
    return m.make("array", depth, dims=dims)


def shape(m: Maker, dims: Dims) -> str:
    """Return text of a shape."""
    if len(dims) == 1 and m.chance(0.6):
        return m.length(dims[0])
    return f"({', '.join(m.length(dim) for dim in dims)}{',' if len(dims) == 1 else ''})"


def dtype(m: Maker) -> str:
    """Return text of an element type."""
    if m.chance(0.6):
        return m.pick("np.float64", "np.int64", "np.float64", "float", "int")
    return f"np.{m.pick('bool_', 'complex128', *INTEGERS, *FLOATS)}"


@production("array", 8, leaf=True)
def array_name(m: Maker, depth: int, dims: Dims) -> str:
    names = m.named(lambda kind: kind.dims == dims)
    return m.rng.choice(names) if names else ""


@production("array", 1, leaf=True)
def new_array(m: Maker, depth: int, dims: Dims) -> str:
    text = shape(m, dims)
    return m.pick(
        f"np.zeros({text})", f"np.ones({text})", f"np.full({text}, {m.make('float', 0)})",
        f"np.zeros({text}, dtype={dtype(m)})", f"np.ones({text}, {dtype(m)})",
    )  # fmt: skip


@production("array", 1, leaf=True)
def new_range(m: Maker, depth: int, dims: Dims) -> str:
    if len(dims) != 1:
        return ""
    length = m.length(dims[0])
    return m.pick(
        f"np.arange({length})", f"(np.arange({length}) * 2)", f"np.arange(1, {length} + 1)"
    )


@production("array", 0.7, leaf=True)
def array_like(m: Maker, depth: int, dims: Dims) -> str:
    names = m.named(lambda kind: kind.dims == dims)
    if not names:
        return ""
    name = m.rng.choice(names)
    return m.pick(f"np.zeros_like({name})", f"{name}.copy()", f"np.ones_like({name})")


@production("array", 4)
def elementwise(m: Maker, depth: int, dims: Dims) -> str:
    return f"({array(m, dims, depth)} {m.pick('+', '-', '*', '+')} {array(m, dims, depth)})"


@production("array", 2)
def array_with_number(m: Maker, depth: int, dims: Dims) -> str:
    number = m.make(m.pick("int", "float", "float"), depth)
    return f"({array(m, dims, depth)} {m.pick('+', '-', '*')} {number})"


@production("array", 0.7)
def array_division(m: Maker, depth: int, dims: Dims) -> str:
    return f"({array(m, dims, depth)} {m.pick('/', '//', '%')} {m.pick('2', '3.0', '-2')})"


@production("array", 0.4, hostile=True)
def array_division_by_any(m: Maker, depth: int, dims: Dims) -> str:
    return f"({array(m, dims, depth)} {m.pick('/', '//', '%')} {array(m, dims, depth)})"


@production("array", 0.5)
def array_power(m: Maker, depth: int, dims: Dims) -> str:
    return f"({array(m, dims, 0)} ** {m.pick('2', '3', '0')})"


@production("array", 1.5)
def array_function(m: Maker, depth: int, dims: Dims) -> str:
    one = array(m, dims, depth)
    return m.pick(
        f"np.abs({one})", f"(-{one})", f"np.sqrt(np.abs({one}))", f"np.floor({one})",
        f"np.sign({one})", f"np.minimum({one}, {array(m, dims, 0)})",
        f"np.maximum({one}, {m.make('int', 0)})", f"np.clip({one}, -1, 2)", f"np.square({one})",
    )  # fmt: skip


@production("array", 1)
def where(m: Maker, depth: int, dims: Dims) -> str:
    test = f"{array(m, dims, 0)} {m.pick('>', '<', '==')} {m.make('int', 0)}"
    return f"np.where({test}, {array(m, dims, depth)}, {m.pick('0', '-1.0', array(m, dims, 0))})"


@production("array", 0.8)
def cast(m: Maker, depth: int, dims: Dims) -> str:
    return f"{array(m, dims, 0)}.astype({dtype(m)})"


@production("array", 1)
def reversed_view(m: Maker, depth: int, dims: Dims) -> str:
    cut = m.pick("[::-1]", "[::-1]", "[:, ::-1]" if len(dims) == 2 else "[::-1]")
    return f"{array(m, dims, 0)}{cut}"


@production("array", 0.8)
def transposed(m: Maker, depth: int, dims: Dims) -> str:
    if len(dims) != 2:
        return ""
    if not m.named(lambda kind: kind.dims == dims[::-1]):
        return f"np.transpose({array(m, dims, 0)}[:, :].T)"
    return f"{array(m, dims[::-1], 0)}{m.pick('.T', '.T', '.transpose()')}"


@production("array", 1)
def row_or_column(m: Maker, depth: int, dims: Dims) -> str:
    if len(dims) != 1:
        return ""
    rows = m.named(lambda kind: len(kind.dims) == 2 and kind.dims[1] == dims[0])
    columns = m.named(lambda kind: len(kind.dims) == 2 and kind.dims[0] == dims[0])
    texts = [f"{n}[{m.make('index', 1, dim=m.kind(n).dims[0])}]" for n in rows]
    texts += [f"{n}[:, {m.make('index', 1, dim=m.kind(n).dims[1])}]" for n in columns]
    return m.rng.choice(texts) if texts else ""


@production("array", 1)
def axis_reduction(m: Maker, depth: int, dims: Dims) -> str:
    if len(dims) != 1:
        return ""
    names = m.named(lambda kind: len(kind.dims) == 2 and dims[0] in kind.dims)
    if not names:
        return ""
    name = m.rng.choice(names)
    axis = 1 - m.kind(name).dims.index(dims[0])
    call = m.pick("sum", "sum", "max", "min", "mean", "argmax", "any", "prod")
    option = m.pick("", "", ", dtype=np.float64") if call in ("sum", "prod") else ""
    return f"{m.pick('np', 'np')}.{call}({name}, axis={axis}{option})"


@production("array", 0.5)
def kept_reduction(m: Maker, depth: int, dims: Dims) -> str:
    axis = len(dims) - 1
    one = array(m, dims, 0)
    return f"({one} - np.{m.pick('sum', 'max', 'mean')}({one}, axis={axis}, keepdims=True))"


@production("array", 0.8)
def broadcast(m: Maker, depth: int, dims: Dims) -> str:
    if len(dims) != 2:
        return ""
    one, two = array(m, dims[:1], 0), array(m, dims[1:], 0)
    return m.pick(f"({one}[:, None] * {two})", f"np.outer({one}, {two})",
                  f"({one}[:, np.newaxis] + {two}[None, :])")  # fmt: skip


@production("array", 0.6)
def matrix_product(m: Maker, depth: int, dims: Dims) -> str:
    left = m.named(lambda kind: len(kind.dims) == 2 and kind.dims[0] == dims[0])
    if not left:
        return ""
    name = m.rng.choice(left)
    return f"({name} @ {array(m, (m.kind(name).dims[1], *dims[1:]), 0)})"


@production("array", 0.6)
def running(m: Maker, depth: int, dims: Dims) -> str:
    if len(dims) != 1:
        return ""
    return m.pick(f"np.cumsum({array(m, dims, 0)})", f"np.roll({array(m, dims, 0)}, 1)",
                  f"np.flip({array(m, dims, 0)})")  # fmt: skip


@production("array", 0.4)
def sorted_array(m: Maker, depth: int, dims: Dims) -> str:
    if len(dims) != 1:
        return ""
    call = m.pick("np.sort({})", "np.argsort({}, kind='stable')")
    return call.format(array(m, dims, 0))


@production("array", 0.5)
def fancy(m: Maker, depth: int, dims: Dims) -> str:
    if len(dims) != 1:
        return ""
    names = m.arrays(1, "int")
    if not names:
        return ""
    wanted = [name for name in names if m.kind(name).dims == dims]
    if not wanted:
        return ""
    return f"{array(m, dims, 0)}[{m.rng.choice(wanted)} % {m.length(dims[0])}]"


@production("array", 0.5)
def put_together(m: Maker, depth: int, dims: Dims) -> str:
    if len(dims) != 1:
        return ""
    one, two = array(m, dims, 0), array(m, dims, 0)
    return f"np.concatenate(({one}[:1], {two}[1:]))"


@production("array", 0.6)
def from_comprehension(m: Maker, depth: int, dims: Dims) -> str:
    if len(dims) != 1:
        return ""
    q = m.fresh("q")
    known = dict(m.scope.names)
    m.bind(q, Kind("int"))
    m.scope.indices[q] = dims[0]
    text = m.make("float", 1)
    m.scope.names = known
    m.scope.indices.pop(q, None)
    return f"np.array([{text} for {q} in range({m.length(dims[0])})])"


@production("array", 0.3, hostile=True)
def bool_array(m: Maker, depth: int, dims: Dims) -> str:
    return f"({array(m, dims, 0)} {m.pick('>', '<=', '==', '!=')} {array(m, dims, 0)})"


@production("array", 0.6, hostile=True)
def array_choice(m: Maker, depth: int, dims: Dims) -> str:
    return f"({array(m, dims, 0)} if {m.make('bool', 0)} else {array(m, dims, 0)})"
