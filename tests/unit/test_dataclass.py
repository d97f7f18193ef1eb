"""Classes whose methods are made late behave as the standard library's."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
import threading
from typing import Any

import pytest

import polyopt
from polyopt import dataclass as late
from polyopt.dataclass import asdict, dataclass, field, replace


def every_class() -> list[type]:
    found = []
    for module in pkgutil.walk_packages(polyopt.__path__, "polyopt."):
        if module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and value.__module__ == module.name:
                found.append(value)
    return [cls for cls in found if "__record_fields__" in cls.__dict__]


def standard(cls: type) -> type:
    """Return the standard library's class with the fields, defaults and options of `cls`."""
    hints = {one.name: one.type for one in late.fields(cls)}
    body: dict[str, Any] = {"__annotations__": hints, "__module__": cls.__module__}
    for one in dataclasses.fields(cls):
        if one.default_factory is not dataclasses.MISSING:
            body[one.name] = dataclasses.field(default_factory=one.default_factory)
        elif one.default is not dataclasses.MISSING or not (one.repr and one.compare):
            body[one.name] = dataclasses.field(
                default=one.default, repr=one.repr, compare=one.compare
            )
    options = cls.__dataclass_params__
    return dataclasses.dataclass(frozen=options.frozen, eq=options.eq)(type(cls.__name__, (), body))


def test_every_class_of_the_package_has_the_standard_signature_and_fields():
    classes = every_class()
    assert len(classes) > 500
    for cls in classes:
        like = standard(cls)
        assert dataclasses.is_dataclass(cls)
        names = [one.name for one in dataclasses.fields(like)]
        assert [one.name for one in dataclasses.fields(cls)] == names
        if inspect.isfunction(cls.__init__) and cls.__init__.__module__ != cls.__module__:
            ours, theirs = inspect.signature(cls).parameters, inspect.signature(like).parameters
            assert list(ours) == list(theirs)
            for name, one in ours.items():
                assert (one.default is one.empty) == (theirs[name].default is one.empty)
        if "__hash__" not in cls.__dict__:
            assert (cls.__hash__ is None) == (like.__hash__ is None)


def make(decorate: Any, **options: Any) -> Any:
    """Return one class as made by a decorator."""
    many = late.field if decorate is dataclass else dataclasses.field

    @decorate(**options)
    class Point:
        x: int
        y: float = 0.5
        note: str = many(default="", compare=False)
        parts: tuple[int, ...] = many(default=(), repr=False)

        @property
        def double(self) -> int:
            return 2 * self.x

    return Point


OPTIONS = [
    {"frozen": frozen, "eq": eq, "slots": slots}
    for frozen in (False, True)
    for eq in (False, True)
    for slots in (False, True)
]


@pytest.mark.parametrize("options", OPTIONS)
def test_what_a_class_does_is_what_the_standard_one_does(options: dict[str, bool]):
    ours, theirs = make(dataclass, **options), make(dataclasses.dataclass, **options)
    nan = float("nan")
    for first, second in [((1,), (1,)), ((1, nan), (1, nan)), ((1, 2.0), (2, 2.0)), ((1,), (1, 3))]:
        a, b = ours(*first), ours(*second)
        c, d = theirs(*first), theirs(*second)
        assert (a == b) == (c == d)
        assert (a == a) == (c == c)
        assert repr(a) == repr(c)
        assert (a == c) is False
        if options["eq"] and options["frozen"]:
            assert hash(a) == hash(c)
        elif options["eq"]:
            with pytest.raises(TypeError, match="unhashable"):
                hash(a)
        else:
            assert hash(a) == object.__hash__(a)
    assert ours(1, note="a", parts=(3,)) == ours(1, note="b", parts=(3,)) or not options["eq"]
    assert ours.__match_args__ == theirs.__match_args__
    assert hasattr(ours(1), "__dict__") is not options["slots"]
    assert dataclasses.asdict(ours(1)) == dataclasses.asdict(theirs(1)) == asdict(ours(1))
    for change in (dataclasses.replace, replace):
        assert repr(change(ours(1, note="n"), y=2.0)) == repr(
            dataclasses.replace(theirs(1, note="n"), y=2.0)
        )
    for arguments in ((), (1, 2, 3, 4, 5)):
        with pytest.raises(TypeError) as mine:
            ours(*arguments)
        with pytest.raises(TypeError) as other:
            theirs(*arguments)
        assert str(mine.value) == str(other.value)
    with pytest.raises(TypeError):
        replace(ours(1), z=3)
    if options["frozen"]:
        with pytest.raises(dataclasses.FrozenInstanceError):
            ours(1).x = 3
        with pytest.raises(dataclasses.FrozenInstanceError):
            del ours(1).x
    else:
        changed = ours(1)
        changed.x = 3
        assert changed.double == 6


@dataclass(frozen=True, slots=True)
class Kept:
    """A class that a module has, as pickles need."""

    a: int
    b: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class More(Kept):
    """One with a field of its own."""

    c: int = 3


def test_copies_pickles_and_classes_below():
    assert More(1) != Kept(1)
    assert repr(More(1, [2])) == "More(a=1, b=[2], c=3)"
    for value in (Kept(1, [2]), More(1, [2], 4)):
        assert (
            copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
        )
    assert Kept(1).b is not Kept(1).b


def test_a_record_that_holds_itself_is_shown():
    one = Kept(1, [])
    one.b.append(one)
    assert repr(one) == "Kept(a=1, b=[...])"


def test_methods_are_made_by_threads_at_once():
    ours = make(dataclass, frozen=True, slots=True)
    start, found = threading.Barrier(8), []

    def work() -> None:
        start.wait()
        found.append(hash(ours(1)) == hash(ours(1)) and ours(1) == ours(1))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8


def test_what_the_standard_decorator_refuses_is_refused():
    with pytest.raises(ValueError, match="default_factory"):

        @dataclass
        class Shared:
            items: list[int] = []  # noqa: RUF012

    with pytest.raises(TypeError, match=r"Late\.b has no default, but a before it has"):

        @dataclass
        class Late:
            a: int = 1
            b: int
