"""pytest's plug-in: kernels in the tests of a project.

In: the options `--polyopt-reference` and `--polyopt-verify`, the fixture `polyopt_verify`.
Out: a session whose kernels run as Python, or are compared with Python when they are compiled; a
test that fails where a kernel's results lie outside their contract.

It is loaded into every session of an environment that has polyopt: nothing is imported before use.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from polyopt.api import Kernel
    from polyopt.numerics.compare import Comparison

_SWITCHES = {
    "reference": ("POLYOPT_DISABLE", "run the Python functions in place of polyopt's kernels"),
    "verify": ("POLYOPT_VERIFY", "compare each of polyopt's kernels with Python when it is new"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("polyopt")
    for name, (_, help) in _SWITCHES.items():
        group.addoption(f"--polyopt-{name}", action="store_true", help=help)


def pytest_configure(config: pytest.Config) -> None:
    """Set the variables that the options stand for, for this process and those that it starts."""
    for name, (variable, _) in _SWITCHES.items():
        if config.getoption(f"polyopt_{name}"):
            os.environ[variable] = "1"


class Verify(Protocol):
    """`polyopt_verify(kernel, *args, **kwargs)`."""

    def __call__(
        self,
        kernel: Kernel[..., Any],
        /,
        *args: Any,  # noqa: ANN401
        **kwargs: Any,  # noqa: ANN401
    ) -> tuple[Comparison, ...]: ...


@pytest.fixture
def polyopt_verify() -> Verify:
    """Return a function that fails the test where a kernel is not its Python function.

    It compares the program as polyopt read it with Python on small random calls, then runs kernel
    and function on copies of the arguments and compares each output: the same bits where the
    numerics contract says so, else within the bound for this call.  The arguments stay untouched.
    Returns the comparisons.
    """
    return verified


def verified(
    kernel: Kernel[..., Any],
    /,
    *args: Any,  # noqa: ANN401
    **kwargs: Any,  # noqa: ANN401
) -> tuple[Comparison, ...]:
    """Compare a kernel with its function, for one call; fails the test where they differ."""
    from polyopt.errors import MisreadError

    compiled = kernel.compile(*args, **kwargs)
    try:
        kernel.verify(*compiled.types)
    except MisreadError as error:
        pytest.fail(str(error), pytrace=False)
    found: tuple[Comparison, ...] = compiled.compare(*args, **kwargs)
    wrong = [line for comparison in found for line in _lines(comparison)]
    if wrong:
        name = compiled.signature.name
        pytest.fail("\n".join((f"`{name}` differs from its function:", *wrong)), pytrace=False)
    return found


def _lines(comparison: Comparison) -> list[str]:
    """Return what is wrong with one output."""
    worst = comparison.worst
    if comparison.holds or worst is None:
        return []
    allowed = "the same bits" if comparison.is_exact else f"at most {worst.bound:.3g} off"
    return [
        f"  {comparison.wrong} of {comparison.elements} elements of `{comparison.name}` are wrong",
        f"  {worst.place(comparison.name)} is {worst.got}, expected {worst.want}, {allowed}",
    ]
