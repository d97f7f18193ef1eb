"""Texts for people cannot end the comment that they stand in."""

from __future__ import annotations

import pytest

from polyopt.emit.banner import plain


@pytest.mark.parametrize("text", ["*/ int x;", "/* */", "**//", "*//*/", "a\nb", "é */"])
def test_no_text_ends_its_comment(text: str) -> None:
    found = plain(text)
    assert "*/" not in f"/* {found} */"[:-2]
    assert "\n" not in found
    assert found.isascii()
