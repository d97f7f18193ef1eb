"""Classify each output of a kernel: exact, reassociated (with its tree), or approximate.

In: the loop AST that is printed, the front end's Program.  Out: `NumericsContract`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from polyopt.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Const,
    Expr,
    Load,
    MathFunc,
    Symbol,
    Unary,
    VectorLoad,
    children,
    walk,
)
from polyopt.ir.loops import (
    Assign,
    Body,
    Declare,
    For,
    If,
    LoopFunction,
    LoopKind,
    SetLocal,
    While,
)
from polyopt.ir.names import iterators
from polyopt.ir.nodes import all_nodes
from polyopt.ir.program import Program
from polyopt.ir.scop import Statement
from polyopt.ir.source import ArrayArg, ResultKind, Signature
from polyopt.numerics.accuracy import Accuracy
from polyopt.numerics.contract import (
    Exactness,
    Function,
    Level,
    NumericsContract,
    OutputContract,
    Reduction,
    Sharing,
    Tree,
)
from polyopt.numerics.flow import (
    ROUNDING,
    Called,
    Decided,
    Flow,
    Reordered,
    flow,
    open_statements,
    written_statements,
)


def numerics_contract(fn: LoopFunction, program: Program) -> NumericsContract:
    """Return what each output of `fn` may differ by from the Python function's."""
    statements = {s.name: s for scop in program.scops for s in scop.statements}
    trees = _trees(fn, statements)
    reordered = _open(fn, program) | _split(fn)
    found = flow(fn, reordered | _contracted(fn, statements), written_statements(program))
    outputs = tuple(
        _output(name, array, str(dtype), found)
        for name, array, dtype in outputs_of(program.signature)
    )
    used = {name for output in outputs for name in output.reductions}
    causes = {cause for _, array, _ in outputs_of(program.signature) for cause in found.of(array)}
    accuracies = {cause for cause in causes if isinstance(cause, Accuracy)}
    return NumericsContract(
        program.name,
        outputs,
        tuple(_reduction(name, statements.get(name), trees.get(name, ())) for name in sorted(used)),
        tuple(
            Function(a.name, str(a.dtype), a.ours, a.reference)
            for a in sorted(accuracies, key=lambda a: (a.name, a.dtype.value))
        ),
    )


def _open(fn: LoopFunction, program: Program) -> set[str]:
    """Return the statements whose order is open; recurrences only where threads scan them."""
    scans = (n for n in all_nodes(fn.body) if isinstance(n, For) and n.kind is LoopKind.SCAN)
    scanned = {inner.statement for scan in scans for _, inner in _tagged(scan.body, ())}
    found = open_statements(program)
    in_order = {name for name, s in found.items() if not s.is_reassociable}
    return {name for name in found if name not in in_order or name in scanned}


def outputs_of(signature: Signature) -> Iterator[tuple[str, str, object]]:
    """Yield each output's name for people, its array in the Scop, and its dtype."""
    for argument in signature.arguments:
        if isinstance(argument, ArrayArg) and argument.written:
            yield argument.name, argument.array, argument.dtype
    made = {output.array: output.dtype for output in signature.outputs}
    for number, result in enumerate(signature.results):
        if result.kind is not ResultKind.ARGUMENT:
            many = len(signature.results) > 1 or signature.returns_tuple
            yield f"return[{number}]" if many else "return", result.array, made[result.array]


def _output(name: str, array: str, dtype: str, found: Flow) -> OutputContract:
    causes = found.of(array)
    reductions = tuple(sorted(c.statement for c in causes if isinstance(c, Reordered)))
    functions = tuple(sorted({c.name for c in causes if isinstance(c, Accuracy)}))
    library = tuple(sorted(c.function for c in causes if isinstance(c, Called)))
    exactness = Exactness.EXACT
    if reductions:
        exactness = Exactness.REASSOCIATED
    if functions or library:
        exactness = Exactness.APPROXIMATE
    decided = any(isinstance(c, Decided) for c in causes)
    return OutputContract(name, array, dtype, exactness, reductions, functions, library, decided)


