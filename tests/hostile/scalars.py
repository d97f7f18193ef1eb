"""Productions of numbers: Python's and NumPy's, of all widths.

In: a `Maker`.  Out: text of an expression.
"""

from __future__ import annotations

from tests.hostile.grammar import FLOATS, INTEGERS, Kind, Maker, production


def index(m: Maker, dim: str, depth: int = 1) -> str:
    """Return a subscript of a dimension, inside of it more often than not."""
    return m.make("index", depth, dim=dim)


@production("index", 12, leaf=True)
def loop_variable(m: Maker, depth: int, dim: str) -> str:
    names = [n for n, d in m.scope.indices.items() if d == dim and n in m.scope.names]
    return m.rng.choice(names) if names else ""


@production("index", 1.5, leaf=True)
def first_or_last(m: Maker, depth: int, dim: str) -> str:
    return m.pick("0", "-1")


@production("index", 1.5)
def wrapped(m: Maker, depth: int, dim: str) -> str:
    return f"({m.make('int', depth)}) % {m.length(dim)}"


@production("index", 1)
def neighbour(m: Maker, depth: int, dim: str) -> str:
    name = loop_variable(m, depth, dim)
    return f"{name} - 1" if name else ""


@production("index", 1)
def mirrored(m: Maker, depth: int, dim: str) -> str:
    name = loop_variable(m, depth, dim)
    return m.pick(f"-{name} - 1", f"{m.length(dim)} - 1 - {name}") if name else ""


@production("index", 1, hostile=True, leaf=True)
def anywhere(m: Maker, depth: int, dim: str) -> str:
    return m.pick("1", "-2", *(m.numbers("int") or ["2"]))


def _element(m: Maker, *families: str) -> str:
    names = m.arrays(None, *families)
    if not names:
        return ""
    name = m.rng.choice(names)
    return f"{name}[{', '.join(index(m, dim) for dim in m.kind(name).dims)}]"


# integers


@production("int", 2, leaf=True)
def int_constant(m: Maker, depth: int) -> str:
    return m.pick("0", "1", "2", "3", "-1", "-2", "5", "7")


@production("int", 4, leaf=True)
def int_name(m: Maker, depth: int) -> str:
    names = m.numbers("int")
    return m.rng.choice(names) if names else ""


@production("int", 1, leaf=True)
def int_length(m: Maker, depth: int) -> str:
    names = m.arrays()
    if not names:
        return ""
    name = m.rng.choice(names)
    axis = m.rng.randrange(len(m.kind(name).dims))
    return m.pick(f"len({name})", f"{name}.shape[{axis}]", f"{name}.size", f"{name}.ndim")


@production("int", 3, leaf=True)
def int_element(m: Maker, depth: int) -> str:
    return _element(m, "int")


@production("int", 4)
def int_arithmetic(m: Maker, depth: int) -> str:
    return f"({m.make('int', depth)} {m.pick('+', '-', '*', '+', '-')} {m.make('int', depth)})"


@production("int", 1)
def int_division(m: Maker, depth: int) -> str:
    divisor = m.pick("2", "3", "-2", "-3", "4")
    return f"({m.make('int', depth)} {m.pick('//', '%')} {divisor})"


@production("int", 0.5, hostile=True)
def int_division_by_any(m: Maker, depth: int) -> str:
    return f"({m.make('int', depth)} {m.pick('//', '%')} {m.make('int', depth)})"


@production("int", 0.7)
def int_bits(m: Maker, depth: int) -> str:
    return f"({m.make('int', depth)} {m.pick('&', '|', '^')} {m.make('int', depth)})"


@production("int", 0.5, hostile=True)
def int_shift(m: Maker, depth: int) -> str:
    amount = m.pick("1", "3", "(i % 4)" if "i" in m.scope.names else "2", "31", "63", "-1")
    return f"({m.make('int', depth)} {m.pick('<<', '>>')} {amount})"


@production("int", 0.7)
def int_power(m: Maker, depth: int) -> str:
    return f"({m.make('int', depth)}) ** {m.pick('2', '3', '0', '2')}"


@production("int", 0.3, hostile=True)
def int_power_of_any(m: Maker, depth: int) -> str:
    return f"{m.pick('2', '(-1)', '0', '(-2)')} ** ({m.make('int', depth)})"


