"""Objects that a program makes: named tuples, dataclasses, `record`.

In: what is called, its arguments.  Out: a value with named parts; None for other calls.
Refuses: arguments that do not fit (PO0103).
"""

from __future__ import annotations

import inspect

from polyopt.frontend.numpy.call_arguments import Arguments
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.records import Record, record
from polyopt.frontend.values.values import Known, Sequence, Value


def made_object(known: object, args: Arguments) -> Value | None:
    """Return the object that a call makes."""
    if known is record:
        (kind,) = args.values
        assert isinstance(kind, Known)
        assert isinstance(kind.value, type)
        return Known(Record(kind.value, dict(args.keywords)))
    if not isinstance(known, type):
        return None
    if issubclass(known, tuple) and hasattr(known, "_fields"):
        found = _bound(known, args)
        return Sequence(tuple(found.values()), names=tuple(found))
    if _is_plain_dataclass(known):
        return Known(Record(known, _bound(known, args)))
    return None


def _is_plain_dataclass(kind: type) -> bool:
    """Tell whether making an object of a class does no more than set its fields."""
    made = getattr(kind, "__dataclass_params__", None)
    return made is not None and made.init and not hasattr(kind, "__post_init__")


def _bound(kind: type, args: Arguments) -> dict[str, Value]:
    """Return the values of the parameters of a class, defaults included."""
    signature = inspect.signature(kind)
    try:
        bound = signature.bind(*args.values, **args.keywords)
    except TypeError as error:
        refuse(
            "PO0103", f"`{kind.__name__}`: {error}", args.loc, f"write {kind.__name__}{signature}"
        )
    given = dict(bound.arguments)
    bound.apply_defaults()
    return {
        name: given[name] if name in given else Known(value)
        for name, value in bound.arguments.items()
    }
