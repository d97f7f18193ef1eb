"""Targets of polyopt and of packages that are installed beside it.

In: a language's name.  Out: its `Target`, if there is one.
Refuses: an entry point of `polyopt.targets` that cannot be loaded or is no `Target` (PO0238).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.dataclass import replace
from polyopt.errors import UsageError
from polyopt.ir.target import TARGETS, Target

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "polyopt.targets"
"""The entry points by which packages offer a `Target`: `sketch = "sketch_target:SKETCH"`."""


def target_named(name: str) -> Target | None:
    """Return a language of polyopt's or of an installed package; None where there is none.

    Raises: `UsageError` PO0238 for an entry point that cannot be used.
    """
    if name not in TARGETS:
        from importlib.metadata import entry_points

        for entry in entry_points(group=GROUP, name=name):
            TARGETS[name] = _offered(entry)
    return TARGETS.get(name)


def _offered(entry: EntryPoint) -> Target:
    """Return what an entry point names."""
    origin = "?" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
    try:
        found = entry.load()
    except Exception as error:
        raise _unusable(entry, origin, f"{type(error).__name__}: {error}") from error
    if not isinstance(found, Target) or found.value != entry.name:
        raise _unusable(entry, origin, f"it is {found!r}, not a `Target` of this name")
    return replace(found, package=origin)


def _unusable(entry: EntryPoint, origin: str, reason: str) -> UsageError:
    message = f"the target `{entry.name}` of {origin} (`{entry.value}`) cannot be used: {reason}"
    hint = "use another target, or ask those who made the package"
    return UsageError("PO0238", message, hint=hint)