@production("int", 1)
def int_unary(m: Maker, depth: int) -> str:
    return f"{m.pick('-', '-', '~', '+')}({m.make('int', depth)})"


@production("int", 1.5)
def int_builtin(m: Maker, depth: int) -> str:
    one, two = m.make("int", depth), m.make("int", depth)
    return m.pick(f"abs({one})", f"min({one}, {two})", f"max({one}, {two})", f"max({one}, 1)")


@production("int", 0.8)
def int_of_float(m: Maker, depth: int) -> str:
    return f"int({m.make('float', depth)})"


@production("int", 0.4)
def int_of_bool(m: Maker, depth: int) -> str:
    return m.pick(f"int({m.make('bool', depth)})", f"({m.make('bool', depth)}) + 1")


@production("int", 0.5, hostile=True)
def numpy_integer(m: Maker, depth: int) -> str:
    return f"np.{m.pick(*INTEGERS)}({m.pick('1', '3', '100', '-1', m.make('int', depth))})"


@production("int", 1)
def int_conditional(m: Maker, depth: int) -> str:
    test = m.make("bool", depth)
    return f"({m.make('int', depth)} if {test} else {m.make('int', depth)})"


@production("int", 0.4, hostile=True)
def int_mixed_conditional(m: Maker, depth: int) -> str:
    test = m.make("bool", depth)
    return f"({m.make('int', depth)} if {test} else {m.make('float', depth)})"


@production("int", 0.4, hostile=True)
def int_and_or(m: Maker, depth: int) -> str:
    return f"({m.make('int', depth)} {m.pick('and', 'or')} {m.make('int', depth)})"


@production("int", 0.4, hostile=True)
def int_walrus(m: Maker, depth: int) -> str:
    value = m.make("int", depth)
    name = m.fresh("w")
    m.scope.maybe[name] = Kind("int")
    return f"({name} := {value})"


@production("int", 0.8)
def int_reduction(m: Maker, depth: int) -> str:
    names = m.arrays(None, "int")
    if not names:
        return ""
    name = m.rng.choice(names)
    call = m.pick("sum", "max", "min", "argmax", "argmin", "prod")
    return m.pick(f"{name}.{call}()", f"np.{call}({name})")


@production("int", 0.5)
def int_position(m: Maker, depth: int) -> str:
    names = m.arrays(1)
    return f"{m.pick('np.argmin', 'np.argmax')}({m.rng.choice(names)})" if names else ""


@production("int", 0.4)
def int_count(m: Maker, depth: int) -> str:
    names = m.arrays()
    if not names:
        return ""
    test = f"{m.rng.choice(names)} > {m.make('int', 0)}"
    return m.pick(f"np.count_nonzero({test})", f"np.sum({test})")


@production("int", 0.5)
def int_generator(m: Maker, depth: int) -> str:
    bound = m.make("int", 0)
    return m.pick(
        f"sum(q * q for q in range({bound}))",
        f"sum([q - 1 for q in range({bound}) if q % 2])",
        "max([q % 3 for q in range(4)])",
    )


@production("int", 1.2)
def int_helper(m: Maker, depth: int) -> str:
    return m.make("call", depth, family="int")


# floats


@production("float", 2, leaf=True)
def float_constant(m: Maker, depth: int) -> str:
    return m.pick("0.5", "1.0", "2.0", "-1.5", "0.25", "3.0", "0.0")


@production("float", 0.3, hostile=True, leaf=True)
def float_special(m: Maker, depth: int) -> str:
    return m.pick("np.nan", "np.inf", "-np.inf", "-0.0", "5e-324", "1e308", "float('inf')")


@production("float", 3, leaf=True)
def float_name(m: Maker, depth: int) -> str:
    names = m.numbers("float")
    return m.rng.choice(names) if names else ""


@production("float", 5, leaf=True)
def float_element(m: Maker, depth: int) -> str:
    return _element(m, "float")


@production("float", 4)
def float_arithmetic(m: Maker, depth: int) -> str:
    return f"({m.make('float', depth)} {m.pick('+', '-', '*')} {m.make('float', depth)})"


