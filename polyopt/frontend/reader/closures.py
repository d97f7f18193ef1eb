"""Lambdas and functions defined inside the kernel: read where they are called.

In: the tree of a lambda or `def`, and the frame it stands in.  Out: a `Closure`; its calls' values.
Refuses: decorators and generators (PO0117, PO0113), recursion (PO0123).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from polyopt.capture.reads import plain_function
from polyopt.dataclass import dataclass, replace
from polyopt.errors import Loc
from polyopt.frontend.numpy.call_arguments import Arguments
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.syntax.liveness import analyse, assigned
from polyopt.frontend.syntax.pysource import read_function
from polyopt.frontend.syntax.structure import Rewriter
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.records import Record
from polyopt.frontend.values.values import Known, Sequence, Value
from polyopt.frontend.variables.binding import kept
from polyopt.frontend.variables.call_frames import Frame

Evaluate = Callable[[Builder, Frame, ast.expr], Value]


@dataclass(frozen=True, eq=False)
class Closure:
    """A function of the kernel itself; free names are those of `frame` at the time of the call."""

    name: str
    node: ast.Lambda | ast.FunctionDef
    frame: Frame
    signature: inspect.Signature
    defaults: Mapping[str, Value]


def signature_of(function: Value) -> inspect.Signature | None:
    """Return the signature of a function; None where only a call tells."""
    match function:
        case Known(value=Closure(signature=signature)):
            return signature
        case Known(value=known) if callable(plain := plain_function(known)):
            return inspect.signature(plain, follow_wrapped=False)
        case _:
            return None


def definition_of(b: Builder, function: Value, loc: Loc | None) -> Loc | None:
    """Return where a function that a kernel is made of is written; `loc` for others."""
    if not isinstance(function, Known):
        return loc
    plain: Any = plain_function(function.value)
    return read_function(plain, b.facts.recording).definition


def closure_of(
    b: Builder, frame: Frame, node: ast.Lambda | ast.FunctionDef, evaluate: Evaluate
) -> Known:
    """Return the function as a value."""
    name = "lambda"
    if isinstance(node, ast.FunctionDef):
        name = node.name
        if node.decorator_list:
            loc = frame.loc(node.decorator_list[0])
            refuse("PO0117", "a decorator inside a kernel", loc, "leave it out")
        if any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(node)):
            refuse("PO0113", f"`{name}` is a generator", frame.loc(node), "fill an array instead")
    spec = node.args
    defaults: dict[str, Value] = {}
    plain = [*spec.posonlyargs, *spec.args]
    for argument, default in zip(reversed(plain), reversed(spec.defaults), strict=False):
        defaults[argument.arg] = evaluate(b, frame, default)
    for argument, keyword in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        if keyword is not None:
            defaults[argument.arg] = evaluate(b, frame, keyword)
    return Known(Closure(name, node, frame, _signature(spec, defaults), defaults))


def _signature(spec: ast.arguments, defaults: Mapping[str, Value]) -> inspect.Signature:
    kinds = inspect.Parameter

    def parameter(argument: ast.arg, kind: object) -> inspect.Parameter:
        default = defaults.get(argument.arg, kinds.empty)
        return kinds(argument.arg, kind, default=default)  # type: ignore[arg-type]

    found = [parameter(a, kinds.POSITIONAL_ONLY) for a in spec.posonlyargs]
    found += [parameter(a, kinds.POSITIONAL_OR_KEYWORD) for a in spec.args]
    if spec.vararg is not None:
        found.append(kinds(spec.vararg.arg, kinds.VAR_POSITIONAL))
    found += [parameter(a, kinds.KEYWORD_ONLY) for a in spec.kwonlyargs]
    if spec.kwarg is not None:
        found.append(kinds(spec.kwarg.arg, kinds.VAR_KEYWORD))
    return inspect.Signature(found)


def call_closure(
    b: Builder, frame: Frame, closure: Closure, args: Arguments, node: ast.Call, evaluate: Evaluate
) -> Value:
    """Return what the function gives for these arguments."""
    if closure in frame.callers:
        refuse("PO0123", f"`{args.name}` calls itself", args.loc, "write it as a loop")
    bound = bind_arguments(closure.signature, args, defaults=closure.defaults)
    outer = closure.frame
    place = (node.lineno, node.col_offset)
    calls, callers = (*frame.calls, place), (*frame.callers, closure)
    values = {name: kept(b, name, value) for name, value in bound.items()}
    match closure.node:
        case ast.Lambda(body=body):
            env = {**outer.env, **values}
            inner = Frame(outer.function, outer.reader, calls, callers, env, said=outer.said)
            return evaluate(b, inner, body)
        case ast.FunctionDef() as definition:
            pass
    tree = b.facts.closures.get(definition)
    if tree is None:
        tree = Rewriter(outer.function.loc).function(definition)
        b.facts.closures[definition] = tree
    own = assigned(tree.body)
    function = replace(
        outer.function,
        name=closure.name,
        tree=tree,
        signature=closure.signature,
        live=analyse(tree.body),
        locals=own,
    )
    env = {name: value for name, value in outer.env.items() if name not in own}
    env |= values
    inner = Frame(function, outer.reader, calls, callers, env, said=outer.said, caller=frame)
    titles, loc, text = dict(b.titles), b.loc, b.text
    result = frame.reader.function(b, inner)
    b.titles, b.loc, b.text = titles, loc, text
    return Known(None) if result is None else result


def bind_arguments(
    signature: inspect.Signature,
    args: Arguments,
    code: str = "PO0103",
    defaults: Mapping[str, Value] | None = None,
) -> dict[str, Value]:
    """Return the value of every parameter, those of `defaults` or the signature's own included."""
    known = defaults or {}
    try:
        bound = signature.bind(*args.values, **args.keywords)
    except TypeError as error:
        refuse(code, f"`{args.name}`: {error}", args.loc)
    result: dict[str, Value] = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            result[name] = Known(Record(dict, dict(bound.arguments.get(name, {}))))
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            result[name] = Sequence(tuple(bound.arguments.get(name, ())))
            continue
        result[name] = bound.arguments.get(name, known.get(name, Known(parameter.default)))
    return result
