"""Warnings polyopt gives while it goes on working, and what it tells to a log.

In: a text.  Out: a warning of a category of its own, so that it can be filtered; a message of
`logging` for the loggers `polyopt.build`, `polyopt.cache` and `polyopt.compile`.
"""

from __future__ import annotations

import sys
import warnings


class PolyoptWarning(UserWarning):
    """Base of all warnings polyopt gives."""


class CacheWarning(PolyoptWarning):
    """A cache entry or directory cannot be used; the work is done again."""


class BudgetWarning(PolyoptWarning):
    """Compiling a kernel took too long; something that makes it faster was left out."""


class ForkWarning(PolyoptWarning):
    """A kernel runs on one thread because its process was forked after OpenMP had started."""


def notice(category: type[PolyoptWarning], text: str) -> None:
    """Warn once per text and process."""
    warnings.warn_explicit(text, category, "polyopt", 1, registry=_GIVEN)


_GIVEN: dict[str | tuple[str, type[Warning], int], int] = {}  # Python's own once-per-text memory


def log(logger: str, text: str, *values: object) -> None:
    """Tell the logger `polyopt.{logger}` something of level DEBUG; `values` fill `text` by `%`.

    Nobody listens where `logging` was never imported, and importing it would take longer than
    many a kernel.
    """
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger(f"polyopt.{logger}").debug(text, *values)
