"""The suite `speed`: polyopt against every peer that is installed, and the machine's limits.

In: names, sizes, element types, modes, thread counts.  Out: a checked and timed report.
"""
