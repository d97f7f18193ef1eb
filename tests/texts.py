"""Emitted text as tests read it."""

from __future__ import annotations

import re


def bare(text: str) -> str:
    """Return emitted text with names as the source has them: without their last underscore."""
    return re.sub(r"\b([A-Za-z]\w*?)_\b", r"\1", text)
