"""Objects with named parts: dataclasses, and any object of a Python class.

In: the class, the values of its attributes.  Out: `Record`, which a `Known` holds; `Bound`, a
method of one.  `record` is what programs call to make one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from polyopt.dataclass import dataclass
from polyopt.ir.arranging import with_attributes

if TYPE_CHECKING:
    from polyopt.errors import Loc
    from polyopt.frontend.values.values import Value


@dataclass(frozen=True, eq=False)
class Record:
    """An object of class `kind`, with the attributes that are known; a dict with its entries."""

    kind: type
    fields: Mapping[str, Value]


@dataclass(frozen=True, eq=False)
class Bound:
    """A function of a record's class; it is called with the record before other arguments.

    Or with the class, where it is a class method.
    """

    function: Callable[..., object]
    owner: Record | type


@dataclass(frozen=True, eq=False)
class Modelled:
    """An object of which a rule says what its attributes are; `what` is what it stands for."""

    what: object
    title: str
    attribute: Callable[[str, Loc | None], Value]


@dataclass(frozen=True, eq=False)
class Ruled:
    """A function that a rule computes."""

    rule: Callable[..., Value]


def is_plain_dataclass(kind: type) -> bool:
    """Tell whether making an object of a class does no more than set its fields."""
    made = getattr(kind, "__dataclass_params__", None)
    return made is not None and made.init and not hasattr(kind, "__post_init__")


def record(kind: type, /, **fields: Any) -> Any:  # noqa: ANN401
    """Return an object of class `kind` with these attributes, made without its `__init__`."""
    if kind is dict:
        return fields
    return with_attributes(kind, fields.items())
