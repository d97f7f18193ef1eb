"""The decorator `kernel`: functions to kernels, on one machine or on several.

In: a Python function, options.  Out: a `Kernel`, or with `mesh` a `DistributedKernel`.
Refuses: options that do not exist or do not fit (PO0221, PO0222), what is no function (PO0223).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from polyopt.api import Kernel
from polyopt.dataclass import replace
from polyopt.errors import UsageError, boundary
from polyopt.targets import Options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from polyopt.distribution.advice import Shard, Suggestion
    from polyopt.distribution.kernel import DistributedKernel
    from polyopt.distribution.mesh import Cyclic, Mesh
    from polyopt.kernel_options import KernelOptions

P = ParamSpec("P")
R = TypeVar("R")
RANKS = ("mesh", "shard", "replicate", "timeout", "exchange_every")
"""Options of kernels for several ranks."""


@overload
def kernel(function: Callable[P, R]) -> Kernel[P, R]: ...


@overload
def kernel(
    *,
    mesh: Mesh,
    shard: Mapping[str, int | Cyclic | tuple[int | Cyclic, ...]],
    replicate: Sequence[str] = (),
    timeout: float = ...,
    exchange_every: int | None = ...,
    **options: Unpack[KernelOptions],
) -> Callable[[Callable[..., Any]], DistributedKernel]: ...


@overload
def kernel(**options: Unpack[KernelOptions]) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...


@boundary
def kernel(function: Any = None, **options: object) -> Any:
    """Make a kernel of a Python function, as a decorator or a call, with or without options.

    The text and what it uses outside of itself are compiled in: globals, free variables, attributes
    of modules, helper functions, and elements of captured arrays.  All of it is compared at each
    call, and the kernel compiled again, or an earlier one taken, where something changed.

    Options (raises `UsageError` PO0221 for others, PO0222 for wrong values):

    - fp: "strict" (default; the source's order), "reassociate" (sums may be split) or "fast"
    - threads: a number from 1; None (default) takes all cores when the kernel runs
    - schedule: None (default; automatic), "source", steps as text, a file of them, or a schedule
    - fuse: "all" recomputes temporaries in the nests that read them; None (default) does not
    - compiler: the C compiler's command; None (default) finds one
    - budget: processor seconds that compiling may take, and at most as many that `tune` takes, 0.1
      to 86400, or a text such as "60s" or "2min"; 60 by default
    - target: "c" (default), "cuda" or "opencl"
    - device: a device's number, a part of its name, or "emulated"; None (default) is the first
    - tune: seconds to search for a faster schedule at the first call; None (default) does not
    - tuned: a file of schedules that `polyopt tune --save` or `Kernel.tune(..., save=)` wrote; the
      last line for such a kernel on such a machine is used, proven again.  None (default): the
      setting `tunings`
    - memory: bytes that temporaries may take at once, as a number or "64MB"; values are recomputed
      until they fit.  Implies fixed_sizes.  None (default) does not limit them
    - fixed_sizes: True compiles the extents of arrays in, for each shape anew; False by default

    With `mesh`, a `po.mesh`, the kernel is one for the ranks of an MPI job, a `DistributedKernel`:

    - shard: the axis that each array is cut along, or one for each axis of the mesh: `{"A": 0}`;
      `po.cyclic(0, 32)` deals blocks of 32 indices to the ranks in turn.  Steps of a schedule,
      `shard(A, 0); replicate(B)`, say the same
    - replicate: arrays that each rank has whole, of those that are not in `shard`
    - timeout: seconds that a rank waits for others, 600 by default
    - exchange_every: iterations between halo exchanges; None (default): as the sizes suggest
    """
    on_ranks = {name: options.pop(name) for name in RANKS if name in options}
    chosen = Options().changed(options)
    if on_ranks:
        return _on_ranks(function, on_ranks, chosen)
    if function is None:
        return lambda decorated: _make(decorated, chosen)
    return _make(function, chosen)


def _on_ranks(function: Any, options: dict[str, Any], chosen: Options) -> Any:  # noqa: ANN401
    from polyopt.distribution.kernel import DistributedKernel, Reading
    from polyopt.distribution.planning import request, without_rank_steps

    steps, rest = without_rank_steps(chosen.schedule)
    chosen = replace(chosen, schedule=rest)
    wanted, timeout = request(**options, steps=steps)

    def make(decorated: Any) -> DistributedKernel:  # noqa: ANN401
        kernel = _make(decorated, chosen)
        reading = Reading(kernel, kernel._parameters.bind, kernel._example, kernel._read)
        return DistributedKernel(kernel.py_func, reading, wanted, chosen, timeout)

    return make if function is None else make(function)


@boundary
def suggest_shard(
    function: Any,  # noqa: ANN401
    *args: object,
    mesh: Mesh,
    shards: Sequence[Shard] | None = None,
    **options: Unpack[KernelOptions],
) -> list[Suggestion]:
    """Return which array to cut along which axis for such a call, the best suggestion first.

    `shards` are the cuts to compare, each as the option `shard` of a kernel.  Without it, each axis
    of each array argument is tried; other arrays follow.  First come cuts with which ranks compute
    at the same time, by the bytes that one call moves, then by what a rank keeps.
    """
    from polyopt.distribution.advice import suggestions

    def on_ranks(shard: Shard) -> DistributedKernel:
        given: dict[str, Any] = {"mesh": mesh, "shard": shard, **options}
        return cast("DistributedKernel", kernel(function, **given))

    parameters = _make(function, Options())._parameters
    arrays = zip(parameters.names, parameters.bind(args, {}), strict=True)
    candidates: Sequence[Shard] = shards or [
        {name: axis} for name, value in arrays for axis in range(len(getattr(value, "shape", ())))
    ]
    if not candidates:
        return []
    sizes = on_ranks(candidates[0]).sizes(*args)
    return suggestions(lambda shard: on_ranks(shard).plan(*args), candidates, sizes, mesh.size)


def _make(function: Any, options: Options) -> Kernel[..., Any]:  # noqa: ANN401
    if isinstance(function, Kernel):
        function = function.py_func
    if not callable(function) or isinstance(function, type) or not hasattr(function, "__code__"):
        raise UsageError(
            "PO0223",
            f"`kernel` was given an object of type `{type(function).__name__}`",
            hint="give it a function made by `def`",
        )
    return Kernel(function, options)
