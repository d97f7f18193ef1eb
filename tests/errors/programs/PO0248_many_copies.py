import numpy as np

import polyopt as po


def f(x: po.f64["N"], y: po.f64["15,N"]):
    a0 = np.cos(x)
    a1 = a0[::-1] * 2.0
    a2 = a1[::-1] * 2.0
    a3 = a2[::-1] * 2.0
    a4 = a3[::-1] * 2.0
    a5 = a4[::-1] * 2.0
    a6 = a5[::-1] * 2.0
    a7 = a6[::-1] * 2.0
    a8 = a7[::-1] * 2.0
    a9 = a8[::-1] * 2.0
    a10 = a9[::-1] * 2.0
    a11 = a10[::-1] * 2.0
    a12 = a11[::-1] * 2.0
    a13 = a12[::-1] * 2.0
    a14 = a13[::-1] * 2.0
    y[0] = a14
    y[1] = a14
    y[2] = a14
    y[3] = a14
    y[4] = a14
    y[5] = a14
    y[6] = a14
    y[7] = a14
    y[8] = a14
    y[9] = a14
    y[10] = a14
    y[11] = a14
    y[12] = a14
    y[13] = a14
    y[14] = a14


def act():
    po.kernel(f, fuse="all").compile(np.ones(4), np.ones((15, 4)))
