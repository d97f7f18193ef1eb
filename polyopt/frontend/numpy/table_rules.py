"""What a table of functions says of a call: a rule that makes its value, or Python to be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from polyopt.dataclass import dataclass
from polyopt.frontend.numpy.call_arguments import Arguments
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.values.values import Value

Rule: TypeAlias = Callable[[Builder, Arguments], Value]


@dataclass(frozen=True, slots=True)
class OnMasked:
    """A rule that knows elements under a mask; the others get them as an array."""

    rule: Rule


@dataclass(frozen=True, slots=True)
class Written:
    """Python of what is known already, read in place of a rule: a function of `library`."""

    function: Callable[..., Any]


AnyRule: TypeAlias = Rule | OnMasked | Written
