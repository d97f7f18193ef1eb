"""The programs that polyopt is measured on, in suites: one folder a suite, one module a program.

In: a name such as "2mm".  Out: `Workload`: the program in explicit loops, in NumPy or in both, its
data sets, its data and what it must compute.
"""

from workloads.registry import SUITES, all, get, names
from workloads.workload import DATASETS, Workload

__all__ = ["DATASETS", "SUITES", "Workload", "all", "get", "names"]
