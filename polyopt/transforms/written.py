"""Write steps as the values of their fields: `Strip("i", 32)` is `strip(i, 32)`.

In: a record.  Out: its text, which `polyopt/transforms/fields.py` reads.
"""

from __future__ import annotations

from polyopt.dataclass import fields


class Written:
    """A record whose text is the name of its class and the values of its fields."""

    __slots__ = ()

    def __str__(self) -> str:
        words: list[str] = []
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            words += map(str, value) if isinstance(value, tuple) else [str(value)]
        return f"{type(self).__name__.lower()}({', '.join(words)})"
