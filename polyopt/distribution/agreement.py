"""Whether arguments that each rank has whole are the same on all ranks.

In: a call, with the setting `verify` or `debug`.  Refuses: arguments that differ (PO0859).
Each rank makes a digest of every such argument; an all-reduce of their least and greatest values
compares them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyopt.digest import hex_digest
from polyopt.distribution.arrays import DistributedArray
from polyopt.distribution.binding import Call
from polyopt.errors import UsageError
from polyopt.ir.source import ArrayArg
from polyopt.settings import is_set


def is_wanted() -> bool:
    """Tell whether calls compare arguments."""
    return is_set("verify") or is_set("debug")


def require_same(call: Call, when: str) -> None:
    """Raise `UsageError` PO0859, on all ranks, where arguments differ that should be the same."""
    names, digests = [], []
    cuts = call.plan.exchanges.own.cuts
    for argument, value in zip(call.program.signature.arguments, call.given, strict=True):
        is_cut = isinstance(argument, ArrayArg) and argument.array in cuts
        names.append(argument.name)
        digests.append(_digest(value, is_cut or isinstance(value, DistributedArray)))
    mine = np.array(digests, np.int64)
    least = call.transport.reduce_all(mine, "min", np.minimum)
    most = call.transport.reduce_all(mine, "max", np.maximum)
    differing = np.flatnonzero(least != most)
    if not len(differing):
        return
    first = int(differing[0])
    sizes = [mine.nbytes] * call.transport.size
    parts = call.transport.gather_all(mine.view(np.uint8), sizes)
    of_rank = [int(part.view(np.int64)[first]) for part in parts]
    others = [rank for rank, one in enumerate(of_rank) if one != of_rank[0]]
    ranks = ", ".join(map(str, others))
    raise UsageError(
        "PO0859",
        f"`{names[first]}` is not the same on all ranks {when}: "
        f"it is another one on rank{'s'[: len(others) != 1]} {ranks} than on rank 0",
        hint="give each rank the same values, as by a broadcast; or cut the array",
    )


def _digest(value: Any, is_cut: bool) -> int:  # noqa: ANN401
    """Return 63 bits of what an argument is; of an array that is cut, of its shape and type."""
    array = value if isinstance(value, DistributedArray) else np.asarray(value)
    facts = f"{array.shape} {array.dtype}".encode()
    data = b"" if is_cut else np.ascontiguousarray(array).tobytes()
    return int(hex_digest(facts + data, 8), 16) >> 1
