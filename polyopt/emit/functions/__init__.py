"""Elementary functions as plain arithmetic, which compilers vectorize: one body for each.

In: a function, a dtype.  Out: lines of C for the arguments `x`, or `y` and `x`.
The bodies stand on fused multiply-add; `guarded` gives machines without it the C library's.
"""
