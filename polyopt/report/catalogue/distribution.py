"""Codes of programs on several ranks."""

from __future__ import annotations

from polyopt.report.catalogue.entry import Entry

DISTRIBUTION: dict[str, Entry] = {
    "PO0850": Entry(
        "a mesh of ranks is none",
        "po.mesh(0); po.kernel(f, mesh=4)",
        "give the number of ranks along each axis: `po.mesh(4)`, `po.mesh(2, 2)`",
    ),
    "PO0852": Entry(
        "this process is one of several ranks, but mpi4py cannot be loaded",
        "mpirun -n 2 python program.py, where mpi4py is not installed",
        'install the extra `mpi`, `pip install "polyopt[mpi]"`, and an MPI library',
    ),
    "PO0853": Entry(
        "there is no such array or axis to cut",
        'po.kernel(f, mesh=po.mesh(4), shard={"A": 2}) where A is a matrix',
        "name an array of the function, and one of its axes, counted from 0",
    ),
    "PO0854": Entry(
        "a function cannot be shared by ranks: what it runs depends on data",
        "a loop until the error is small; x[index[i]]",
        "give the part without that to a kernel of its own, and run the rest on each rank",
    ),
    "PO0855": Entry(
        "the mesh has another number of ranks than the job",
        "po.kernel(f, mesh=po.mesh(4), ...) under mpirun -n 3",
        "start as many ranks as the mesh has, or make a mesh of the job's ranks",
    ),
    "PO0856": Entry(
        "the plan for several ranks is not proven to compute what one process does",
        "a claim about blocks, instances, values, messages, collectives or order fails",
        "this is a defect of polyopt; please report it with the program",
    ),
    "PO0857": Entry(
        "an array is distributed in another way than the kernel has it",
        'a `po.distribute(A, axis=1)` for a kernel with shard={"A": 0}',
        "distribute it along the kernel's axis, or pass the whole array",
    ),
    "PO0858": Entry(
        "there is no formula for what ranks exchange, so that more ranks cannot be predicted",
        "kernel.scaling(...) where rows of a triangle are sent",
        "run it on a few ranks: `sent` of the kernel counts the bytes",
    ),
    "PO0859": Entry(
        "what each rank should have whole is not the same on all ranks",
        "a kernel with the setting `verify`, given random weights that each rank draws by itself",
        "give each rank the same values, as by a broadcast; or cut the array",
    ),
    "PO0860": Entry(
        "a rank has waited too long for others",
        "a rank that ended or hangs while others wait for its message",
        "see what became of the ranks that the message names; `timeout=` allows more seconds",
    ),
    "PO0862": Entry(
        "simulated ranks wait for each other",
        "a message that nobody sends, in an altered plan",
        "this is a defect of the plan that was simulated; please report it with the program",
    ),
    "PO0863": Entry(
        "simulated messages do not fit together",
        "a message of another length than its receiver expects, in an altered plan",
        "this is a defect of the plan that was simulated; please report it with the program",
    ),
    "PO0864": Entry(
        "simulated ranks call collectives in different orders",
        "one rank is in an all-gather, another one in an all-reduce, in an altered plan",
        "this is a defect of the plan that was simulated; please report it with the program",
    ),
}
