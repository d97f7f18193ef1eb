"""Derivatives of statements: what reverse and forward sweeps compute, in the order of the source.

In: statements with exact domains, the arrays to differentiate by.  Out: statements of the sweep.
Only `ir` is known here; scheduling, proof and code generation treat the sweep as any program.
"""
