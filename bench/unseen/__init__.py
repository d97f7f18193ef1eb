"""Array programs that are in no suite: polyopt against Numba and gcc with OpenMP.

In: names, threads, an instruction set.  Out: a row for each program, with what failed.
"""
