"""What the pure forms call while JAX traces them.

In: a loop's bounds, its body and what it carries.  Out: what is carried out of it.
Refuses: a loop of very many turns that cannot be traced as one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

UNROLLED = 32


def _loop(body: Callable[..., Any], state: tuple[Any, ...], *bounds: Any) -> Any:  # noqa: ANN401
    from jax import lax

    first, end = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
    step = bounds[2] if len(bounds) == 3 else 1
    turns = max(0, -((first - end) // step)) if step > 0 else max(0, -((end - first) // -step))
    return lax.fori_loop(0, turns, lambda k, held: body(first + k * step, held), state)


def _few(turns: range) -> range:
    if len(turns) > UNROLLED:
        raise ValueError(f"{len(turns)} turns would have to be unrolled")
    return turns
