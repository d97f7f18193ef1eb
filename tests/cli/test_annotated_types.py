"""Commands keep polyopt's annotations, as calls from Python do."""

from __future__ import annotations

import numpy as np
import pytest

FUNCTION = """import polyopt as po


def f(x: po.f64["N"], a: po.f64):
    x[:] = a * x
"""


def test_types_fit_the_annotations(polyopt, write) -> None:
    path = write("f.py", FUNCTION)
    for command in ("compile", "explain", "check"):
        said = polyopt(command, f"{path}:f", "--types", "f32[:],f64")
        assert said.code != 0
        assert "PO0207" in said.err + said.out
        assert "give the type `f64[N]`" in said.err + said.out
    assert polyopt("explain", f"{path}:f", "--types", "f64[N],f64").code == 0


@pytest.mark.toolchain
def test_arguments_of_files_fit_the_annotations(polyopt, write, tmp_path) -> None:
    path, archive = write("f.py", FUNCTION), tmp_path / "a.npz"
    np.savez(archive, x=np.ones(3, np.float32), a=2)
    said = polyopt("run", f"{path}:f", "--npz", str(archive))
    assert said.code != 0
    assert "PO0207" in said.err
    np.savez(archive, x=np.ones(3), a=2)
    assert polyopt("run", f"{path}:f", "--npz", str(archive)).code == 0
