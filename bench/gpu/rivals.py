"""The programs as users of CuPy, PyTorch and Triton write them.

In: a program and its arrays on the GPU.  Out: calls by the name of the library, where installed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

Call = Callable[[], object]
_LACKS = (ImportError, OSError, TypeError, ValueError)
"""What is raised without a library, or by one that does not know the type of the elements."""
Views = Mapping[str, Any]


def rivals(program: str, placed: Views) -> dict[str, Call]:
    """Return the libraries that are there and have the program."""
    found: dict[str, Call] = {}
    for name, views_of, table in (
        ("cupy", _cupy_views, _cupy),
        ("torch", _torch_views, _torch),
        ("triton", _torch_views, _triton),
    ):
        try:
            library = importlib.import_module(name)
            made = table(library, program, views_of(placed))
        except _LACKS:
            continue
        if made is not None:
            found[name] = made
    return found


def _cupy_views(placed: Views) -> Views:
    cupy = importlib.import_module("cupy")
    return {name: cupy.asarray(array) for name, array in placed.items()}


def _torch_views(placed: Views) -> Views:
    torch = importlib.import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = False
    return {name: torch.from_dlpack(array) for name, array in placed.items()}


def _cupy(cupy: Any, program: str, v: Views) -> Call | None:  # noqa: ANN401
    x, y = v.get("x"), v.get("y")

    def softmax() -> None:
        e = cupy.exp(x - x.max(axis=1, keepdims=True))
        cupy.divide(e, e.sum(axis=1, keepdims=True), out=y)

    def layernorm() -> None:
        centred = x - x.mean(axis=1, keepdims=True)
        scale = cupy.sqrt((centred * centred).mean(axis=1, keepdims=True) + cupy.float32(1e-5))
        cupy.divide(centred, scale, out=y)

    @cupy.fuse()  # type: ignore[untyped-decorator]
    def chain(x: Any) -> Any:  # noqa: ANN401
        return (x * 2 + 1) * (x - 3) / (x * x + 1)

    @cupy.fuse()  # type: ignore[untyped-decorator]
    def mean(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:  # noqa: ANN401
        return cupy.float32(0.2) * (a + b + c + d + e)

    def jacobi() -> None:
        y[1:-1, 1:-1] = mean(
            x[1:-1, 1:-1], x[1:-1, :-2], x[1:-1, 2:], x[2:, 1:-1], x[:-2, 1:-1]
        )  # fmt: skip

    calls: dict[str, Call] = {
        "copy": lambda: cupy.copyto(y, x),
        "chain": lambda: chain(x),
        "transpose": lambda: cupy.copyto(y, x.T),
        "row_sum": lambda: cupy.sum(x, axis=1, out=v["s"]),
        "softmax": softmax,
        "layernorm": layernorm,
        "jacobi": jacobi,
        "matmul": lambda: cupy.matmul(v["a"], v["b"], out=v["c"]),
    }
    return calls.get(program)


def _torch(torch: Any, program: str, v: Views) -> Call | None:  # noqa: ANN401
    x, y = v.get("x"), v.get("y")
    functional = torch.nn.functional

    def jacobi() -> None:
        own = x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1]
        torch.mul(own, 0.2, out=y[1:-1, 1:-1])

    calls: dict[str, Call] = {
        "copy": lambda: y.copy_(x),
        "chain": lambda: torch.div((x * 2 + 1) * (x - 3), x * x + 1, out=y),
        "transpose": lambda: y.copy_(x.T),
        "row_sum": lambda: torch.sum(x, 1, out=v["s"]),
        "softmax": lambda: torch.softmax(x, 1, out=y),
        "layernorm": lambda: functional.layer_norm(x, x.shape[1:]),
        "jacobi": jacobi,
        "matmul": lambda: torch.matmul(v["a"], v["b"], out=v["c"]),
    }
    return calls.get(program)


def _triton(_: Any, program: str, v: Views) -> Call | None:  # noqa: ANN401
    kernels = importlib.import_module("bench.gpu.triton_kernels")
    call: Call | None = kernels.calls(v).get(program)
    return call
