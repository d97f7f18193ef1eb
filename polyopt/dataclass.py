"""`dataclasses` with methods that are generated when they are first used.

In: classes with annotated fields, as for `dataclasses.dataclass`.  Out: such classes.
A process makes hundreds of them and uses some: the standard decorator compiles up to eight
functions for each (0.8 ms), this one none before the first instance.  Type checkers see the
standard library's names; its `fields`, `replace` and `is_dataclass` take these classes.
Refuses: `order`, `init`, `kw_only`, `unsafe_hash` and `InitVar` are not offered (`TypeError`).
"""

# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN202, ANN204 - type checkers read the standard library's in its place

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import MISSING as MISSING
    from dataclasses import asdict as asdict
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import is_dataclass as is_dataclass
    from dataclasses import replace as replace
else:

    class _Missing:
        __slots__ = ()

        def __repr__(self):
            return "MISSING"

    MISSING = _Missing()

    class Field:
        """A field of a class; `default` or `default_factory` is `MISSING` where there is none."""

        __slots__ = ("compare", "default", "default_factory", "name", "repr", "type")

        def __init__(self, default, default_factory, repr, compare):
            self.default, self.default_factory = default, default_factory
            self.repr, self.compare = repr, compare

    def field(*, default=MISSING, default_factory=MISSING, repr=True, compare=True):
        """Return a field of which more is said than its default."""
        return Field(default, default_factory, repr, compare)

    def fields(record):
        """Return the fields of a class or of an instance, in order."""
        return tuple(record.__record_fields__.values())

    def is_dataclass(value):
        """Whether a value is such a class or an instance of one."""
        return hasattr(value, "__record_fields__")

    def replace(record, /, **changes):
        """Return a copy of an instance in which some fields have other values."""
        for name in record.__record_fields__:
            if name not in changes:
                changes[name] = getattr(record, name)
        return record.__class__(**changes)

    def asdict(value):
        """Return a record as a dictionary, and so what its fields and their items hold."""
        if is_dataclass(value):
            return {name: asdict(getattr(value, name)) for name in value.__record_fields__}
        if isinstance(value, dict):
            return {asdict(key): asdict(held) for key, held in value.items()}
        if isinstance(value, (tuple, list)):
            return type(value)(map(asdict, value))
        return value

    def dataclass(cls=None, /, *, frozen=False, eq=True, slots=False):
        """Give a class the methods of a record of its annotated fields.

        Raises `TypeError` for a field without a default after one with a default, and `ValueError`
        for a default that instances would share and could change.
        """
        if cls is None:
            return lambda cls: _completed(cls, frozen, eq, slots)
        return _completed(cls, frozen, eq, slots)

    def _completed(cls, frozen, eq, slots):
        own, every = _fields_of(cls)
        given, made = cls.__dict__, []  # `made` is the class, once there is one
        members = {
            "__record_fields__": every,
            "__record_is_frozen__": frozen,
            "__dataclass_fields__": _Standard("__dataclass_fields__", frozen, eq),
            "__dataclass_params__": _Standard("__dataclass_params__", frozen, eq),
            "__signature__": _Signature(made),
        }
        if "__match_args__" not in given:
            members["__match_args__"] = tuple(every)
        for name, make in (("__init__", _init), ("__repr__", _repr), ("__eq__", _eq)):
            if name not in given and (eq or make is not _eq):
                members[name] = _late(name, make, made)
        hashed = given.get("__hash__")
        if eq and hashed is None and ("__hash__" not in given or "__eq__" in given):
            # Python itself puts None for classes with an `__eq__` of their own
            members["__hash__"] = _late("__hash__", _hash, made) if frozen else None
        if frozen:
            members["__setattr__"], members["__delattr__"] = _frozen(every, made)
        made.append((_with_slots if slots else _with_members)(cls, own, every, members))
        return made[0]

    def _fields_of(cls):
        """Return the fields that the class itself has, and those with its bases' before them."""
        found, every = {}, {}
        for name, hint in cls.__annotations__.items():
            if isinstance(hint, str) and hint.startswith(("ClassVar", "typing.ClassVar")):
                continue
            default = cls.__dict__.get(name, MISSING)
            one = default if isinstance(default, Field) else Field(default, MISSING, True, True)
            one.name, one.type = name, hint
            found[name] = one
        for base in cls.__mro__[:0:-1]:
            every.update(base.__dict__.get("__record_fields__", ()))
        every.update(found)
        _check_defaults(cls, every)
        return found, every

    def _check_defaults(cls, every):
        before = None
        for name, one in every.items():
            if one.default is not MISSING and type(one.default).__hash__ is None:
                raise ValueError(f"{cls.__name__}.{name}: use default_factory for what can change")
            if one.default is not MISSING or one.default_factory is not MISSING:
                before = name
            elif before is not None:
                raise TypeError(f"{cls.__name__}.{name} has no default, but {before} before it has")

    def _with_members(cls, own, _every, members):
        for name, one in own.items():
            if one.default is not MISSING:
                setattr(cls, name, one.default)
            elif name in cls.__dict__:
                delattr(cls, name)
        for name, member in members.items():
            setattr(cls, name, member)
        return cls

    def _with_slots(cls, own, every, members):
        """Return the class anew: slots have to be known when a class is made."""
        inherited = set()
        for base in cls.__mro__[1:]:
            slots = base.__dict__.get("__slots__", ())
            inherited.update((slots,) if isinstance(slots, str) else slots)
        body = {**cls.__dict__, **members}
        for name in (*own, "__dict__", "__weakref__"):
            body.pop(name, None)
        body["__slots__"] = tuple(name for name in every if name not in inherited)
        body.setdefault("__getstate__", _state)
        body.setdefault("__setstate__", _set_state)
        again = type(cls)(cls.__name__, cls.__bases__, body)
        again.__qualname__ = cls.__qualname__
        return again

    def _late(name, make, made):
        """Return a method that generates the one of its name, puts it in its place and calls it."""

        def method(self, *arguments, **named):
            (cls,) = made
            found = make(cls)
            found.__name__, found.__qualname__ = name, f"{cls.__qualname__}.{name}"
            found.__module__ = cls.__module__
            setattr(cls, name, found)
            return found(self, *arguments, **named)

        return method

    def _generated(head, lines, names):
        text = f"def method({head}):\n" + "".join(f"    {line}\n" for line in lines or ["pass"])
        exec(text, names)  # names of fields are Python's identifiers
        return names["method"]

    def _init(cls):
        names, head, lines = {"_set": object.__setattr__, "_missing": MISSING}, ["self"], []
        frozen = cls.__record_is_frozen__
        for position, (name, one) in enumerate(cls.__record_fields__.items()):
            value = name
            if one.default_factory is not MISSING:
                names[f"_make{position}"] = one.default_factory
                head.append(f"{name}=_missing")
                value = f"_make{position}() if {name} is _missing else {name}"
            elif one.default is not MISSING:
                names[f"_default{position}"] = one.default
                head.append(f"{name}=_default{position}")
            else:
                head.append(name)
            slot = getattr(cls, name, None) if frozen else None
            if type(slot).__name__ == "member_descriptor":
                names[f"_set{position}"] = slot.__set__
                lines.append(f"_set{position}(self, {value})")
            elif frozen:
                lines.append(f"_set(self, {name!r}, {value})")
            else:
                lines.append(f"self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            lines.append("self.__post_init__()")
        return _generated(", ".join(head), lines, names)

    def _compared(cls, owner):
        names = [name for name, one in cls.__record_fields__.items() if one.compare]
        return "(" + "".join(f"{owner}.{name}, " for name in names) + ")"

    def _eq(cls):
        lines = [
            "if self is other:",
            "    return True",
            "if other.__class__ is not self.__class__:",
            "    return NotImplemented",
            f"return {_compared(cls, 'self')} == {_compared(cls, 'other')}",
        ]
        return _generated("self, other", lines, {})

    def _hash(cls):
        return _generated("self", [f"return hash({_compared(cls, 'self')})"], {})

    def _repr(cls):
        from reprlib import recursive_repr

        shown = [name for name, one in cls.__record_fields__.items() if one.repr]

        def method(self):
            parts = ", ".join([f"{name}={getattr(self, name)!r}" for name in shown])
            return f"{type(self).__qualname__}({parts})"

        return recursive_repr()(method)

    def _frozen(names, made):
        def refuse(record, verb, name):
            if type(record) is made[0] or name in names:
                from dataclasses import FrozenInstanceError

                raise FrozenInstanceError(f"cannot {verb} field {name!r}")

        def __setattr__(self, name, value):  # noqa: N807
            refuse(self, "assign to", name)
            object.__setattr__(self, name, value)

        def __delattr__(self, name):  # noqa: N807
            refuse(self, "delete", name)
            object.__delattr__(self, name)

        return __setattr__, __delattr__

    def _state(self):
        return [getattr(self, name) for name in self.__record_fields__]

    def _set_state(self, state):
        for name, value in zip(self.__record_fields__, state, strict=True):
            object.__setattr__(self, name, value)

    class _Standard:
        """What the standard library's functions read of a class, made when they do."""

        def __init__(self, name, frozen, eq):
            self.name, self.frozen, self.eq = name, frozen, eq

        def __get__(self, record, owner):
            import dataclasses

            parts = [(one.name, one.type, _standard(one)) for one in fields(owner)]
            like = dataclasses.make_dataclass(owner.__name__, parts, frozen=self.frozen, eq=self.eq)
            return getattr(like, self.name)

    def _standard(one):
        import dataclasses

        given = {"repr": one.repr, "compare": one.compare}
        for name in ("default", "default_factory"):
            if getattr(one, name) is not MISSING:
                given[name] = getattr(one, name)
        return dataclasses.field(**given)

    class _Signature:
        """The signature of a class, for `inspect`; subclasses have one of their own."""

        def __init__(self, made):
            self.made = made

        def __get__(self, record, owner):
            if record is not None or owner is not self.made[0]:
                raise AttributeError("__signature__")
            import inspect

            bound = inspect.signature(_init(owner))
            return bound.replace(parameters=list(bound.parameters.values())[1:])


def plain_record(value: object) -> Any:  # noqa: ANN401 - data for JSON
    """Return a record, and what it holds, as JSON has it: fields by name, enums by their values."""
    if is_dataclass(value):
        return {one.name: plain_record(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple | list):
        return [plain_record(item) for item in value]
    return value.value if isinstance(value, Enum) else value
