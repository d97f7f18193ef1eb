"""Arguments of calls: small sizes, ordinary and special values, layouts, shared memory.

In: a seeded `Random`, parameters.  Out: text that assigns `args`.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.hostile.grammar import Kind

SIZES = ((4, 3), (1, 2), (0, 2), (5, 5), (2, 0), (3, 1))


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter; a Python number of `kind` or a NumPy one, or an array."""

    name: str
    kind: Kind
    default: str = ""


def call_text(rng: Random, parameters: list[Parameter], number: int, special: bool) -> str:
    """Return the text of call `number`."""
    sizes = dict(zip("NM", SIZES[number % len(SIZES)], strict=True))
    lines, names = [], []
    for parameter in parameters:
        kind = parameter.kind
        value = _array(rng, kind, sizes, special) if kind.dims else _number(rng, kind, special)
        lines.append(f"{parameter.name} = {value}")
        names.append(parameter.name)
    lines += _sharing(rng, parameters, special)
    lines.append(f"args = ({', '.join(names)},)")
    return "\n".join(lines) + "\n"


def _sharing(rng: Random, parameters: list[Parameter], special: bool) -> list[str]:
    """Let two arrays share memory, seldom."""
    arrays = [p for p in parameters if p.kind.dims]
    pairs = [(p, q) for p in arrays for q in arrays if p is not q and p.kind == q.kind]
    if not pairs or rng.random() > (0.08 if special else 0.02):
        return []
    one, two = rng.choice(pairs)
    view = rng.choice(("", "", "[::-1]", "[:]"))
    return [f"{two.name} = {one.name}{view}"]


def _array(rng: Random, kind: Kind, sizes: dict[str, int], special: bool) -> str:
    shape = tuple(sizes[dim] for dim in kind.dims)
    count = 1
    for extent in shape:
        count *= extent
    items = ", ".join(_item(rng, kind, special) for _ in range(count))
    text = f"np.array([{items}], dtype=np.{kind.dtype})"
    if len(shape) > 1:
        text += f".reshape({shape})"
    layout = rng.random()
    if layout < 0.05:
        return f"{text}[::-1]"
    if layout < 0.08 and len(shape) > 1:
        return f"np.asfortranarray({text})"
    if layout < 0.11 and len(shape) == 1:
        return f"np.repeat({text}, 2)[::2]"
    return text


def _item(rng: Random, kind: Kind, special: bool) -> str:
    if kind.family == "bool":
        return rng.choice(("True", "False"))
    if kind.family == "int":
        low = 0 if kind.dtype.startswith("u") else -4
        extremes = (f"np.iinfo(np.{kind.dtype}).max", f"np.iinfo(np.{kind.dtype}).min")
        if special and rng.random() < 0.2:
            return rng.choice(extremes)
        return str(rng.randint(low, 9))
    if kind.family == "complex":
        return f"({_real(rng, special)} + {rng.randint(-3, 3)}j)"
    return _real(rng, special)


def _real(rng: Random, special: bool) -> str:
    if special and rng.random() < 0.3:
        return rng.choice(("nan", "inf", "-inf", "-0.0", "0.0", "5e-324", "1e-40", "6e4"))
    if rng.random() < 0.6:
        return str(float(rng.randint(-4, 9)))
    return repr(round(rng.uniform(-3.0, 5.0), 3))


def _number(rng: Random, kind: Kind, special: bool) -> str:
    text = {
        "bool": lambda: rng.choice(("True", "False")),
        "int": lambda: str(_integer(rng, kind, special)),
        "float": lambda: _real(rng, special),
        "complex": lambda: f"complex({_real(rng, special)}, {rng.randint(-2, 2)})",
    }[kind.family]()
    if kind.dtype in ("bool", "int", "float", "complex"):
        return text
    return f"np.{kind.dtype}({text})"


def _integer(rng: Random, kind: Kind, special: bool) -> int:
    if kind.dtype.startswith("u"):
        return rng.randint(0, 9)
    if special and rng.random() < 0.3:
        return rng.choice((0, -1, -7, 2, 100, 127 if kind.dtype == "int8" else 1000))
    return rng.randint(-2, 6)
