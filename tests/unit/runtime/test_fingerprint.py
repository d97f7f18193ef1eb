"""The stamp of a package changes with its files."""

from __future__ import annotations

from polyopt.runtime.fingerprint import package_stamp


def test_package_stamp(tmp_path):
    (tmp_path / "sub").mkdir()
    file = tmp_path / "sub" / "a.py"
    file.write_text("x")
    (tmp_path / "data.txt").write_text("x")
    before = package_stamp(tmp_path)
    (tmp_path / "data.txt").write_text("y" * 9)
    assert package_stamp(tmp_path) == before
    file.write_text("xy")
    assert package_stamp(tmp_path) != before