@production("float", 1)
def float_division(m: Maker, depth: int) -> str:
    divisor = m.pick("2.0", "4.0", "(1.0 + abs(" + m.make("float", depth) + "))")
    return f"({m.make('float', depth)} / {divisor})"


@production("float", 0.5, hostile=True)
def float_division_by_any(m: Maker, depth: int) -> str:
    return f"({m.make('float', depth)} {m.pick('/', '//', '%')} {m.make('float', depth)})"


@production("float", 0.5)
def float_floor_division(m: Maker, depth: int) -> str:
    return f"({m.make('float', depth)} {m.pick('//', '%')} {m.pick('2.0', '-1.5', '3')})"


@production("float", 1.5)
def float_with_int(m: Maker, depth: int) -> str:
    return f"({m.make('float', depth)} {m.pick('+', '-', '*')} {m.make('int', depth)})"


@production("float", 0.6)
def true_division(m: Maker, depth: int) -> str:
    return f"({m.make('int', depth)} / {m.pick('2', '4', 'max(1, ' + m.make('int', depth) + ')')})"


@production("float", 0.6)
def float_power(m: Maker, depth: int) -> str:
    return f"({m.make('float', depth)}) ** {m.pick('2', '3', '2.0', '0', '0.5', '-1')}"


@production("float", 1)
def float_builtin(m: Maker, depth: int) -> str:
    one, two = m.make("float", depth), m.make("float", depth)
    return m.pick(
        f"abs({one})", f"min({one}, {two})", f"max({one}, {two})", f"float({one})",
        f"max({one}, 0)", f"-({one})", f"np.maximum({one}, {two})", f"np.abs({one})",
    )  # fmt: skip


@production("float", 0.8)
def float_function(m: Maker, depth: int) -> str:
    one = m.make("float", depth)
    return m.pick(
        f"math.sqrt(abs({one}))", f"np.sqrt(abs({one}))", f"math.floor({one})",
        f"np.floor({one})", f"math.fabs({one})", f"np.sqrt({one})", f"np.sign({one})",
        f"math.ceil({one})", f"np.trunc({one})", f"round({one})",
    )  # fmt: skip


@production("float", 0.5)
def float_of_int(m: Maker, depth: int) -> str:
    return f"float({m.make('int', depth)})"


@production("float", 0.5, hostile=True)
def numpy_float(m: Maker, depth: int) -> str:
    return f"np.{m.pick(*FLOATS)}({m.make('float', depth)})"


@production("float", 1)
def float_conditional(m: Maker, depth: int) -> str:
    test = m.make("bool", depth)
    other = m.make("int" if m.chance(m.hostility) else "float", depth)
    return f"({m.make('float', depth)} if {test} else {other})"


@production("float", 0.3, hostile=True)
def float_and_or(m: Maker, depth: int) -> str:
    return f"({m.make('float', depth)} {m.pick('and', 'or')} {m.make('float', depth)})"


@production("float", 1.5)
def float_reduction(m: Maker, depth: int) -> str:
    names = m.arrays(None, "float")
    if not names:
        return ""
    name = m.rng.choice(names)
    call = m.pick("sum", "max", "min", "mean", "sum", "prod")
    extra = m.pick("", "", "", ", initial=0.0", ", initial=2") if call != "mean" else ""
    return m.pick(f"{name}.{call}({extra[2:]})", f"np.{call}({name}{extra})")


@production("float", 0.4)
def float_masked_reduction(m: Maker, depth: int) -> str:
    names = m.arrays(None, "float", "int")
    if not names:
        return ""
    name = m.rng.choice(names)
    return f"np.sum({name}, where={name} > {m.make('int', 0)}, dtype=np.float64)"


@production("float", 0.8)
def dot_product(m: Maker, depth: int) -> str:
    names = m.arrays(1, "float")
    if not names:
        return ""
    name = m.rng.choice(names)
    return m.pick(f"np.dot({name}, {name})", f"({name} @ {name})")


@production("float", 0.5)
def float_generator(m: Maker, depth: int) -> str:
    names = m.arrays(1, "float", "int")
    if not names:
        return ""
    name = m.rng.choice(names)
    return m.pick(
        f"sum([q * 2 for q in {name}])", f"sum(abs(q) for q in {name})",
        f"max([{name}[q] for q in range(len({name}))])", f"sum({name})",
    )  # fmt: skip


