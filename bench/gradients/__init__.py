"""Gradients of all workloads: checked against differences and JAX, timed beside both primals.

In: names of workloads, a data set.  Out: rows as they are measured, and counts.
"""
