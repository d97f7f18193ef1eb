"""`assert_never` ends a `match` that has a case for everything.

That of `typing` came with Python 3.11, and `typing_extensions` takes three milliseconds to import.
"""

from __future__ import annotations

from typing import NoReturn


def assert_never(value: NoReturn, /) -> NoReturn:
    """Tell type checkers that no case is left; raise `AssertionError` if one is."""
    raise AssertionError(f"no case for {value!r}")
