import numpy as np

from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArrayType
from polyopt.ir.interp import run_scop
from polyopt.ir.source import Layout
from polyopt.ir.types import DType


def f(a):
    for i in range(a.shape[0]):
        a[i] = 1.0


def scop():
    return build(f, (ArrayType(DType.FLOAT64, 1, Layout.C, (False,)),)).scop


def act():
    run_scop(scop(), {"a": np.zeros(2)}, {"a_0": -1}, {})
