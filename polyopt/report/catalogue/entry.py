"""One error code's page: what it means, a case of it, what to do.

In: texts.  Out: `Entry`.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A code's meaning, an example of code or command that raises it, and what to do."""

    meaning: str
    example: str
    action: str
