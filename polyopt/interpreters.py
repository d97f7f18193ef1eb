"""The interpreters of a process: polyopt works in the first one alone.

In: nothing.  Out: nothing.
Refuses: subinterpreters (PO0525); islpy, NumPy and the module that calls kernels have one state for
all interpreters of a process.
"""

from __future__ import annotations


def require_first(module: str) -> None:
    """Raise PO0525 in a subinterpreter; the module of the errors may be imported there."""
    if module == "polyopt.errors":
        return
    import ctypes

    functions = getattr(ctypes, "pythonapi", None)
    if functions is None:
        return
    own, first = functions.PyInterpreterState_Get, functions.PyInterpreterState_Main
    own.restype = first.restype = ctypes.c_void_p
    if own() != first():
        from polyopt.errors import ToolchainError

        raise ToolchainError(
            "PO0525",
            "polyopt works in the first interpreter of a process, not in subinterpreters",
            hint="use threads, or processes by `multiprocessing`",
        )
