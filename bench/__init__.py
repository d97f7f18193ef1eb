"""The comparison harness: polyopt against NumPy and against the same loops in C under gcc.

In: names of workloads, a data set.  Out: checked results, times, a table and JSON.
"""