def _reduction(name: str, statement: Statement | None, trees: tuple[Tree, ...]) -> Reduction:
    if statement is None:
        return Reduction(name, None, "", "", "", trees)
    line = None if statement.loc is None else statement.loc.line
    op = "operations" if statement.reduction is None else statement.reduction.op.value
    if statement.regroups and isinstance(statement.value, Binary):
        op = statement.value.op.value
    dtype = str(statement.target.dtype)
    return Reduction(name, line, statement.text.strip(), op, dtype, trees)


def _trees(fn: LoopFunction, statements: dict[str, Statement]) -> dict[str, tuple[Tree, ...]]:
    """Return how the copies of each statement in `fn` bring its terms together."""
    found: dict[str, dict[Tree, None]] = {}
    for loops, node in _tagged(fn.body, ()):
        statement = statements.get(node.statement)
        if statement is None or (statement.reduction is None and not statement.fuses):
            continue
        if statement.reduction is None:
            found.setdefault(node.statement, {})[Tree((), _has_fma(node.value))] = None
            continue
        kept = iterators(*statement.target.index)
        places = zip(statement.iters, node.instance, strict=False)
        names = iterators(*(value for name, value in places if name not in kept))
        for loop in reversed(loops):  # loops over tiles decide where loops inside begin
            if loop.iter in names:
                names |= iterators(loop.lower)
        levels = tuple(_level(loop, node) for loop in loops if loop.iter in names)
        tree = Tree(levels, _has_fma(node.value))
        found.setdefault(node.statement, {})[tree] = None
    return {name: tuple(trees) for name, trees in found.items()}


def _level(loop: For, node: Assign | SetLocal | Declare) -> Level:
    own = {symbol.name for _, symbol in loop.reductions}
    written = node.name if not isinstance(node, Assign) else ""
    label = loop.label or loop.iter
    if written not in own:
        return Level(label, Sharing.IN_ORDER)
    return Level(label, Sharing.THREADS if loop.kind is LoopKind.PARALLEL else Sharing.LANES)


def _tagged(
    body: Body, loops: tuple[For, ...]
) -> Iterator[tuple[tuple[For, ...], Assign | SetLocal | Declare]]:
    """Yield the nodes that run an instance, each with the loops around it."""
    for node in body:
        match node:
            case Assign() | SetLocal() | Declare():
                if node.statement:
                    yield loops, node
            case For():
                yield from _tagged(node.body, (*loops, node))
            case While():
                yield from _tagged(node.body, loops)
            case If():
                yield from _tagged(node.then, loops)
                yield from _tagged(node.otherwise, loops)
            case _:
                pass


def _has_fma(expr: Expr) -> bool:
    return any(isinstance(part, Call) and part.func is MathFunc.FMA for part in walk(expr))


def _contracted(fn: LoopFunction, statements: dict[str, Statement]) -> set[str]:
    """Return the statements whose sums of products `fn` rounds otherwise than the source."""
    return {
        node.statement
        for _, node in _tagged(fn.body, ())
        if (statement := statements.get(node.statement)) is not None
        and (
            (_has_fma(node.value) and not _has_fma(statement.value))
            or (statement.fuses and _form(node.value) != _form(statement.value))
        )
    }


def _form(expr: Expr) -> Hashable:
    """Return the operations of an expression that round, in their order."""
    match expr:
        case Broadcast():
            return _form(expr.operand)
        case Const():
            return expr.value
        case Load() | VectorLoad() | Symbol():
            return None
        case _:
            own = expr.op if isinstance(expr, Binary | Unary) else type(expr)
            return (own, *map(_form, children(expr)))


def _split(fn: LoopFunction) -> set[str]:
    """Return the statements of `fn` whose sum each lane or thread has an accumulator for."""
    return {
        node.statement
        for loops, node in _tagged(fn.body, ())
        if isinstance(node, SetLocal) and not node.dtype.is_integer
        for loop in loops
        for op, symbol in loop.reductions
        if symbol.name == node.name and op in ROUNDING
    }
