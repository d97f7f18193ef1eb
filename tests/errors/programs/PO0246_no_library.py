import pytest

from polyopt.runtime import blas


def act():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blas, "find_blas", lambda: None)
        blas.require_blas()
