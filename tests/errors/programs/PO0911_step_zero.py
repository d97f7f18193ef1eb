from dataclasses import replace

import numpy as np

from polyopt.emit.lower import lower
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArrayType
from polyopt.ir.interp import run_loops
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.schedule import source_schedule


def f(a):
    for i in range(a.shape[0]):
        a[i] = 1.0


def act():
    program = build(f, (ArrayType(DType.FLOAT64, 1, Layout.C, (False,)),))
    loops = lower(source_schedule(program.scop), program)
    broken = replace(loops, body=tuple(replace(node, step=0) for node in loops.body))
    run_loops(broken, {"a": np.zeros(3)}, {"a_0": 3}, {})
