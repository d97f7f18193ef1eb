"""The PolyBench/C 4.2 programs that polyopt is measured on.

In: a name such as "2mm".  Out: `Workload`: the program in explicit loops and in NumPy, the
published data set sizes and initial data, and a NumPy reference.
"""

from workloads.registry import all, get, names
from workloads.workload import DATASETS, Workload

__all__ = ["DATASETS", "Workload", "all", "get", "names"]
