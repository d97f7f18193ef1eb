"""Pages of HTML from templates beside this module.

In: a template's name, values.  Out: text, in which every value is escaped.
Refuses: to write anything without jinja2 (PO0524).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polyopt.errors import ToolchainError

_FOLDER = Path(__file__).parent


def require_jinja() -> None:
    """Raise `ToolchainError` PO0524 where jinja2 is missing."""
    try:
        import jinja2
    except ImportError:
        raise ToolchainError(
            "PO0524",
            "pages are written by jinja2, which is not installed",
            hint="install the extra: pip install 'polyopt[report]'",
        ) from None
    del jinja2


def template(name: str) -> Any:  # noqa: ANN401
    """Return a template, which may include others; raises `ToolchainError` PO0524."""
    require_jinja()
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(
        loader=FileSystemLoader(_FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(name)
