"""Every error code, explained, for `polyopt explain CODE` and SARIF.

In: the page `docs/errors.md`, which is written by hand.  Out: `CATALOGUE`, code -> `Entry`.
"""

from __future__ import annotations

import re
from pathlib import Path

from polyopt.dataclass import dataclass

_ENTRY = re.compile(
    r"""^\#\#\#\ (PO\d{4})\n\n
        (\S[^\n]*)\n\n
        ```text\n(.*?)\n```\n\n
        (\S[^\n]*)$""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A code's meaning, an example of code or command that raises it, and what to do."""

    meaning: str
    example: str
    action: str


def entries(page: str) -> dict[str, Entry]:
    """Return the entries of a page of error codes."""
    return {code: Entry(*texts) for code, *texts in _ENTRY.findall(page)}


def show_entry(code: str, entry: Entry) -> str:
    """Return an entry as plain text."""
    lines = [f"{code}: {entry.meaning}", "", "example"]
    lines += [f"    {line}" for line in entry.example.splitlines()]
    return "\n".join([*lines, "", "what to do", f"    {entry.action}"])


def page() -> Path:
    """Return where the page of error codes is: in the docs of a checkout, or as installed."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "docs" / "errors.md"
    return installed if installed.is_file() else package.parent / "docs" / "errors.md"


CATALOGUE = entries(page().read_text(encoding="utf-8"))
