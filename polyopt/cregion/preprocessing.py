"""The preprocessor of the C compiler.

In: a file, flags.  Out: the preprocessed text, and the macros without parameters by name.
Refuses: no compiler (PO0501), what the preprocessor refuses (PO0195).
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from polyopt.errors import FrontendError, Loc
from polyopt.runtime.toolchain import compiler_command

_MACRO = re.compile(r"#define (\w+) (.+)")
_FAULT = re.compile(r"(.*?):(\d+):(?:(\d+):)? (?:fatal )?error: (.*)")


def preprocess(path: Path, flags: Sequence[str]) -> tuple[bytes, dict[str, str]]:
    """Return the text of `path` after preprocessing with `flags`, and its macros."""
    text = _run(path, [*flags, "-E"])
    macros = _run(path, [*flags, "-E", "-dM"]).decode(errors="replace")
    return text, dict(_MACRO.findall(macros))


def _run(path: Path, flags: list[str]) -> bytes:
    command = [*compiler_command(), *flags, str(path)]
    done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return done.stdout
    said = done.stderr.decode(errors="replace")
    for line in said.splitlines():
        found = _FAULT.match(line)
        if found is not None:
            where, number, column, message = found.groups()
            place = Loc(where, int(number), int(column or 1), int(number), int(column or 1) + 1)
            raise FrontendError(
                "PO0195", f"the preprocessor says: {message}", loc=place, hint=_HINT
            )
    raise FrontendError("PO0195", f"the preprocessor failed: {said.strip()[:300]}", hint=_HINT)


_HINT = "give folders of headers and macros as for the compiler: -I DIR, -D NAME=VALUE"
