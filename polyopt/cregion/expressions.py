"""C expressions as Python expressions of the same value.

In: a node of the syntax tree, what its names stand for.  Out: `Value`: Python's text and C's type.
Every conversion that C makes silently is written: NumPy's rules differ (ISO C11, 6.3.1.8 and 6.5).
Refuses: what has side effects inside of expressions, and other constructs (PO0190).
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from typing import TYPE_CHECKING

from polyopt.cregion.declarations import (
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    Declared,
    Number,
    Scope,
    common,
    promoted,
)
from polyopt.cregion.literals import Literal, character_literal, number_literal
from polyopt.cregion.syntax import Unit, field, is_word, walk
from polyopt.dataclass import dataclass, replace
from polyopt.frontend.python.c_math import FUNCTIONS
from polyopt.ir.types import DType

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Value:
    """Python's text of an expression and the type that C gives it.

    `is_test`: a truth value, 1 or 0 in C.  `literal`: the number that a literal stands for.
    """

    text: str
    number: Number
    is_test: bool = False
    literal: int | None = None


_UNARY = {
    "sqrt": "sqrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2",
    "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "fabs": "abs", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "rint": "rint", "nearbyint": "rint", "cbrt": "cbrt", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh",
}  # fmt: skip
_BINARY = {
    "pow": "power", "fmin": "fmin", "fmax": "fmax", "atan2": "arctan2", "hypot": "hypot",
    "fmod": "fmod", "copysign": "copysign",
}  # fmt: skip
_TESTS = ("isnan", "isinf", "isfinite", "signbit")
_CALLED = {
    **{name: (1, f"np.{known}", DOUBLE) for name, known in _UNARY.items()},
    **{f"{name}f": (1, f"np.{known}", FLOAT) for name, known in _UNARY.items()},
    **{name: (2, f"np.{known}", DOUBLE) for name, known in _BINARY.items()},
    **{f"{name}f": (2, f"np.{known}", FLOAT) for name, known in _BINARY.items()},
    **{
        function.name: (function.arity, name, FLOAT if function.kind is FLOAT.dtype else DOUBLE)
        for name, function in FUNCTIONS.items()
    },
}
"""How many arguments a function of `math.h` has, its name in Python's text, and their type."""
_ABSOLUTE = {"abs": INT, "labs": LONG, "llabs": LONG}
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_RESERVED = frozenset(
    {*keyword.kwlist, "np", "range", "int", "float", "abs", "min", "max", "len", "print", "match"}
    | FUNCTIONS.keys()
)


def python_name(name: str) -> str:
    """Return an identifier of C's as one of Python's."""
    return f"{name}_" if name in _RESERVED else name


