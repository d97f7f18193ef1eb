"""Every error code, explained: the source of `docs/errors.md` and of `polyopt explain CODE`.

In: nothing.  Out: `CATALOGUE`, code -> `Entry`; `markdown` prints the page.
"""

from __future__ import annotations

from polyopt.report.catalogue.call import CALL
from polyopt.report.catalogue.command import COMMAND
from polyopt.report.catalogue.cregion import CREGION
from polyopt.report.catalogue.distribution import DISTRIBUTION
from polyopt.report.catalogue.entry import Entry
from polyopt.report.catalogue.frontend import FRONTEND
from polyopt.report.catalogue.lazy import LAZY
from polyopt.report.catalogue.schedule import SCHEDULE
from polyopt.report.catalogue.toolchain import TOOLCHAIN

__all__ = ["CATALOGUE", "GROUPS", "Entry", "markdown", "show_entry"]

GROUPS: dict[str, dict[str, Entry]] = {
    "Functions (PO01xx)": FRONTEND,
    "Regions of C files (PO019x)": CREGION,
    "Calls and options (PO02xx)": CALL,
    "Schedules (PO03xx)": SCHEDULE,
    "Emission, toolchain, budgets, defects (PO04xx, PO05xx, PO07xx, PO09xx)": TOOLCHAIN,
    "Command line and files (PO06xx)": COMMAND,
    "Lazy arrays (PO08xx)": LAZY,
    "Several ranks (PO085x, PO086x)": DISTRIBUTION,
}

CATALOGUE: dict[str, Entry] = {
    code: entry for group in GROUPS.values() for code, entry in group.items()
}

_INTRODUCTION = """\
# Error codes

Every error names a code, the place in the source where there is one, the reason, and something to
do about it. `polyopt explain CODE` prints an entry of this page.
"""


def show_entry(code: str, entry: Entry) -> str:
    """Return an entry as plain text."""
    lines = [f"{code}: {entry.meaning}", "", "example"]
    lines += [f"    {line}" for line in entry.example.splitlines()]
    return "\n".join([*lines, "", "what to do", f"    {entry.action}"])


def markdown() -> str:
    """Return the page `docs/errors.md`."""
    parts = [_INTRODUCTION]
    for title, entries in GROUPS.items():
        parts.append(f"## {title}\n")
        for code, entry in entries.items():
            example = f"```text\n{entry.example}\n```"
            parts.append(f"### {code}\n\n{_sentence(entry.meaning)}\n\n{example}\n\n"
                         f"{_sentence(entry.action)}\n")  # fmt: skip
    return "\n".join(parts)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."
