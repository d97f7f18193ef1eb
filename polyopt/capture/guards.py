"""What a compiled function's names must still stand for at a call, in a form that is quick to ask.

In: a function and what was read.  Out: `Guards`, for the call wrapper and for `hold`.
Numbers, functions and modules are compared by identity, the elements of arrays, lists and dicts one
by one.  What NumPy's and Python's own modules hold is taken to stay.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from polyopt.capture.reads import ABSENT, Path, Read, Resolver, Step, cell_of, is_known, value_text
from polyopt.dataclass import dataclass


@dataclass(frozen=True, eq=False)
class Guards:
    """`names`: of dicts, keys with their values, and keys that are not in them.

    `cells` and their values; `functions` with code and defaults; `lists` and their items; `arrays`
    and copies of them; `others`: questions for everything else; `opaque`: values without a text.
    """

    names: tuple[
        tuple[dict[Any, object], tuple[Any, ...], tuple[object, ...], tuple[Any, ...]], ...
    ]
    cells: tuple[tuple[types.CellType, object], ...]
    functions: tuple[tuple[types.FunctionType, object, object, object], ...]
    lists: tuple[tuple[list[object], tuple[object, ...]], ...]
    arrays: tuple[tuple[np.ndarray, np.ndarray], ...]
    others: tuple[Callable[[], bool], ...]
    opaque: Mapping[Path, object]

    def listed(self) -> tuple[object, ...]:
        """Return them as the call wrapper takes them."""
        arrays = tuple((now, before, now.itemsize) for now, before in self.arrays)
        others = self.others_hold if self.others else None
        return (self.names, self.cells, self.functions, self.lists, arrays, others)

    def are_plain(self) -> bool:
        """Whether the call wrapper can compare all of it."""
        return all(type(now) is np.ndarray for now, _ in self.arrays)

    def hold(self) -> bool:
        """Whether everything is as it was."""
        return (
            all(map(_holds_names, self.names))
            and all(_content(cell) is value for cell, value in self.cells)
            and all(
                function.__code__ is code
                and function.__defaults__ is defaults
                and function.__kwdefaults__ is keywords
                for function, code, defaults, keywords in self.functions
            )
            and all(_is_same(now, before) for now, before in self.lists)
            and all(_holds_array(*pair) for pair in self.arrays)
            and self.others_hold()
        )

    def others_hold(self) -> bool:
        """Whether what the call wrapper knows nothing of is as it was."""
        return all(holds() for holds in self.others)


def _holds_names(
    entry: tuple[dict[Any, object], tuple[Any, ...], tuple[object, ...], tuple[Any, ...]],
) -> bool:
    names, keys, values, absent = entry
    pairs = zip(keys, values, strict=True)
    return all(names.get(key, ABSENT) is value for key, value in pairs) and not any(
        key in names for key in absent
    )


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT


def _is_same(now: Collection[object], before: tuple[object, ...]) -> bool:
    pairs = zip(now, before, strict=False)
    return len(now) == len(before) and all(a is b for a, b in pairs)


def _holds_array(now: np.ndarray, before: np.ndarray) -> bool:
    return (
        now.dtype == before.dtype
        and now.shape == before.shape
        and now.tobytes() == before.tobytes()
    )


def guards_of(function: Callable[..., object], reads: tuple[Read, ...]) -> Guards:
    """Return the guards of what was read, as it is now."""
    found = _Found(Resolver(function))
    for read in reads:
        if read.path:
            found.add(read.path)
            if read.text is None:
                found.opaque[read.path] = found.resolver.value(read.path)
    return found.guards()


def different(
    function: Callable[..., object], reads: tuple[Read, ...], before: Guards | None
) -> Read | None:
    """Return the first of what was read that is another value now, None if there is none."""
    resolver = Resolver(function)
    for read in reads:
        text = resolver.text(read.path)
        if text != read.text:
            return read
        known = None if before is None or text is not None else before.opaque
        value = resolver.value(read.path)
        if known is not None and known.get(read.path, value) is not value:
            return read
    return None


class _Found:
    """Guards while they are collected."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.names: dict[int, tuple[dict[Any, object], dict[Any, object], set[Any]]] = {}
        self.cells: list[tuple[types.CellType, object]] = []
        self.functions: list[tuple[types.FunctionType, object, object, object]] = []
        self.lists: list[tuple[list[object], tuple[object, ...]]] = []
        self.arrays: list[tuple[np.ndarray, np.ndarray]] = []
        self.others: list[Callable[[], bool]] = []
        self.opaque: dict[Path, object] = {}
        self.seen: dict[int, object] = {}

    def add(self, path: Path) -> None:
        """Guard what a path leads to."""
        owner, value = self.resolver.value(path[:-1]), self.resolver.value(path)
        step, name = path[-1]
        if step is Step.TEXT and isinstance(owner, types.FunctionType):
            code, defaults, keywords = owner.__code__, owner.__defaults__, owner.__kwdefaults__
            self.functions.append((owner, code, defaults, keywords))
            self._contents((defaults, tuple((keywords or {}).values())))
            return
        if step is Step.NAME and isinstance(owner, types.FunctionType):
            cell = cell_of(owner, name)
            if cell is not None:
                self.cells.append((cell, value))
            else:
                is_own = name not in owner.__globals__ or value is ABSENT
                self._name(owner.__globals__, name, ABSENT if is_own else value)
        elif step is Step.ATTRIBUTE and isinstance(owner, types.ModuleType):
            if is_known(owner.__name__):
                return
            names = vars(owner)
            if value is not ABSENT and names.get(name, ABSENT) is not value:
                self.others.append(lambda: getattr(owner, name, ABSENT) is value)
            else:
                self._name(names, name, value)
        elif step is Step.ATTRIBUTE:
            self.others.append(lambda: getattr(owner, name, ABSENT) is value)
        self._contents(value)

    def _name(self, names: dict[Any, object], key: object, value: object) -> None:
        _, present, absent = self.names.setdefault(id(names), (names, {}, set()))
        if value is ABSENT:
            absent.add(key)
        else:
            present[key] = value

    def _contents(self, value: object) -> None:  # noqa: C901  one case per kind of value
        """Guard what may change inside a value."""
        if id(value) in self.seen or isinstance(value, int | float | complex | str | bytes):
            return
        self.seen[id(value)] = value
        match value:
            case np.ndarray():
                self.arrays.append((value, value.copy()))
            case list():
                self.lists.append((value, tuple(value)))
                for part in value:
                    self._contents(part)
            case tuple() | frozenset():
                for part in value:
                    self._contents(part)
            case set():
                members = tuple(value)
                self.others.append(lambda: _is_same(value, members))
            case dict():
                keys, values = tuple(value), tuple(value.values())
                self.others.append(
                    lambda: _is_same(value, keys) and _is_same(value.values(), values)
                )
                for part in values:
                    self._contents(part)
            case _ if hasattr(type(value), "__dataclass_fields__"):
                text = value_text(value)
                self.others.append(lambda: value_text(value) == text)
            case np.vectorize():
                inner = value.pyfunc
                self.others.append(lambda: value.pyfunc is inner)
            case _:
                pass

    def guards(self) -> Guards:
        """Return what was collected."""
        names = tuple(
            (names, tuple(present), tuple(present.values()), tuple(absent))
            for names, present, absent in self.names.values()
        )
        return Guards(
            names, tuple(self.cells), tuple(self.functions), tuple(self.lists),
            tuple(self.arrays), tuple(self.others), self.opaque,
        )  # fmt: skip
