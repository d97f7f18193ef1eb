from dataclasses import replace
from random import Random

import numpy as np

from polyopt.emit.lower import lower
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArrayType
from polyopt.ir.interp import run_loops
from polyopt.ir.loops import LoopKind
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.schedule import source_schedule


def f(a):
    for i in range(1, a.shape[0]):
        a[i] = a[i - 1]


def act():
    program = build(f, (ArrayType(DType.FLOAT64, 1, Layout.C, (False,)),))
    loops = lower(source_schedule(program.scop), program)
    wrong = tuple(replace(node, kind=LoopKind.PARALLEL) for node in loops.body)
    run_loops(replace(loops, body=wrong), {"a": np.zeros(4)}, {"a_0": 4}, {}, shuffle=Random(0))
