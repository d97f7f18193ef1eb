"""The representations of programs, and what they are made of.

islpy asks the metadata of its package for its version, which imports 40 modules of the standard
library, for mail, archives and sockets, and takes longer than isl.  A folder's name tells it, too.
"""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from types import ModuleType

_NAME = "islpy.version"


class _Version(ModuleType):
    """islpy's module of its version until more is asked of it, or the version is not found."""

    def __getattr__(self, name: str) -> object:
        package = sys.modules.get("islpy")
        if package is None or name[:2] == "__":  # asked of all modules that there are
            raise AttributeError(name)
        if name in ("VERSION", "VERSION_TEXT"):
            folder = os.path.dirname(os.path.dirname(package.__file__ or ""))
            found = re.findall(r"^islpy-([\d.]+)\.dist-info$", _names_in(folder), re.MULTILINE)
            if len(found) == 1:
                vars(package)["version"] = self
                self.VERSION_TEXT = found[0]
                self.VERSION = tuple(map(int, found[0].split(".")))
                return vars(self)[name]
        sys.modules.pop(_NAME, None)
        return getattr(import_module(_NAME), name)


def _names_in(folder: str) -> str:
    try:
        return "\n".join(os.listdir(folder))
    except OSError:
        return ""


if "islpy" not in sys.modules:
    sys.modules.setdefault(_NAME, _Version(_NAME))
