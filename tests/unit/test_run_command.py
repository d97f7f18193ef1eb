"""What `polyopt run` makes of a function's own exceptions."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.cli.cmd_run import _Run
from polyopt.errors import KernelFault, UsageError


def test_exceptions_of_the_program_are_not_crashes():
    run = _Run("solve", (np.zeros((2, 2)), np.ones(2)), 0.0)
    with pytest.raises(KernelFault, match="raised LinAlgError: Singular") as caught:
        run.repeat(np.linalg.solve, 1)
    assert caught.value.code == "PO0236"

    def refuse(*values):
        raise UsageError("PO0601", "not now")

    with pytest.raises(UsageError):
        run.repeat(refuse, 1)
