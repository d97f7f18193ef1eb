"""Ranks and integer roles of a function's names, read off how its body uses them.

In: a function's AST and the globals it sees.  Out: `Usage`: a rank per name, the integers.
Refuses: nothing; what the body does not tell is absent, and `infer` decides what that means.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from polyopt.frontend.numpy.callback_table import called_name
from polyopt.frontend.syntax.name_resolution import (
    added_dimensions,
    dropped_dimensions,
    function_ast,
    has_star,
    is_capital,
    is_ellipsis,
    is_newaxis,
    is_numpy,
    is_one_of,
    leaves,
    local_names,
    resolve,
    subscript_items,
)
from polyopt.frontend.syntax.parallel_markers import marked_bounds, parallel
from polyopt.frontend.syntax.usage import (
    BITWISE,
    CREATE,
    LIKE,
    PRODUCT,
    REDUCE,
    REDUCE_METHODS,
    SCAN,
    Usage,
)

_MAX_PASSES, _MAX_DEPTH = 12, 6


def read_usage(
    definition: ast.FunctionDef,
    names: Mapping[str, object],
    ranks: Mapping[str, int] | None = None,
    depth: int = 0,
) -> Usage:
    """Return what `definition` says about its names; `names` are the globals it sees.

    `ranks` are known beforehand.  Where the body leaves a choice, a name in capitals is a matrix.
    """
    own = local_names(definition)
    seen = {name: value for name, value in names.items() if name not in own}
    reader = _Reader(seen, Usage(rank=dict(ranks or {})), depth)
    _settle(reader, definition)
    for name in reader.usage.factors:
        if reader.usage.rank.get(name, 0) == 0:
            reader.usage.rank[name] = 2 if is_capital(name) else 1
    _settle(reader, definition)
    return reader.usage


def _settle(reader: _Reader, definition: ast.FunctionDef) -> None:
    for _ in range(_MAX_PASSES):
        before = reader.usage.signature()
        reader.usage.loose.clear()
        for statement in definition.body:
            reader.statement(statement)
        if reader.usage.signature() == before:
            return


class _Reader:
    """One body's walk; ranks flow from values to names (`value`) and back (`demand`)."""

    def __init__(self, names: Mapping[str, object], usage: Usage, depth: int) -> None:
        self.names = names
        self.usage = usage
        self.depth = depth

    # -- statements ---------------------------------------------------------------------------

    def statement(self, node: ast.stmt) -> None:
        """Learn from one statement and the statements inside it."""
        match node:
            case ast.Assign(targets=[*targets], value=value):
                for target in targets:
                    self.assign(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, value)
            case ast.AugAssign():
                self.update(node)
            case ast.Return(value=ast.expr() as value):
                self.usage.returned = max(self.usage.returned, self.value(value))
            case ast.Expr(value=value):
                self.value(value)
            case ast.For():
                self.loop(node)
            case ast.While(test=test) | ast.If(test=test):
                self.value(test)
            case _:
                pass
        self.inside(node)

    def inside(self, node: ast.stmt) -> None:
        """Learn from the statements of a loop or a branch."""
        for part in (*getattr(node, "body", ()), *getattr(node, "orelse", ())):
            if isinstance(part, ast.stmt):
                self.statement(part)

    def loop(self, node: ast.For) -> None:
        """`for i in range(…)`: the iterator and what the bounds are made of are integers."""
        bounds, is_range = marked_bounds(node.iter, lambda name: resolve(name, self.names))
        if not is_range:
            self.iterated(node.iter)
            return
        for argument in bounds:
            self.integer(argument)
        if isinstance(node.target, ast.Name):
            self.usage.integers.add(node.target.id)

    def iterated(self, node: ast.expr) -> None:
        """What a loop runs over is an array, through `enumerate`, `zip` and the like too."""
        match node:
            case ast.Name():
                self.demand(node, 1)
            case ast.Call(func=func, args=args) if resolve(func, self.names) is parallel or (
                isinstance(func, ast.Name) and func.id in ("enumerate", "zip", "reversed")
            ):
                for argument in args:
                    self.iterated(argument)
            case _:
                self.value(node)

    def update(self, node: ast.AugAssign) -> None:
        """`C *= beta`: in place, so a name in capitals is an array."""
        if isinstance(node.target, ast.Name) and is_capital(node.target.id):
            self.demand(node.target, 1)
        self.store(node.target, node.value)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """`target = value`: ranks flow both ways; `n, m = A.shape` fixes a rank."""
        match target, value:
            case ((ast.Tuple(elts=parts) | ast.List(elts=parts)), ast.Attribute(attr="shape")):
                if isinstance(value.value, ast.Name) and not has_star(parts):
                    self.usage.shapes.setdefault(value.value.id, set()).add(len(parts))
                self.demand(value.value, len(parts))
                for part in parts:
                    self.integer(part)
            case ((ast.Tuple(elts=parts)), (ast.Tuple(elts=values))) if len(parts) == len(values):
                for part, one in zip(parts, values, strict=True):
                    self.assign(part, one)
            case ast.Name(id=name), _:
                rank = self.value(value)
                if rank > self.usage.rank.get(name, 0):
                    self.usage.rank[name] = rank
                self.demand(value, self.usage.rank.get(name, 0))
                if name in self.usage.integers:
                    self.integer(value)
            case _:
                self.store(target, value)

    def store(self, target: ast.expr, value: ast.expr) -> None:
        """`A[…] = value`: the view has at least the value's rank."""
        rank = self.value(value)
        self.demand(target, rank)
        view = self.value(target)
        if view > 0 and rank == 0 and len(self.unknown(value)) > 1:
            self.usage.loose[self.unknown(value)] = value

    # -- ranks --------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> int:
        """Return the rank `node` is known to have at least, and learn from its parts."""
        match node:
            case ast.Name(id=name):
                return self.usage.rank.get(name, 0)
            case ast.Subscript():
                return self.subscript(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.BinOp(op=ast.MatMult()):
                return self.product(node.left, node.right)
            case ast.BinOp():
                if isinstance(node.op, BITWISE):
                    self.integer_elements(node)
                return max(self.value(node.left), self.value(node.right))
            case ast.Call():
                return self.call(node)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return 1 + max((self.value(part) for part in parts), default=0)
            case _:
                inner = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
                return max((self.value(part) for part in inner), default=0)

    def demand(self, node: ast.expr, rank: int) -> None:
        """Learn that `node` has at least `rank` dimensions, where one name must carry them."""
        if rank <= 0:
            return
        match node:
            case ast.Name(id=name) if name not in self.usage.integers:
                self.usage.rank[name] = max(rank, self.usage.rank.get(name, 0))
            case ast.Subscript():
                self.demand(
                    node.value, rank + dropped_dimensions(node.slice) - added_dimensions(node.slice)
                )
            case ast.Attribute(attr="T" | "real" | "imag"):
                self.demand(node.value, rank)
            case ast.UnaryOp():
                self.demand(node.operand, rank)
            case ast.Call(func=ast.Attribute(attr="copy")):
                if resolve(node.func, self.names) is None and isinstance(node.func, ast.Attribute):
                    self.demand(node.func.value, rank)
            case _:
                pass

    def unknown(self, node: ast.expr) -> tuple[str, ...]:
        """Names of an elementwise value that nothing is known of."""
        known = {**self.usage.rank, **dict.fromkeys(self.usage.integers | self.usage.factors, 0)}
        return tuple(n for n in leaves(node) if n not in known and n not in self.names)

    def subscript(self, node: ast.Subscript) -> int:
        """`A[i, 1:, None]`: one dimension per part; what is not a slice is an integer."""
        parts = subscript_items(node.slice)
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            self.shape_item(node.value.value, node.slice)
            return 0
        consumed = [p for p in parts if not is_newaxis(p) and not is_ellipsis(p)]
        self.demand(node.value, len(consumed))
        gathered = 0
        for part in consumed:
            gathered = max(gathered, self.index(part))
        base = self.value(node.value)
        return max(
            0, base - dropped_dimensions(node.slice) + added_dimensions(node.slice) + gathered
        )

    def shape_item(self, array: ast.expr, index: ast.expr) -> None:
        """`A.shape[k]` needs k + 1 dimensions (`-k` needs k)."""
        match index:
            case ast.Constant(value=int(k)):
                self.demand(array, k + 1)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(k))):
                self.demand(array, k)
            case _:
                self.demand(array, 1)

    def index(self, part: ast.expr) -> int:
        """Learn from one subscript; the result is its own rank (an index array's)."""
        if isinstance(part, ast.Slice):
            for bound in (part.lower, part.upper, part.step):
                if bound is not None:
                    self.integer(bound)
            return 0
        rank = self.value(part)
        self.integer(part)
        return rank

    def integer(self, node: ast.expr) -> None:
        """Learn that `node` is an integer: its names are, and arrays read in it hold integers."""
        match node:
            case ast.Name(id=name):
                self.integer_name(name)
            case ast.BinOp():
                self.integer(node.left)
                self.integer(node.right)
            case ast.UnaryOp():
                self.integer(node.operand)
            case (
                ast.Tuple(elts=parts)
                | ast.List(elts=parts)
                | ast.Call(func=ast.Name(id="min" | "max" | "abs"), args=parts)
            ):
                for part in parts:
                    self.integer(part)
            case ast.Subscript(value=ast.Name(id=name)):
                self.value(node)
                self.usage.int_arrays.add(name)
            case _:
                self.value(node)

    def integer_name(self, name: str) -> None:
        """Learn that a name is an integer, or an array of integers if it is an array."""
        if self.usage.rank.get(name, 0) > 0:
            self.usage.int_arrays.add(name)
        elif name not in self.names:
            self.usage.integers.add(name)

    def integer_elements(self, node: ast.expr) -> None:
        """Operands of `&`, `|`, `^`, `<<`, `>>` hold integers; comparisons in them are masks."""
        match node:
            case ast.BinOp():
                self.integer_elements(node.left)
                self.integer_elements(node.right)
            case ast.Name() | ast.Subscript(value=ast.Name()):
                self.integer(node)
            case _:
                pass

    def attribute(self, node: ast.Attribute) -> int:
        """`A.T`, `A.shape`, `A.size`, `A.ndim`, `A.real`."""
        if resolve(node, self.names) is not None:
            return 0
        match node.attr:
            case "T":
                self.demand(node.value, 2)
                return self.value(node.value)
            case "real" | "imag":
                return self.value(node.value)
            case "shape" | "size" | "ndim":
                self.demand(node.value, 1)
                return 0
            case _:
                return 0

    def product(self, left: ast.expr, right: ast.expr) -> int:
        """`left @ right`: one dimension of each is summed over."""
        ranks = (self.value(left), self.value(right))
        for side, rank in zip((left, right), ranks, strict=True):
            settled = rank > 0 or any(name in self.usage.factors for name in leaves(side))
            unknown = () if settled else self.unknown(side)
            capitals = [name for name in unknown if is_capital(name)]
            self.usage.factors.update(capitals or unknown)
        if 0 in ranks:
            return 0
        return max(0, ranks[0] + ranks[1] - 2) if min(ranks) < 3 else max(ranks)

    # -- calls --------------------------------------------------------------------------------

    def call(self, node: ast.Call) -> int:
        """A NumPy function, a method of an array, or another function of the module."""
        target = resolve(node.func, self.names)
        if target is not None:
            return self.known_call(node, target)
        match node.func:
            case ast.Name(id="len") if node.args:
                self.demand(node.args[0], 1)
                return 0
            case ast.Name(id="range" | "int"):
                for argument in node.args:
                    self.integer(argument)
                return 0
            case ast.Attribute(attr="at") if len(node.args) > 1:  # np.add.at(a, indices, b)
                self.array(node.args[0])
                self.positions(node.args[1])
                return 0
            case ast.Attribute(value=value, attr=attr):
                return self.method(node, value, attr)
            case _:
                return max((self.value(argument) for argument in node.args), default=0)

    def known_call(self, node: ast.Call, target: object) -> int:
        """A call whose function was found in the module or in NumPy."""
        match node.args:
            case _ if is_one_of(target, CREATE):
                return self.created(node)
            case [first, *_] if is_one_of(target, LIKE):
                self.demand(first, 1)
                return self.value(first)
            case [first, *rest] if is_one_of(target, REDUCE):
                return self.reduction(node, first, rest)
            case [first, *_] if is_one_of(target, SCAN):
                self.array(first)
                return self.value(first)
            case [left, right, *_] if is_one_of(target, PRODUCT):
                return self.product(left, right)
            case _:
                return self.special_call(node, target)

    def special_call(self, node: ast.Call, target: object) -> int:
        """NumPy functions with rules of their own, functions of the module, elementwise ones."""
        callee = getattr(target, "py_func", target)
        match node.args:
            case [left, right] if target is np.outer:
                self.array(left)
                self.array(right)
                return 2
            case [first, *_] if target is np.transpose:
                self.demand(first, 2)
                return self.value(first)
            case [ast.Constant(value=str(text)), *operands] if target is np.einsum:
                return self.einsum(text, operands)
            case [first, index, *_] if target is np.take:
                self.array(first)
                self.positions(index)
                return self.value(first)
            case [first, *_] if target is np.bincount:
                self.positions(first)
                return 1
            case [first, *rest] if (home := called_name(target)) is not None:
                self.demand(first, 2 if "linalg" in home else 1)
                for other in rest[:1]:
                    self.array(other)
                return self.value(first)
            case _ if inspect.isfunction(callee) and not is_numpy(callee):
                return self.inlined(node, callee) if self.depth < _MAX_DEPTH else 0
            case args:
                return max((self.value(argument) for argument in args), default=0)

    def positions(self, node: ast.expr) -> None:
        """Learn that `node` is an array of integers, or a tuple of them."""
        for part in subscript_items(node):
            self.array(part)
            self.integer(part)

    def created(self, node: ast.Call) -> int:
        """`np.zeros(shape)`: the parts of the shape are integers, their count is the rank."""
        shapes = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "shape")]
        if not shapes:
            return 0
        match shapes[0]:
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self.integer(part)
                return len(parts)
            case ast.Attribute(value=value, attr="shape"):
                return self.value(value)
            case _:
                self.integer(shapes[0])
                return 1

    def reduction(self, node: ast.Call, array: ast.expr, rest: Sequence[ast.expr]) -> int:
        """`np.sum(x, axis=1, keepdims=True)`."""
        options = {k.arg: k.value for k in node.keywords}
        axis = options.get("axis", rest[0] if rest else None)
        self.array(array)
        match axis:
            case ast.Constant(value=int(number)):
                self.demand(array, number + 1)
            case ast.Tuple(elts=parts):
                self.demand(array, len(parts))
            case _:
                pass
        rank = self.value(array)
        match options.get("keepdims"):
            case ast.Constant(value=True):
                return rank
            case _:
                pass
        if axis is None or (isinstance(axis, ast.Constant) and axis.value is None):
            return 0
        return max(0, rank - (len(axis.elts) if isinstance(axis, ast.Tuple) else 1))

    def array(self, node: ast.expr) -> None:
        """Learn that `node` is an array; if no name in it is known to be one, all of them are."""
        if self.value(node) == 0:
            self.demand(node, 1)
            for name in self.unknown(node):
                self.usage.rank[name] = 1

    def method(self, node: ast.Call, value: ast.expr, attr: str) -> int:
        """`A.sum(axis=0)`, `A.copy()`, `A.dot(B)`, `A.reshape(n, m)`, `A.astype(t)`."""
        if attr in REDUCE_METHODS:
            return self.reduction(node, value, node.args)
        if attr == "dot" and node.args:
            return self.product(value, node.args[0])
        self.array(value)
        match attr:
            case "reshape" if node.args:
                parts = subscript_items(node.args[0]) if len(node.args) == 1 else tuple(node.args)
                for part in parts:
                    self.integer(part)
                return len(parts)
            case "transpose":
                self.demand(value, 2)
            case "ravel" | "flatten":
                return 1
            case "item":
                return 0
            case _:
                pass
        return self.value(value)

    def einsum(self, text: str, operands: Sequence[ast.expr]) -> int:
        """`np.einsum("ij,jk->ik", A, B)`: the text tells every rank."""
        inputs, _, output = text.replace(" ", "").partition("->")
        for letters, operand in zip(inputs.split(","), operands, strict=False):
            self.demand(operand, len(letters))
        return len(output)

    def inlined(self, node: ast.Call, callee: Callable[..., object]) -> int:
        """Another function of the module: what its body says of its arguments holds for ours."""
        definition = function_ast(callee)
        if definition is None:
            return 0
        names_there = getattr(callee, "__globals__", {})
        inner = read_usage(definition, names_there, depth=self.depth + 1)
        names = [a.arg for a in definition.args.args]
        pairs = [*zip(names, node.args, strict=False)]
        pairs += [(k.arg, k.value) for k in node.keywords if k.arg is not None]
        for name, argument in pairs:
            self.demand(argument, inner.rank.get(name, 0))
            self.value(argument)
            if name in inner.integers or name in inner.int_arrays:
                self.integer(argument)
        return inner.returned