class Expressions:
    """Reads expressions; `names` are the declarations inside the region.

    `affine`: integers that are Python's; `counters` of loops, `running` those of the loops around,
    `not_negative` those that count from 0 or more.  `used` are the declarations from outside.
    """

    def __init__(
        self,
        unit: Unit,
        scope: Scope,
        names: Mapping[str, Declared],
        counters: frozenset[str] = frozenset(),
    ) -> None:
        self.unit, self.scope, self.names, self.counters = unit, scope, names, counters
        self.affine: set[str] = set()
        self.running: list[str] = []
        self.not_negative: set[str] = set()
        self.is_position = False
        self.used: dict[str, Declared] = {}

    # -- what statements ask for ---------------------------------------------------------------

    def declared(self, name: str, node: Node) -> Declared:
        """Return the declaration of `name`; one from outside of the region is noted as used."""
        if name in self.names:
            return self.names[name]
        found = self.scope.get(name, node)
        self.used.setdefault(name, found)
        return found

    def number(self, node: Node) -> Value:
        """Return an expression whose value is a number."""
        value = self.read(node)
        if not value.is_test:
            return value
        return Value(f"(np.int32(1) if {value.text} else np.int32(0))", INT)

    def test(self, node: Node) -> str:
        """Return an expression as a condition."""
        before, self.is_position = self.is_position, False
        text = self._test(node)
        self.is_position = before
        return text

    def _test(self, node: Node) -> str:
        while node.type == "parenthesized_expression":
            node = _inner(node)
        if node.type == "call_expression":
            name, arguments = self._called(node)
            if name in _TESTS and len(arguments) == 1:
                return f"np.{name}({self.number(arguments[0]).text})"
        value = self.read(node)
        if value.is_test:
            return value.text
        return f"({value.text} != 0)"

    def integer(self, node: Node) -> Value:
        """Return an expression whose value is an integer; raises PO0190.

        Unsigned sizes and counters are Python's integers in subscripts and bounds: where they would
        wrap, the subscript is outside of its array.
        """
        before, self.is_position = self.is_position, True
        value = self.number(node)
        self.is_position = before
        if value.number.is_float:
            message = f"`{self.unit.source(node)}` is a floating-point number"
            self.unit.refuse("PO0190", message, node, "count and subscript with integers")
        return value

    def converted(self, value: Value, to: Number) -> str:
        """Return the text of `value` converted to the type `to`, as an assignment does."""
        if value.is_test:
            one, zero = ("1", "0") if to.is_index else (f"{to.numpy}(1)", f"{to.numpy}(0)")
            return f"({one} if {value.text} else {zero})"
        own = value.number
        if own == to:
            return value.text
        if to.is_float:
            if value.literal is not None and to == DOUBLE:
                return f"{value.literal}.0"
            return f"{to.numpy}({value.text})"
        if value.literal is not None:
            wrapped = str(to.wrapped(value.literal))
            return wrapped if to.is_index else f"{to.numpy}({wrapped})"
        if to.is_index:
            return f"int({value.text})" if own.is_float else value.text
        if own.is_index and not to.holds(own) and not self.is_position:
            return f"{to.numpy}({LONG.numpy}({value.text}))"  # wraps, as Python's integers do not
        return f"{to.numpy}({value.text})"

    def place(self, node: Node) -> tuple[str, Number] | None:
        """Return Python's text of an element of an array, and its type; None for anything else."""
        if node.type == "parenthesized_expression":
            return self.place(_inner(node))
        found = self._element(node)
        if found is None:
            return None
        declared, indices = found
        if len(indices) != len(declared.extents):
            message = (
                f"`{self.unit.source(node)}` is a part of `{declared.name}`, which has "
                f"{len(declared.extents)} dimensions"
            )
            self.unit.refuse("PO0190", message, node, "subscript every dimension")
        texts = tuple(self.integer(i).text for i in indices)
        return f"{python_name(declared.name)}[{', '.join(texts)}]", declared.number

    def _element(self, node: Node) -> tuple[Declared, list[Node]] | None:
        """Return the array and the subscripts of `A[i][j]`, `*p`."""
        indices: list[Node] = []
        part = node
        while part.type in ("subscript_expression", "parenthesized_expression"):
            if part.type == "parenthesized_expression":
                part = _inner(part)
                continue
            indices.append(field(part, "index"))
            part = field(part, "argument")
        if not indices or part.type != "identifier":
            return None
        name = self.unit.source(part)
        declared = self.declared(name, part)
        if not declared.is_array:
            message = f"`{name}` is a number and has no elements"
            self.unit.refuse("PO0190", message, node, "subscript an array or a pointer")
        return declared, indices[::-1]

    # -- expressions ---------------------------------------------------------------------------

    def read(self, node: Node) -> Value:  # noqa: C901 - one case per construct
        """Return Python's text and C's type of an expression."""
        match node.type:
            case "parenthesized_expression":
                return self.read(_inner(node))
            case "number_literal":
                return self._literal(node)
            case "true" | "false":
                return Value(node.type.capitalize(), Number(DType.BOOL), is_test=True)
            case "char_literal":
                return self._of_literal(character_literal(self.unit.source(node)), node)
            case "identifier":
                return self._name(node)
            case "subscript_expression":
                found = self.place(node)
                if found is not None:
                    return Value(found[0], found[1])
            case "pointer_expression":
                return self._pointed(node)
            case "unary_expression":
                return self._unary(node)
            case "binary_expression":
                return self._binary(node)
            case "conditional_expression":
                return self._conditional(node)
            case "cast_expression":
                to = self.scope.number_named(field(node, "type"))
                if to is not None:
                    value = self.read(field(node, "value"))
                    if value.number.is_index and to.is_integer and to.holds(value.number):
                        to = replace(to, is_index=True)
                    return Value(self.converted(value, to), to)
            case "call_expression":
                return self._call(node)
            case _:
                pass
        what = {
            "assignment_expression": "an assignment inside an expression",
            "update_expression": "`++` or `--` inside an expression",
            "comma_expression": "a comma expression",
            "sizeof_expression": "`sizeof`",
            "field_expression": "a member of a structure",
        }.get(node.type, f"`{self.unit.source(node)}`")
        hint = "write it as a statement of its own, or before the region"
        self.unit.refuse("PO0190", f"{what} is not supported in a region", node, hint)

    def _literal(self, node: Node) -> Value:
        text = self.unit.source(node)
        if text[0] not in "+-":  # a sign that the parser takes for a part of the number
            return self._number(text, node)
        return self._signed(text[0], self._number(text[1:], node))

    def _number(self, text: str, node: Node) -> Value:
        value = self._of_literal(number_literal(text), node)
        if not value.number.is_unsigned or self.is_position:
            return value
        kind = replace(value.number, is_index=False)
        return Value(f"{kind.numpy}({value.text})", kind, literal=value.literal)

    def _of_literal(self, literal: Literal | str, node: Node) -> Value:
        if isinstance(literal, str):
            message = f"`{self.unit.source(node)}` {literal}"
            self.unit.refuse("PO0190", message, node, "write a number that `double` or `long` has")
        return Value(literal.text, literal.number, literal=literal.value)

    def _name(self, node: Node) -> Value:
        name = self.unit.source(node)
        declared = self.declared(name, node)
        if declared.is_array:
            message = f"`{name}` is an array, which an expression cannot use as a whole"
            self.unit.refuse("PO0190", message, node, "subscript every dimension")
        if name in self.counters and name not in self.running:
            message = f"`{name}` counts a loop, and is read outside of it"
            self.unit.refuse("PO0194", message, node, "use another variable, set in the loop")
        if name not in self.affine:
            return Value(python_name(name), declared.number)
        if declared.number.is_unsigned and not self.is_position:
            text = python_name(name)
            if name in self.names and name not in self.counters:  # may be below 0, in Python
                text = f"{LONG.numpy}({text})"
            return Value(f"{declared.number.numpy}({text})", declared.number)
        return Value(python_name(name), replace(declared.number, is_index=True))

    def _pointed(self, node: Node) -> Value:
        argument = field(node, "argument")
        while argument.type == "parenthesized_expression":
            argument = _inner(argument)
        if self.unit.source(node).startswith("*") and argument.type == "identifier":
            declared = self.declared(self.unit.source(argument), argument)
            if len(declared.extents) == 1:
                return Value(f"{python_name(declared.name)}[0]", declared.number)
        hint = "write the element with subscripts: `p[i]`"
        message = f"`{self.unit.source(node)}` computes with pointers"
        self.unit.refuse("PO0190", message, node, hint)

    def _unary(self, node: Node) -> Value:
        operator = self.unit.source(field(node, "operator"))
        argument = field(node, "argument")
        if operator == "!":
            return Value(f"(not {self.test(argument)})", INT, is_test=True)
        return self._signed(operator, self.number(argument))

    def _signed(self, operator: str, value: Value) -> Value:
        """Return the value of an arithmetic operator with one operand."""
        kind = promoted(value.number)
        text = self.converted(value, kind)
        if operator == "+":
            return Value(text, kind, literal=value.literal)
        literal = None
        if value.literal is not None and operator == "-" and not kind.is_unsigned:
            literal = -value.literal
        return Value(f"({operator}{text})", kind, literal=literal)

    def _binary(self, node: Node) -> Value:
        operator = self.unit.source(field(node, "operator"))
        left, right = field(node, "left"), field(node, "right")
        if operator in ("&&", "||"):
            word = "and" if operator == "&&" else "or"
            return Value(f"({self.test(left)} {word} {self.test(right)})", INT, is_test=True)
        if operator in _COMPARISONS:
            return self._comparison(operator, left, right)
        one, two = self.number(left), self.number(right)
        if operator == "%" and self.is_position and self._may_wrap(left):
            one, two = self._exact(left), self._exact(right)
        return self.combined(operator, one, two, node)

    def _exact(self, node: Node) -> Value:
        """Return a number in the type that C computes it in, also in subscripts and bounds."""
        before, self.is_position = self.is_position, False
        value = self.number(node)
        self.is_position = before
        return value

    def _comparison(self, operator: str, left: Node, right: Node) -> Value:
        """Return a comparison; of Python's integers, where these are what C compares."""
        one, two = self._exact(left), self._exact(right)
        kind = common(one.number, two.number)
        if {left.type, right.type} <= {"identifier", "number_literal"} and not kind.is_float:
            is_same = all(
                not kind.is_unsigned or (self.is_not_negative(node) and not self._may_wrap(node))
                for node in (left, right)
            )
            if is_same:
                before, self.is_position = self.is_position, True
                one, two = self.number(left), self.number(right)
                self.is_position = before
                kind = common(one.number, two.number)
        texts = f"{self.converted(one, kind)} {operator} {self.converted(two, kind)}"
        return Value(f"({texts})", INT, is_test=True)

    def is_not_negative(self, node: Node) -> bool:
        """Tell whether an integer is 0 or more by its form."""
        match node.type:
            case "number_literal":
                return self.unit.source(node)[0] != "-"
            case "parenthesized_expression":
                return self.is_not_negative(_inner(node))
            case "identifier" if self.unit.source(node) in self.not_negative:
                return True
            case "binary_expression" if self.unit.source(field(node, "operator")) in "+*/%":
                return all(self.is_not_negative(field(node, side)) for side in ("left", "right"))
            case _:
                return self._exact(node).number.is_unsigned

    def _may_wrap(self, node: Node) -> bool:
        """Tell whether an unsigned number may be below 0 where it is one of Python's."""
        return any(
            (
                part.type in ("binary_expression", "unary_expression")
                and self.unit.source(field(part, "operator")) in "-~"
            )
            or (
                part.type == "identifier"
                and self.unit.source(part) in self.names.keys() - self.counters
            )
            for part in walk(node)
        )

    def combined(self, operator: str, left: Value, right: Value, node: Node) -> Value:
        """Return `left operator right` after the usual conversions."""
        kind = common(left.number, right.number)
        if operator in ("<<", ">>"):
            kind = promoted(left.number)
            if left.literal is not None or right.literal is None or not right.number.is_index:
                kind = replace(kind, is_index=kind.is_index and self.is_position)
        one, two = self.converted(left, kind), self.converted(right, kind)
        if operator in ("/", "%") and not kind.is_float:
            return Value(self._truncated(operator, one, two, right, kind), kind)
        if operator in ("%", "&", "|", "^", "<<", ">>") and kind.is_float:
            self.unit.refuse("PO0190", f"`{operator}` of floating-point numbers", node)
        return Value(f"({one} {operator} {two})", kind)

    def _truncated(self, operator: str, one: str, two: str, right: Value, kind: Number) -> str:
        """Return a quotient or remainder of integers as C rounds it, towards zero."""
        python = "//" if operator == "/" else "%"
        if kind.is_unsigned:
            return f"({one} {python} {two})"
        if not kind.is_index:
            rest = f"np.fmod({one}, {two})"
            return rest if operator == "%" else f"(({one} - {rest}) // {two})"
        if right.literal is not None and right.literal > 0:
            return f"({one} {python} {two} if {one} >= 0 else -(-{one} {python} {two}))"
        if operator == "/":
            return f"({one} // {two} if ({one} >= 0) == ({two} > 0) else -(-{one} // {two}))"
        return f"({one} % abs({two}) if {one} >= 0 else -(-{one} % abs({two})))"

    def _conditional(self, node: Node) -> Value:
        condition = field(node, "condition")
        then, otherwise = (
            self.number(field(node, "consequence")),
            self.number(field(node, "alternative")),
        )
        kind = common(then.number, otherwise.number)
        if kind.is_index and not (kind.is_unsigned and self._may_wrap(node)):
            found = self._extremum(condition, then.text, otherwise.text)
            if found is not None:
                return Value(found, kind)
        one, two = self.converted(then, kind), self.converted(otherwise, kind)
        return Value(f"({one} if {self.test(condition)} else {two})", kind)

    def _extremum(self, condition: Node, then: str, otherwise: str) -> str | None:
        """Return `min(a, b)` for `a < b ? a : b` of integers, and its like."""
        while condition.type == "parenthesized_expression":
            condition = _inner(condition)
        if condition.type != "binary_expression":
            return None
        operator = self.unit.source(field(condition, "operator"))
        left = self.number(field(condition, "left")).text
        right = self.number(field(condition, "right")).text
        if operator not in ("<", "<=", ">", ">=") or {left, right} != {then, otherwise}:
            return None
        is_less = operator[0] == "<"
        return f"{'min' if is_less is (left == then) else 'max'}({left}, {right})"

    def _called(self, node: Node) -> tuple[str, list[Node]]:
        """Return the name of what is called, without gcc's additions, and the arguments."""
        name = self.unit.source(field(node, "function")).removeprefix("__builtin_")
        arguments = [n for n in field(node, "arguments").children if is_word(n)]
        return name.removesuffix("_sign"), arguments

    def _call(self, node: Node) -> Value:
        name, arguments = self._called(node)
        arity, text, kind = _CALLED.get(name, (-1, "", DOUBLE))
        if arity == len(arguments):
            texts = ", ".join(self.converted(self.read(a), kind) for a in arguments)
            return Value(f"{text}({texts})", kind)
        if name in _TESTS:
            hint = f"write `{name}(...) ? 1 : 0`"
            self.unit.refuse("PO0190", f"C leaves open which number `{name}` is", node, hint)
        if name in _ABSOLUTE and len(arguments) == 1:
            self.integer(arguments[0])
            value, kind = self.number(arguments[0]), _ABSOLUTE[name]
            if value.number.is_index and kind.holds(value.number):
                kind = replace(kind, is_index=True)
            return Value(f"abs({self.converted(value, kind)})", kind)
        hint = "call functions of math.h, or write the function's body into the region"
        counted = f"`{name}` with {len(arguments)} arguments, not {arity}"
        message = f"`{name}` is a function without a known meaning" if arity < 0 else counted
        self.unit.refuse("PO0190", message, node, hint)


def _inner(node: Node) -> Node:
    return next(child for child in node.children if is_word(child))
