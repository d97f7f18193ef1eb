from dataclasses import replace

from polyopt.emit import emit_c
from polyopt.emit.lower import lower
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArrayType
from polyopt.ir.expr import Binary, BinaryOp
from polyopt.ir.loops import Assign, For
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.schedule import source_schedule


def f(a):
    for i in range(a.shape[0]):
        a[i] = True


def act():
    program = build(f, (ArrayType(DType.BOOL, 1, Layout.C, (False,)),))
    loops = lower(source_schedule(program.scop), program)
    emit_c(replace(loops, body=shifted(loops.body)))


def shifted(body):
    """Replace every value by a shift, which the front end never makes of bools."""
    return tuple(
        replace(node, body=shifted(node.body))
        if isinstance(node, For)
        else replace(node, value=Binary(BinaryOp.SHL, node.target, node.value, DType.BOOL))
        if isinstance(node, Assign)
        else node
        for node in body
    )