@production("float", 1)
def float_helper(m: Maker, depth: int) -> str:
    return m.make("call", depth, family="float")


# truth values


@production("bool", 4, leaf=True)
def comparison(m: Maker, depth: int) -> str:
    family = m.pick("int", "float", "int")
    op = m.pick("<", "<=", ">", ">=", "==", "!=")
    return f"{m.make(family, depth)} {op} {m.make(family, depth)}"


@production("bool", 0.8)
def chained_comparison(m: Maker, depth: int) -> str:
    family = m.pick("int", "float")
    parts = [m.make(family, depth) for _ in range(3)]
    return f"{parts[0]} {m.pick('<', '<=')} {parts[1]} {m.pick('<', '<=', '!=', '>')} {parts[2]}"


@production("bool", 0.5, leaf=True)
def bool_name(m: Maker, depth: int) -> str:
    names = m.numbers("bool")
    return m.rng.choice(names) if names else ""


@production("bool", 0.3, leaf=True)
def bool_constant(m: Maker, depth: int) -> str:
    return m.pick("True", "False")


@production("bool", 1)
def parity(m: Maker, depth: int) -> str:
    return f"{m.make('int', depth)} % 2 == {m.pick('0', '1')}"


@production("bool", 1)
def connective(m: Maker, depth: int) -> str:
    return f"({m.make('bool', depth)} {m.pick('and', 'or')} {m.make('bool', depth)})"


@production("bool", 0.6)
def negation(m: Maker, depth: int) -> str:
    return f"not ({m.make('bool', depth)})"


@production("bool", 0.4)
def quantifier(m: Maker, depth: int) -> str:
    names = m.arrays()
    if not names:
        return ""
    name = m.rng.choice(names)
    return f"np.{m.pick('any', 'all')}({name} {m.pick('>', '<', '==')} {m.make('int', 0)})"


@production("bool", 0.3)
def special_test(m: Maker, depth: int) -> str:
    return f"{m.pick('np.isnan', 'np.isfinite', 'math.isinf')}({m.make('float', depth)})"


@production("bool", 0.3, hostile=True)
def truth_of_number(m: Maker, depth: int) -> str:
    return m.make(m.pick("int", "float"), depth)


@production("bool", 0.3, hostile=True)
def membership(m: Maker, depth: int) -> str:
    return f"{m.make('int', depth)} {m.pick('in', 'not in')} (0, 2, 5)"


@production("bool", 0.2, hostile=True)
def bool_identity(m: Maker, depth: int) -> str:
    return f"bool({m.make('int', depth)}) {m.pick('==', 'is', '!=', '<')} {m.pick('True', 'False')}"


# complex numbers


@production("complex", 1, leaf=True)
def complex_constant(m: Maker, depth: int) -> str:
    return m.pick("1j", "(1 + 2j)", "(-0.5j)", "complex(2, -1)", "(0j)")


@production("complex", 3, leaf=True)
def complex_name(m: Maker, depth: int) -> str:
    names = m.numbers("complex")
    return m.rng.choice(names) if names else ""


@production("complex", 3, leaf=True)
def complex_element(m: Maker, depth: int) -> str:
    return _element(m, "complex")


@production("complex", 2)
def complex_arithmetic(m: Maker, depth: int) -> str:
    family = m.pick("complex", "float", "int")
    return f"({m.make('complex', depth)} {m.pick('+', '-', '*')} {m.make(family, depth)})"


@production("complex", 0.5)
def complex_of_parts(m: Maker, depth: int) -> str:
    return f"complex({m.make('float', depth)}, {m.make('float', depth)})"


@production("complex", 0.5)
def complex_method(m: Maker, depth: int) -> str:
    text = m.make("complex", depth)
    return m.pick(f"({text}).conjugate()", f"np.conj({text})", f"({text}) / 2")


@production("float", 0.3)
def part_of_complex(m: Maker, depth: int) -> str:
    names = m.numbers("complex")
    if not names and not m.chance(m.hostility):
        return ""
    text = m.make("complex", depth)
    return m.pick(f"({text}).real", f"({text}).imag", f"abs({text})")
