"""The C files of the runtime as one text.

In: names of files in `native/`.  Out: their texts in order, without the lines that include headers
of the same folder.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

NATIVE = Path(__file__).with_name("native")


@cache
def native_text(*names: str) -> str:
    """Return the text of files; headers that they include are named before them."""
    parts = [(NATIVE / name).read_text(encoding="utf-8") for name in names]
    return re.sub(r'^#include "\w+\.h"\n', "", "\n".join(parts), flags=re.MULTILINE)
