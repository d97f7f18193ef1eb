"""How many threads a kernel runs on, and what happens to that number in a forked child.

In: the option, the environment, the cores this process may use.  Out: a thread count.
Refuses: a count in the environment that is not a positive number (PO0224).
"""

from __future__ import annotations

import contextlib
import os

from polyopt.errors import UsageError
from polyopt.runtime.notices import ForkWarning, notice
from polyopt.settings import chosen


def available_cores() -> int:
    """Return the number of cores this process may use: its affinity, its control group's quota."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
            quota, period = file.read(100).split()
        if quota != "max":
            cores = min(cores, max(1, -(-int(quota) // int(period))))
    return max(1, cores)


def thread_count(option: int | None) -> int:
    """Return the option, else the setting, else OMP_NUM_THREADS, else all cores."""
    if option is not None:
        return option
    own, origin = chosen("num-threads")
    if own is not None:
        if not own.isdecimal() or int(own) < 1:
            raise UsageError(
                "PO0224",
                f"{origin} is `{own}`, not a positive number",
                hint="unset it, or set it to 1, 2, …",
            )
        return int(own)
    common = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if common.isdecimal() and int(common) > 0:
        return int(common)
    return available_cores()


_LOADED_BY: list[int] = []  # processes that loaded OpenMP libraries: this one and its parents


def threads_at_load(count: int) -> int:
    """Record that an OpenMP library is loaded; return `count`, or 1 where threads would hang."""
    if count > 1 and is_forked_child():
        warn_forked()
        return 1
    _LOADED_BY.append(os.getpid())
    return count


def is_forked_child() -> bool:
    """Tell whether an OpenMP library was loaded before this process was forked off."""
    return any(pid != os.getpid() for pid in _LOADED_BY)


def warn_forked() -> None:
    """Say once that kernels run on one thread in this process."""
    notice(
        ForkWarning,
        f"process {os.getpid()} was forked after OpenMP had started; its kernels run on one thread "
        "(the `spawn` or `forkserver` start method avoids this)",
    )
